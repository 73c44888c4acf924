/// The distance of found values from expected ones.
enum Distance {
  /// The norm of the difference over the norm of what is expected; where that is zero, over 1.
  static func relative(_ found: [Float], _ expected: [Float]) -> Double {
    var (difference, norm) = (0.0, 0.0)
    for (a, b) in zip(found, expected) {
      difference += (Double(a) - Double(b)) * (Double(a) - Double(b))
      norm += Double(b) * Double(b)
    }
    return (difference / (norm > 0 ? norm : 1)).squareRoot()
  }

  /// The worst and the root mean squared difference, over the standard deviation of what is expected.
  static func overDeviation(_ found: [Float], _ expected: [Float]) -> (worst: Double, rms: Double) {
    let count = Double(max(expected.count, 1))
    let mean = expected.reduce(0.0) { $0 + Double($1) } / count
    let deviation = (expected.reduce(0.0) { $0 + (Double($1) - mean) * (Double($1) - mean) } / count).squareRoot()
    var (worst, squares) = (0.0, 0.0)
    for (a, b) in zip(found, expected) {
      let difference = abs(Double(a) - Double(b))
      // A NaN must not vanish in a comparison.
      worst = difference.isNaN ? .infinity : max(worst, difference)
      squares += difference * difference
    }
    let scale = deviation > 0 ? deviation : 1
    return (worst / scale, (squares / count).squareRoot() / scale)
  }
}
