internal import DibitTensor
internal import RealModule

/// Two runs over the same examples: how often both, one or none of them was right.
package struct PairedOutcomes: Equatable, Sendable {
  /// Examples that both runs have right.
  package let both: Int
  /// Examples that only the first run has right.
  package let onlyFirst: Int
  /// Examples that only the second run has right.
  package let onlySecond: Int
  /// Examples that no run has right.
  package let neither: Int

  /// Counts of a two by two table.
  package init(both: Int, onlyFirst: Int, onlySecond: Int, neither: Int) {
    (self.both, self.onlyFirst, self.onlySecond, self.neither) = (
      both, onlyFirst, onlySecond, neither
    )
  }

  /// Counts the outcomes of two runs, true where a run was right, example by example in the same order.
  package init(first: [Bool], second: [Bool]) {
    require(
      first.count == second.count, "PairedOutcomes: \(first.count) and \(second.count) examples")
    let pairs = zip(first, second)
    self.init(
      both: pairs.count { $0 && $1 }, onlyFirst: pairs.count { $0 && !$1 },
      onlySecond: pairs.count { !$0 && $1 },
      neither: pairs.count { !$0 && !$1 })
  }

  /// The number of examples.
  package var count: Int { both + onlyFirst + onlySecond + neither }
  /// Examples on which the runs differ: the only ones that tell them apart.
  package var discordant: Int { onlyFirst + onlySecond }
  /// The first run's accuracy.
  package var firstAccuracy: Double { count > 0 ? Double(both + onlyFirst) / Double(count) : 0 }
  /// The second run's accuracy.
  package var secondAccuracy: Double { count > 0 ? Double(both + onlySecond) / Double(count) : 0 }
  /// The first run's accuracy less the second's.
  package var difference: Double { count > 0 ? Double(onlyFirst - onlySecond) / Double(count) : 0 }

  // MARK: McNemar's test

  /// The two-sided p-value of "neither run is better" by McNemar's test with Edwards' correction: `z = (|b - c| - 1) / √(b + c)`, with b and
  /// c the examples that only one run has right.
  ///
  /// It is the score test of ``differenceInterval(alpha:correction:)`` at 0. Sources: McNemar, "Note on the sampling error of the difference
  /// between correlated proportions" (1947); Edwards, "Note on the correction for continuity in testing the significance of the difference
  /// between correlated proportions" (1948).
  package var pValue: Double { pValue(of: 0) }

  /// The exact two-sided p-value of "neither run is better": of `discordant` tosses of a coin, at most the smaller count on either side. It
  /// says nothing about differences other than 0, so that no interval goes with it: what ``pValue`` is checked against.
  package var exactPValue: Double {
    guard onlyFirst != onlySecond else { return 1 }
    return min(1, 2 * Binomial.cumulative(min(onlyFirst, onlySecond), of: discordant, 0.5))
  }

  /// The fewest discordant examples that can be significant, all of them for one run, where p-values are multiplied by `correction`.
  package static func minimumDiscordant(alpha: Double = 0.05, correction: Double = 1) -> Int {
    // (m - 1) / √m ≥ z, a quadratic in √m; rounding may leave it one off.
    let z = Normal.quantile(1 - alpha / correction / 2)
    let root = (z + .sqrt(z * z + 4)) / 2
    var count = max(2, Int(root * root) - 1)
    while PairedOutcomes(both: 0, onlyFirst: count, onlySecond: 0, neither: 0).pValue * correction >= alpha { count += 1 }
    return count
  }

  // MARK: The interval of the difference

  /// The interval of the true difference in accuracy: every difference whose own test has a p-value, times `correction`, of at least
  /// `alpha`.
  ///
  /// As ``pValue`` is that test at 0, the interval leaves out 0 exactly where the corrected p-value is below `alpha`. It is Tango's score
  /// interval with the correction for continuity that the test has. Sources: Tango, "Equivalence test and confidence interval for the
  /// difference in proportions for the paired-sample design" (1998); Chang, Liu, Hou, Yan and Shan, "Continuity corrected score confidence
  /// interval for the difference in proportions in paired data" (2024).
  package func differenceInterval(alpha: Double = 0.05, correction: Double = 1) -> ConfidenceInterval {
    require(alpha > 0 && alpha < 1 && correction >= 1, "differenceInterval: alpha \(alpha), correction \(correction)")
    guard count > 0 else { return ConfidenceInterval(lower: -1, upper: 1, level: 1 - alpha) }
    func isRefuted(_ difference: Double) -> Bool { pValue(of: difference) * correction < alpha }
    /// The end between the observed difference, which no test refutes, and `limit`. Zero is tried first, so that the end is on that side of
    /// it on which the test says it is.
    func end(towards limit: Double) -> Double {
      var (kept, refuted) = (difference, limit)
      if !isRefuted(limit) { return limit }
      if (kept < 0) != (limit < 0), kept != 0 {
        if isRefuted(0) { refuted = 0 } else { kept = 0 }
      }
      for _ in 0..<60 {
        let middle = (kept + refuted) / 2
        if isRefuted(middle) { refuted = middle } else { kept = middle }
      }
      return kept
    }
    return ConfidenceInterval(lower: end(towards: -1), upper: end(towards: 1), level: 1 - alpha)
  }

  /// The two-sided p-value of "the true difference is `difference`": the observed one less it, and less half a step of `b - c` among a given
  /// number of discordant examples, against the standard error where the difference is as supposed and the rest most likely.
  private func pValue(of difference: Double) -> Double {
    let n = Double(count)
    let (b, c) = (Double(onlyFirst), Double(onlySecond))
    let distance = abs(b - c - n * difference) - 1
    guard distance > 0 else { return 1 }
    // The likeliest share of examples that only the second run has right: the larger root of 2n x² + p x - q = 0.
    let p = (2 * n - b + c) * difference - b - c
    let q = c * difference * (1 - difference)
    let share = max((.sqrt(max(p * p + 8 * n * q, 0)) - p) / (4 * n), 0, -difference)
    let variance = n * (2 * share + difference * (1 - difference))
    guard variance > 0 else { return 0 }
    return 2 * Normal.cumulative(-distance / .sqrt(variance))
  }

  // MARK: Effect sizes

  /// Cohen's h, `2 arcsin √p₁ - 2 arcsin √p₂`: a difference in accuracy on a scale where 0.2 is small, 0.5 medium and 0.8 large.
  package var cohenH: Double { 2 * .asin(.sqrt(firstAccuracy)) - 2 * .asin(.sqrt(secondAccuracy)) }

  /// The ratio of examples that the first run alone has right to those of the second alone; infinite where the second has none, nil where
  /// neither has any.
  package var oddsRatio: Double? {
    discordant > 0 ? (onlySecond > 0 ? Double(onlyFirst) / Double(onlySecond) : .infinity) : nil
  }

  // MARK: Power

  /// The smallest difference in accuracy that the test finds on so many examples with probability `power`.
  ///
  /// `δ n - 1 = √n (z(1 - alpha / 2) √ψ + z(power) √(ψ - δ²))`, with `ψ` the share of discordant examples that this pair of runs has, or `δ`
  /// where that is larger, for runs that differ by δ are discordant at least so often. nil where even a difference of 1 would not be found.
  /// Source: Connor, "Sample size for testing differences in proportions for the paired-sample design" (1987), with the test's correction for
  /// continuity.
  package func smallestDetectableDifference(power: Double = 0.8, alpha: Double = 0.05) -> Double? {
    guard count > 0 else { return nil }
    let n = Double(count)
    func found(_ difference: Double) -> Bool {
      Self.examples(toShow: difference, discordance: Double(discordant) / n, power: power, alpha: alpha) <= n
    }
    guard found(1) else { return nil }
    var (lower, upper) = (0.0, 1.0)
    for _ in 0..<60 {
      let middle = (lower + upper) / 2
      if found(middle) { upper = middle } else { lower = middle }
    }
    return upper
  }

  /// The number of examples that show a true difference of this size with probability `power`, where the runs are discordant on a share
  /// `discordance` of them, at least the difference; nil for no difference, which no number shows.
  ///
  /// ``smallestDetectableDifference(power:alpha:)`` solved for n; for a `discordance` of 0 one of both runs has right whatever the other has.
  package static func examplesNeeded(
    difference: Double, discordance: Double = 0, power: Double = 0.8, alpha: Double = 0.05
  ) -> Int? {
    let needed = examples(toShow: abs(difference), discordance: discordance, power: power, alpha: alpha)
    return needed < 1e15 ? Int(needed.rounded(.up)) : nil
  }

  private static func examples(toShow difference: Double, discordance: Double, power: Double, alpha: Double) -> Double {
    require(power > 0.5 && power < 1 && alpha > 0 && alpha < 1, "examples needed: power \(power), alpha \(alpha)")
    guard difference > 0 else { return .infinity }
    let share = max(discordance, difference)
    let errors =
      Normal.quantile(1 - alpha / 2) * .sqrt(share) + Normal.quantile(power) * .sqrt(max(share - difference * difference, 0))
    // δ n - k √n - 1 = 0, a quadratic in √n.
    let root = (errors + .sqrt(errors * errors + 4 * difference)) / (2 * difference)
    return root * root
  }
}
