internal import DibitTensor
internal import RealModule

/// A range that holds the true value in a share `level` of repetitions.
package struct ConfidenceInterval: Equatable, Sendable {
  /// Its lower end.
  package let lower: Double
  /// Its upper end.
  package let upper: Double
  /// The share of such intervals that are right, for instance 0.95.
  package let level: Double

  /// An interval of known ends.
  package init(lower: Double, upper: Double, level: Double = 0.95) {
    (self.lower, self.upper, self.level) = (lower, upper, level)
  }

  /// Wilson's interval for a share: `successes` of `trials`. It never leaves 0…1 and is right also for few trials and rare errors.
  ///
  /// Source: Wilson, "Probable inference, the law of succession, and statistical inference" (1927), without continuity correction.
  package static func wilson(successes: Int, of trials: Int, level: Double = 0.95)
    -> ConfidenceInterval
  {
    require(
      successes >= 0 && successes <= trials && level > 0 && level < 1,
      "wilson: \(successes) successes of \(trials), level \(level)")
    guard trials > 0 else { return ConfidenceInterval(lower: 0, upper: 1, level: level) }
    let z = Normal.quantile((1 + level) / 2)
    let (n, p) = (Double(trials), Double(successes) / Double(trials))
    let centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    let half = z / (1 + z * z / n) * .sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    // At the ends the formula gives 0 and 1 but for rounding.
    return ConfidenceInterval(
      lower: successes == 0 ? 0 : max(0, centre - half),
      upper: successes == trials ? 1 : min(1, centre + half), level: level)
  }
}
