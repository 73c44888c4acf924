/// The losses of a run, for a chart: a bounded number of points, each the mean of equally many steps.
package struct LossCurve: Equatable, Sendable {
  /// The mean over the steps of a point.
  package struct Point: Equatable, Sendable {
    /// Nats per learnt token.
    package var loss: Float
    /// Nats per content token.
    package var contentLoss: Float
  }

  /// One look at the validation data.
  package struct Validation: Equatable, Sendable {
    /// The step after which it was taken.
    package var step: Int
    /// Nats per learnt token.
    package var loss: Float
    /// Nats per content token.
    package var contentLoss: Float
  }

  /// Whole points, each over ``stride`` steps; the last one may be over fewer.
  package internal(set) var points: [Point] = []
  /// Steps of a point.
  package internal(set) var stride = 1
  /// Steps of the last point; 0 when there is none.
  package internal(set) var filled = 0
  /// The validations, the first one first; every second one is dropped when they become too many.
  package internal(set) var validations: [Validation] = []

  /// At most this many points and as many validations.
  package static let capacity = 1024

  /// No losses yet.
  package init() {}

  /// Steps that the curve knows of.
  package var steps: Int { points.isEmpty ? 0 : (points.count - 1) * stride + filled }

  /// The last step of point `index`.
  package func step(of index: Int) -> Int { min((index + 1) * stride, steps) }

  /// Adds the next step.
  package mutating func add(loss: Float, contentLoss: Float) {
    if points.isEmpty || filled == stride {
      if points.count == Self.capacity { halve() }
      points.append(Point(loss: loss, contentLoss: contentLoss))
      filled = 1
      return
    }
    filled += 1
    let last = points.count - 1
    points[last].loss += (loss - points[last].loss) / Float(filled)
    points[last].contentLoss += (contentLoss - points[last].contentLoss) / Float(filled)
  }

  /// Adds a validation after the last step.
  package mutating func addValidation(loss: Float, contentLoss: Float) {
    if validations.count == Self.capacity { validations = validations.indices.filter { $0 % 2 == 1 }.map { validations[$0] } }
    validations.append(Validation(step: steps, loss: loss, contentLoss: contentLoss))
  }

  /// Makes one point of each two; all are whole.
  private mutating func halve() {
    points = Swift.stride(from: 0, to: points.count, by: 2).map { index in
      let (a, b) = (points[index], points[index + 1])
      return Point(loss: (a.loss + b.loss) / 2, contentLoss: (a.contentLoss + b.contentLoss) / 2)
    }
    stride *= 2
    filled = stride
  }
}
