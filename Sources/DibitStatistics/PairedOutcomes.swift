internal import DibitTensor
internal import RealModule

/// Two runs over the same examples: how often both, one or none of them was right.
public struct PairedOutcomes: Equatable, Sendable {
  /// Examples that both runs have right.
  public let both: Int
  /// Examples that only the first run has right.
  public let onlyFirst: Int
  /// Examples that only the second run has right.
  public let onlySecond: Int
  /// Examples that no run has right.
  public let neither: Int

  /// Counts of a two by two table.
  public init(both: Int, onlyFirst: Int, onlySecond: Int, neither: Int) {
    (self.both, self.onlyFirst, self.onlySecond, self.neither) = (
      both, onlyFirst, onlySecond, neither
    )
  }

  /// Whether each run was right, example by example in the same order.
  public init(first: [Bool], second: [Bool]) {
    require(
      first.count == second.count, "PairedOutcomes: \(first.count) and \(second.count) examples")
    let pairs = zip(first, second)
    self.init(
      both: pairs.count { $0 && $1 }, onlyFirst: pairs.count { $0 && !$1 },
      onlySecond: pairs.count { !$0 && $1 },
      neither: pairs.count { !$0 && !$1 })
  }

  /// The number of examples.
  public var count: Int { both + onlyFirst + onlySecond + neither }
  /// Examples on which the runs differ: the only ones that tell them apart.
  public var discordant: Int { onlyFirst + onlySecond }
  /// The first run's accuracy.
  public var firstAccuracy: Double { count > 0 ? Double(both + onlyFirst) / Double(count) : 0 }
  /// The second run's accuracy.
  public var secondAccuracy: Double { count > 0 ? Double(both + onlySecond) / Double(count) : 0 }
  /// The first run's accuracy less the second's.
  public var difference: Double { count > 0 ? Double(onlyFirst - onlySecond) / Double(count) : 0 }

  // MARK: McNemar's test

  /// The exact two-sided p-value of "neither run is better": of `discordant` tosses of a coin, at most the smaller count on either side.
  ///
  /// Source: McNemar, "Note on the sampling error of the difference between correlated proportions" (1947), with the binomial itself.
  public var exactPValue: Double {
    guard onlyFirst != onlySecond else { return 1 }
    return min(1, 2 * Binomial.cumulative(min(onlyFirst, onlySecond), of: discordant, 0.5))
  }

  /// The mid-p value: half of the probability of the very table is taken off, which makes the exact test less cautious than it need be.
  ///
  /// Source: Fagerland, Lydersen and Laake, "The McNemar test for binary matched-pairs data" (2013).
  public var midPValue: Double {
    guard onlyFirst != onlySecond else { return 1 }
    let fewer = min(onlyFirst, onlySecond)
    return 2 * Binomial.cumulative(fewer, of: discordant, 0.5)
      - Binomial.mass(fewer, of: discordant, 0.5)
  }

  // MARK: Effect sizes

  /// Cohen's h, `2 arcsin √p₁ - 2 arcsin √p₂`: a difference in accuracy on a scale where 0.2 is small, 0.5 medium and 0.8 large.
  public var cohenH: Double { 2 * .asin(.sqrt(firstAccuracy)) - 2 * .asin(.sqrt(secondAccuracy)) }

  /// How many times as often the first run alone is right as the second alone; infinite where the second never is, nil where none is.
  public var oddsRatio: Double? {
    discordant > 0 ? (onlySecond > 0 ? Double(onlyFirst) / Double(onlySecond) : .infinity) : nil
  }

  /// Where the true odds ratio is: Wilson's interval for the first run's share of the discordant examples, as odds.
  public func oddsRatioInterval(level: Double = 0.95) -> ConfidenceInterval? {
    guard discordant > 0 else { return nil }
    let share = ConfidenceInterval.wilson(successes: onlyFirst, of: discordant, level: level)
    return ConfidenceInterval(
      low: share.low / (1 - share.low),
      high: share.high < 1 ? share.high / (1 - share.high) : .infinity, level: level)
  }

  /// The smallest difference in accuracy that a test of level `alpha` on so many examples finds with probability `power`.
  ///
  /// `δ √n = z(1 - alpha / 2) √ψ + z(power) √(ψ - δ²)`, with `ψ` the share of discordant examples that this pair of runs has, or `δ` where
  /// that is larger, for runs that differ by δ are discordant at least so often. At least as many examples must be discordant as let the
  /// exact test find anything. nil where even a difference of 1 would not be found.
  /// Source: Connor, "Sample size for testing differences in proportions for the paired-sample design" (1987).
  public func smallestDetectableDifference(power: Double = 0.8, alpha: Double = 0.05) -> Double? {
    require(
      power > 0.5 && power < 1 && alpha > 0 && alpha < 1,
      "smallestDetectableDifference: power \(power), alpha \(alpha)")
    guard count > 0 else { return nil }
    let n = Double(count)
    let (a, b) = (Normal.quantile(1 - alpha / 2), Normal.quantile(power))
    let share = Double(discordant) / n
    // 2 · 2^-m ≤ alpha: fewer discordant examples than m are never significant, however they fall.
    let needed = (Double.log(2 / alpha) / .log(2)).rounded(.up)
    func found(_ difference: Double) -> Bool {
      let discordance = max(share, difference)
      return difference * .sqrt(n) >= a * .sqrt(discordance) + b
        * .sqrt(discordance - difference * difference)
        && difference * n >= needed
    }
    guard found(1) else { return nil }
    var (low, high) = (0.0, 1.0)
    for _ in 0..<60 {
      let middle = (low + high) / 2
      if found(middle) { high = middle } else { low = middle }
    }
    return high
  }
}
