internal import RealModule

/// The limited-memory BFGS method for smooth convex functions.
///
/// Source: Nocedal and Wright, "Numerical optimization" (2006), algorithms 7.4 and 7.5, with a line search for the strong Wolfe
/// conditions (3.5 and 3.6, by bisection).
enum LBFGS {
  struct Result {
    let point: [Double]
    let steps: Int
    let converged: Bool
  }

  /// Minimises `function`, which returns its value and writes its gradient, until no component of the gradient exceeds `tolerance`;
  /// `memory` is the number of pairs of steps and changes of the gradient that are kept.
  static func minimize(
    from start: [Double], steps: Int, memory: Int, tolerance: Double,
    _ function: (_ point: [Double], _ gradient: inout [Double]) -> Double
  ) -> Result {
    var point = start
    var gradient = [Double](repeating: 0, count: start.count)
    var value = function(point, &gradient)
    var history: [(step: [Double], change: [Double], curvature: Double)] = []
    for step in 0..<steps {
      if largest(gradient) <= tolerance {
        return Result(point: point, steps: step, converged: true)
      }
      var direction = newton(gradient, history)
      var slope = dot(direction, gradient)
      if slope >= 0 {
        // Rounding has spoilt what is remembered: begin again with the steepest descent.
        history = []
        direction = gradient.map { -$0 }
        slope = dot(direction, gradient)
      }
      let first = history.isEmpty ? 1 / max(1, Double.sqrt(-slope)) : 1
      guard let found = search(point, value, gradient, direction, slope, first, function) else {
        return Result(point: point, steps: step, converged: false)
      }
      var (move, change) = (direction, found.gradient)
      for index in move.indices {
        move[index] = found.point[index] - point[index]
        change[index] -= gradient[index]
      }
      let curvature = dot(move, change)
      if curvature > 0 {
        if history.count == memory { history.removeFirst() }
        history.append((move, change, curvature))
      }
      (point, value, gradient) = (found.point, found.value, found.gradient)
    }
    return Result(point: point, steps: steps, converged: largest(gradient) <= tolerance)
  }

  /// `-H g`, with `H` the inverse of the curvature as far as the last steps show it.
  private static func newton(
    _ gradient: [Double], _ history: [(step: [Double], change: [Double], curvature: Double)]
  ) -> [Double] {
    var q = gradient.map { -$0 }
    var factors: [Double] = []
    for pair in history.reversed() {
      let factor = dot(pair.step, q) / pair.curvature
      factors.append(factor)
      add(-factor, pair.change, to: &q)
    }
    if let last = history.last {
      let scale = last.curvature / dot(last.change, last.change)
      for index in q.indices { q[index] *= scale }
    }
    for (pair, factor) in zip(history, factors.reversed()) {
      add(factor - dot(pair.change, q) / pair.curvature, pair.step, to: &q)
    }
    return q
  }

  /// A point along `direction` that lowers the value enough and whose slope is flat enough; nil when rounding leaves nothing to gain.
  private static func search(
    _ point: [Double], _ value: Double, _ gradient: [Double], _ direction: [Double],
    _ slope: Double, _ first: Double,
    _ function: (_ point: [Double], _ gradient: inout [Double]) -> Double
  ) -> (point: [Double], value: Double, gradient: [Double])? {
    var (low, high, length) = (0.0, Double.infinity, first)
    var best: (point: [Double], value: Double, gradient: [Double])?
    for _ in 0..<40 {
      var trial = point
      add(length, direction, to: &trial)
      var trialGradient = gradient
      let trialValue = function(trial, &trialGradient)
      let trialSlope = dot(direction, trialGradient)
      // At the bottom the value no longer tells two points apart; then the slope alone decides.
      let flat = abs(trialValue - value) <= 1e-14 * max(1, abs(value))
      if !trialValue.isFinite
        || (trialValue > value + 1e-4 * length * slope && !(flat && trialSlope <= 0))
      {
        high = length
      } else {
        if trialValue <= (best?.value ?? .infinity) || flat {
          best = (trial, trialValue, trialGradient)
        }
        if abs(trialSlope) <= -0.9 * slope { return (trial, trialValue, trialGradient) }
        if trialSlope < 0 { low = length } else { high = length }
      }
      length = high.isFinite ? (low + high) / 2 : length * 2
    }
    return best
  }

  private static func largest(_ values: [Double]) -> Double {
    values.reduce(0) { max($0, abs($1)) }
  }

  private static func add(_ factor: Double, _ values: [Double], to target: inout [Double]) {
    for index in target.indices { target[index] += factor * values[index] }
  }

  /// Long vectors are summed in eight lanes: one sum waits for each of its additions, and takes more time than all else here.
  private static func dot(_ a: [Double], _ b: [Double]) -> Double {
    let (a, b) = (a.span, b.span.extracting(0..<a.count))
    let whole = a.count < 1 << 16 ? 0 : a.count / 8 * 8
    var lanes = SIMD8<Double>()
    for start in stride(from: 0, to: whole, by: 8) {
      var (x, y) = (SIMD8<Double>(), SIMD8<Double>())
      for lane in 0..<8 { (x[lane], y[lane]) = (a[start + lane], b[start + lane]) }
      lanes += x * y
    }
    var sum = lanes.sum()
    for index in whole..<a.count { sum += a[index] * b[index] }
    return sum
  }
}
