/// The learning rate over a run: a straight line up to the peak, then one of three shapes.
package struct Schedule: Equatable, Sendable {
  /// The course of the rate after the warm-up.
  package enum Shape: String, CaseIterable, Equatable, Sendable {
    /// Half a cosine down to the final rate.
    case cosine
    /// A straight line down to the final rate.
    case linear
    /// The peak until the end.
    case constant
  }

  /// The length of the warm-up, in which the rate rises.
  package enum WarmUp: Equatable, Sendable {
    /// A share of all steps.
    case share(Float)
    /// A number of steps.
    case steps(Int)

    /// Steps of warm-up in a run of `total`; one at least.
    package func count(of total: Int) -> Int {
      switch self {
      case .share(let share): max(1, Int((share * Float(total)).rounded()))
      case .steps(let steps): max(1, steps)
      }
    }
  }

  /// The peak.
  package var learningRate: Float
  /// Steps of warm-up.
  package var warmUpSteps: Int
  /// All steps of the run.
  package var totalSteps: Int
  /// The course of the rate after the warm-up.
  package var shape: Shape
  /// The rate of the last step, for shapes that fall.
  package var finalRate: Float
  /// The steps behind the warm-up in which the rate falls to the final one, where it stays; nil for all that follow.
  package var fallingSteps: Int?
  /// The rate from which the warm-up rises; the first step is above it.
  package var initialRate: Float = 0

  /// A schedule that reaches `finalRate` after `totalSteps`.
  package init(learningRate: Float, warmUpSteps: Int, totalSteps: Int, shape: Shape = .cosine, finalRate: Float = 0) {
    self.learningRate = learningRate
    self.warmUpSteps = warmUpSteps
    self.totalSteps = totalSteps
    self.shape = shape
    self.finalRate = finalRate
  }

  /// The rate of step `step`, counted from 1.
  package func rate(step: Int) -> Float {
    if step <= warmUpSteps {
      // Without a rate to rise from, the product of a schedule that has none.
      guard initialRate > 0 else { return learningRate * Float(step) / Float(warmUpSteps) }
      return initialRate + (learningRate - initialRate) * Float(step) / Float(warmUpSteps)
    }
    let progress = min(1, Double(step - warmUpSteps) / Double(fallingSteps ?? max(1, totalSteps - warmUpSteps)))
    switch shape {
    case .constant: return learningRate
    case .linear: return finalRate + (learningRate - finalRate) * Float(1 - progress)
    // cos(pi x) by way of its sine series would depend on libm; the rate needs no more than this polynomial's 1e-7.
    case .cosine: return finalRate + (learningRate - finalRate) * Float(0.5 * (1 + cosineOfPi(progress)))
    }
  }

  /// `cos(π x)` for `x` in 0...1, the same bits on every machine.
  private func cosineOfPi(_ x: Double) -> Double {
    let y = (x <= 0.5 ? x : 1 - x) * Double.pi
    let z = y * y
    let cosine = 1 - z / 2 * (1 - z / 12 * (1 - z / 30 * (1 - z / 56 * (1 - z / 90 * (1 - z / 132 * (1 - z / 182))))))
    return x <= 0.5 ? cosine : -cosine
  }
}
