import DibitStatistics
import DibitTensor
import Testing

/// The test of a difference and its interval are one thing.
@Suite struct DifferenceTests {
  /// A random table of up to `most` examples: any share discordant, any of them for either run.
  private func table(_ generator: inout SplitMix64, most: Int) -> PairedOutcomes {
    let count = 1 + generator.below(most)
    let discordant = generator.below(count + 1)
    let first = generator.below(3) == 0 ? discordant : generator.below(discordant + 1)
    let both = generator.below(count - discordant + 1)
    return PairedOutcomes(both: both, onlyFirst: first, onlySecond: discordant - first, neither: count - discordant - both)
  }

  @Test("p is below 0.05 exactly where the interval leaves out 0, whatever both are corrected by")
  func accuracyIsOneStory() {
    var generator = SplitMix64(seed: 11)
    var found = 0
    for round in 0..<4000 {
      let pairs = table(&generator, most: [8, 40, 300, 5000][round % 4])
      let correction = [1, 2, 3.7, 12, 400][round % 5]
      let interval = pairs.differenceInterval(correction: correction)
      let isSure = min(1, pairs.pValue * correction) < 0.05
      #expect(isSure == (interval.lower > 0 || interval.upper < 0), "\(pairs) \(correction) \(interval)")
      #expect(-1 <= interval.lower && interval.lower <= pairs.difference && pairs.difference <= interval.upper && interval.upper <= 1)
      found += isSure ? 1 : 0
      guard round % 9 == 0 else { continue }
      // The other way round it is the same interval mirrored; a stricter one holds it.
      let other = PairedOutcomes(both: pairs.both, onlyFirst: pairs.onlySecond, onlySecond: pairs.onlyFirst, neither: pairs.neither)
      let mirrored = other.differenceInterval(correction: correction)
      #expect(abs(mirrored.lower + interval.upper) < 1e-9 && abs(mirrored.upper + interval.lower) < 1e-9 && other.pValue == pairs.pValue)
      let wider = pairs.differenceInterval(correction: correction * 2)
      #expect(wider.lower <= interval.lower && interval.upper <= wider.upper)
    }
    // Both answers occur.
    #expect(found > 800 && found < 3200, "\(found)")
  }

  @Test("the same of macro F1, by the bootstrap")
  func resampledIsOneStory() {
    var generator = SplitMix64(seed: 12)
    var found = 0
    for round in 0..<1200 {
      let count = 1 + generator.below([6, 15, 60][round % 3])
      // Three values and many of 0, so that samples often are 0 themselves.
      let shift = generator.below(3)
      let gains = (0..<count).map { _ in Double([1, shift - 1, 0, 0][generator.below(4)]) }
      let difference = ResampledDifference(
        Bootstrap(resamples: [19, 100, 399][round % 3], seed: UInt64(round)), count: count, differing: gains.count { $0 != 0 }
      ) { indices in indices.reduce(0) { $0 + gains[$1] } / Double(indices.count) }
      let correction = [1, 2.5, 40][round / 3 % 3]
      let interval = difference.interval(correction: correction)
      let isSure = min(1, difference.pValue * correction) < 0.05
      #expect(isSure == (interval.lower > 0 || interval.upper < 0), "\(gains) \(correction) \(interval) \(difference.pValue)")
      #expect(interval.lower <= interval.upper)
      found += isSure ? 1 : 0
    }
    #expect(found > 50 && found < 1100, "\(found)")
  }

  @Test("few examples are never enough, however they fall")
  func fewExamples() {
    // All of m for one run: (m - 1) / √m reaches 1.96 at 6.
    #expect(PairedOutcomes.minimumDiscordant() == 6 && PairedOutcomes.minimumDiscordant(correction: 6) == 9)
    for (count, isSure) in [(4, false), (5, false), (6, true)] {
      let pairs = PairedOutcomes(both: 0, onlyFirst: 0, onlySecond: count, neither: 0)
      #expect((pairs.pValue < 0.05) == isSure && (pairs.differenceInterval().upper < 0) == isSure, "\(count)")
      // 2^(1-m) is below 0.05 from 6 on; a bootstrap alone would be sure of two.
      let resampled = ResampledDifference(Bootstrap(resamples: 400), count: count, differing: count) { _ in -1 }
      #expect((resampled.pValue < 0.05) == isSure)
      #expect(resampled.interval() == (isSure ? ConfidenceInterval(lower: -1, upper: -1) : ConfidenceInterval(lower: -1, upper: 1)))
    }
    let none = PairedOutcomes(both: 0, onlyFirst: 0, onlySecond: 0, neither: 0)
    #expect(none.pValue == 1 && none.differenceInterval() == ConfidenceInterval(lower: -1, upper: 1))
    #expect(ResampledDifference(Bootstrap(resamples: 10), count: 2, differing: 2) { _ in .nan }.pValue == 1)
  }

  @Test func valuesByHand() {
    // (|15 - 5| - 1) / √20 = 2.0124612; twice the normal tail beyond it.
    let pairs = PairedOutcomes(both: 60, onlyFirst: 15, onlySecond: 5, neither: 20)
    #expect(abs(pairs.pValue - 2 * Normal.cumulative(-9 / 20.0.squareRoot())) < 1e-15)
    #expect(abs(pairs.pValue - 0.04417) < 1e-5 && abs(pairs.exactPValue - 0.04139) < 1e-5)
    // At the ends the equation that defines them: the distance is 1.96 standard errors, with the likeliest share of the other kind.
    let interval = pairs.differenceInterval()
    for (end, sign) in [(interval.lower, 1.0), (interval.upper, -1.0)] {
      let p = (200 - 10) * end - 20
      let share = ((p * p + 800 * 5 * end * (1 - end)).squareRoot() - p) / 400
      let error = (100 * (2 * share + end * (1 - end))).squareRoot()
      #expect(abs(sign * (10 - 100 * end) - 1 - 1.959963984540054 * error) < 1e-6, "\(end)")
      // The likelihood b ln(x + δ) + c ln x + (n - b - c) ln(1 - 2x - δ) is highest there.
      #expect(abs(15 / (share + end) + 5 / share - 2 * 80 / (1 - 2 * share - end)) < 1e-6)
    }
  }

  /// The chances of all tables of n examples, added up where the interval holds the truth: no drawing. Never below 95 %, and without a
  /// difference the test finds one no more often than the exact test may.
  @Test("coverage and level, exactly", arguments: [6, 20, 40])
  func coverage(count: Int) {
    let intervals = (0...count).map { first in
      (0...count - first).map { second in
        PairedOutcomes(both: 0, onlyFirst: first, onlySecond: second, neither: count - first - second).differenceInterval()
      }
    }
    for (discordance, difference) in [(0.1, 0.0), (0.3, 0), (0.7, 0), (1, 0), (0.2, 0.15), (0.5, -0.3), (0.6, 0.6), (0.05, 0.03)] {
      var (covered, found) = (0.0, 0.0)
      let forFirst = (discordance + difference) / 2 / discordance
      for discordant in 0...count {
        let chance = Binomial.mass(discordant, of: count, discordance)
        for first in 0...discordant {
          let mass = chance * Binomial.mass(first, of: discordant, forFirst)
          let interval = intervals[first][discordant - first]
          if interval.lower - 1e-9 <= difference, difference <= interval.upper + 1e-9 { covered += mass }
          if interval.lower > 0 || interval.upper < 0 { found += mass }
        }
      }
      #expect(covered >= 0.95, "\(count) \(discordance) \(difference) \(covered)")
      if difference == 0 { #expect(found <= 0.05 && abs(covered + found - 1) < 1e-6, "\(count) \(discordance) \(found)") }
    }
  }

  // MARK: Power

  /// With a difference of the smallest detectable size the test must find it in about 80 % of studies. By drawing tables.
  @Test func power() throws {
    var generator = SplitMix64(seed: 21)
    let observed = PairedOutcomes(both: 300, onlyFirst: 40, onlySecond: 40, neither: 20)
    let smallest = try #require(observed.smallestDetectableDifference())
    var found = 0
    for _ in 0..<1000 {
      var (first, second) = (0, 0)
      for _ in 0..<400 {
        let draw = Double(generator.uniform())
        if draw < (0.2 + smallest) / 2 { first += 1 } else if draw < 0.2 { second += 1 }
      }
      if PairedOutcomes(both: 400 - first - second, onlyFirst: first, onlySecond: second, neither: 0).pValue < 0.05 { found += 1 }
    }
    // Three standard errors of a share of 1000 studies are 0.038.
    #expect(abs(Double(found) / 1000 - 0.8) < 0.04, "\(smallest) \(found)")
  }

  @Test func smallestDetectableDifference() throws {
    // Connor's equation solved by hand, less the half step: n = 400, ψ = 0.2.
    let pairs = PairedOutcomes(both: 300, onlyFirst: 50, onlySecond: 30, neither: 20)
    let found = try #require(pairs.smallestDetectableDifference())
    let (a, b) = (1.959963984540054, 0.8416212335729143)
    #expect(abs(found * 20 - 1.0 / 20 - a * 0.2.squareRoot() - b * (0.2 - found * found).squareRoot()) < 1e-9)
    #expect(PairedOutcomes.examplesNeeded(difference: found + 1e-9, discordance: 0.2) == 400)
    // Runs that never differed: at least six examples must.
    let same = PairedOutcomes(both: 900, onlyFirst: 0, onlySecond: 0, neither: 100)
    #expect(try #require(same.smallestDetectableDifference()) >= 0.006)
    #expect(PairedOutcomes(both: 5, onlyFirst: 0, onlySecond: 0, neither: 0).smallestDetectableDifference() == nil)
    #expect(PairedOutcomes(both: 0, onlyFirst: 0, onlySecond: 0, neither: 0).smallestDetectableDifference() == nil)
    // A run that is always right beside one that never is needs as many as can be significant at all.
    #expect(PairedOutcomes.examplesNeeded(difference: 1) == PairedOutcomes.minimumDiscordant())
    #expect(PairedOutcomes.examplesNeeded(difference: 0) == nil && PairedOutcomes.examplesNeeded(difference: 1e-15) == nil)
    let stricter = try #require(PairedOutcomes.examplesNeeded(difference: 0.1, discordance: 0.3, alpha: 0.01))
    #expect(stricter > PairedOutcomes.examplesNeeded(difference: 0.1, discordance: 0.3) ?? .max)
  }

  @Test func theBootstrapAgreesWithTheTest() {
    // 60 against 30 discordant of 500: p of McNemar's test is 0.002; the bootstrap of the difference must see the same.
    let first = (0..<500).map { $0 < 400 || $0 >= 440 && $0 < 500 }
    let second = (0..<500).map { $0 < 430 }
    let pairs = PairedOutcomes(first: first, second: second)
    #expect(pairs.onlyFirst == 60 && pairs.onlySecond == 30)
    func resampled(_ x: [Bool], _ y: [Bool]) -> ResampledDifference {
      ResampledDifference(Bootstrap(seed: 1), count: 500, differing: 90) { indices in
        indices.reduce(0.0) { $0 + (x[$1] ? 1 : 0) - (y[$1] ? 1 : 0) } / 500
      }
    }
    let difference = resampled(first, second)
    #expect(abs(difference.value - pairs.difference) < 1e-12)
    #expect(difference.pValue < 0.01 && pairs.pValue < 0.01)
    let (one, other) = (difference.interval(), pairs.differenceInterval())
    // A step of the difference is 0.002.
    #expect(one.lower > 0 && abs(one.lower - other.lower) < 0.004 && abs(one.upper - other.upper) < 0.004, "\(one) \(other)")
    #expect(resampled(second, first).pValue == difference.pValue)
  }
}
