import DibitStatistics
import DibitTensor
import Testing

@Suite struct UncertaintyTests {
  // MARK: Intervals

  /// Of 300 test sets drawn from a known share, about 95 % have an interval that holds it. Three standard errors of that count are 0.038.
  @Test(arguments: [Bootstrap.Method.percentile, .bca])
  func bootstrapCoversTheTruth(method: Bootstrap.Method) {
    var generator = SplitMix64(seed: 3)
    var covered = 0
    for round in 0..<300 {
      let hits = (0..<80).map { _ in generator.uniform() < 0.7 ? 1.0 : 0 }
      let bootstrap = Bootstrap(resamples: 300, method: method, seed: UInt64(round))
      let interval = bootstrap.estimate(count: 80) { indices in indices.reduce(0) { $0 + hits[$1] } / 80 }.interval
      if interval.lower <= 0.7, 0.7 <= interval.upper { covered += 1 }
    }
    #expect(abs(Double(covered) / 300 - 0.95) < 0.04, "\(covered)")
  }

  @Test func wilsonCoversTheTruth() {
    // Exactly: the chances of all counts whose interval holds the share.
    for (trials, share) in [(30, 0.9), (100, 0.5), (200, 0.97)] {
      let coverage = (0...trials).reduce(0.0) { sum, successes in
        let interval = ConfidenceInterval.wilson(successes: successes, of: trials)
        return interval.lower <= share && share <= interval.upper ? sum + Binomial.mass(successes, of: trials, share) : sum
      }
      #expect(abs(coverage - 0.95) < 0.035, "\(trials) \(share) \(coverage)")
    }
    #expect(ConfidenceInterval.wilson(successes: 0, of: 0) == ConfidenceInterval(lower: 0, upper: 1))
  }

  @Test func sameSeedSameInterval() {
    let values = (0..<50).map { Double($0 * $0 % 17) }
    let mean = { (indices: [Int]) in indices.reduce(0) { $0 + values[$1] } / Double(indices.count) }
    let first = Bootstrap(resamples: 200, seed: 5).estimate(count: 50, statistic: mean)
    #expect(first == Bootstrap(resamples: 200, seed: 5).estimate(count: 50, statistic: mean))
    #expect(first != Bootstrap(resamples: 200, seed: 6).estimate(count: 50, statistic: mean))
  }

  @Test func strataKeepTheirSizes() {
    let strata = (0..<60).map { $0 % 3 == 0 ? 7 : $0 % 2 }
    let sizes = Dictionary(grouping: strata) { $0 }.mapValues(\.count)
    var (seen, samples) = (Set<[Int]>(), 0)
    _ = Bootstrap(resamples: 30, seed: 1).distribution(count: 60, strata: strata) { indices in
      #expect(Dictionary(grouping: indices.map { strata[$0] }) { $0 }.mapValues(\.count) == sizes)
      seen.insert(indices)
      samples += 1
      return 0
    }
    #expect(seen.count == 30 && samples == 30)
    // A statistic that depends on the stratum alone does not vary.
    let estimate = Bootstrap(resamples: 50).estimate(count: 60, strata: strata) { indices in
      Double(indices.count { strata[$0] == 7 })
    }
    #expect(estimate.interval == ConfidenceInterval(lower: 20, upper: 20) && estimate.standardError == 0)
  }

  @Test func whatCannotBeEstimated() {
    let none = Bootstrap(resamples: 20).estimate(count: 5) { _ in .nan }
    #expect(none.value.isNaN && none.standardError.isNaN)
    let alone = Bootstrap(resamples: 20).estimate(count: 1) { _ in 3 }
    #expect(alone.interval == ConfidenceInterval(lower: 3, upper: 3))
  }

  @Test func manyExamplesUseGroupsInTheJackknife() {
    var generator = SplitMix64(seed: 9)
    let values = (0..<1500).map { _ in Double(generator.uniform()) }
    var calls = 0
    let estimate = Bootstrap(resamples: 200).estimate(count: 1500) { indices in
      calls += 1
      return indices.reduce(0) { $0 + values[$1] } / Double(indices.count)
    }
    #expect(calls == 1 + 200 + 500)
    // The standard error of a mean of uniforms is √(1/12/n) = 0.00745.
    #expect(abs(estimate.standardError - 0.00745) < 0.001)
    #expect(estimate.interval.lower < 0.5 && 0.5 < estimate.interval.upper)
  }

  // MARK: Two runs

  @Test func exactValuesByHand() {
    // Six discordant, all for one side: 2 / 2^6; one against five: 2 (1 + 6) / 2^6.
    #expect(abs(PairedOutcomes(both: 9, onlyFirst: 6, onlySecond: 0, neither: 1).exactPValue - 1.0 / 32) < 1e-15)
    let pairs = PairedOutcomes(both: 10, onlyFirst: 5, onlySecond: 1, neither: 4)
    #expect(abs(pairs.exactPValue - 14.0 / 64) < 1e-15)
    #expect(pairs.count == 20 && pairs.discordant == 6 && pairs.oddsRatio == 5)
    #expect(abs(pairs.difference - 0.2) < 1e-15)
    #expect(abs(pairs.firstAccuracy - 0.75) < 1e-15 && abs(pairs.secondAccuracy - 0.55) < 1e-15)
    // 2 asin √0.75 = 2π/3; 2 asin √0.55 = 1.6709637479564563.
    #expect(abs(pairs.cohenH - (2.0943951023931953 - 1.6709637479564563)) < 1e-14)
    #expect(
      PairedOutcomes(first: [true, true, false, false], second: [true, false, true, false])
        == PairedOutcomes(both: 1, onlyFirst: 1, onlySecond: 1, neither: 1))
    let same = PairedOutcomes(both: 3, onlyFirst: 0, onlySecond: 0, neither: 3)
    #expect(same.exactPValue == 1 && same.pValue == 1 && same.oddsRatio == nil)
    #expect(PairedOutcomes(both: 3, onlyFirst: 2, onlySecond: 0, neither: 3).oddsRatio == .infinity)
  }

  @Test func correctionsByHand() {
    #expect(MultipleTesting.holm([0.01, 0.04, 0.03]).map { ($0 * 1000).rounded() } == [30, 60, 60])
    #expect(MultipleTesting.benjaminiHochberg([0.01, 0.04, 0.03]).map { ($0 * 1000).rounded() } == [30, 40, 40])
    #expect(MultipleTesting.holm([]).isEmpty && MultipleTesting.benjaminiHochberg([]).isEmpty)
    #expect(MultipleTesting.holm([0.9, 0.8]) == [1, 1])
    #expect(MultipleTesting.holmFactors([0.01, 0.04, 0.03]).map { ($0 * 1000).rounded() } == [3000, 1500, 2000])
    #expect(MultipleTesting.holmFactors([0, 0, 0.5]) == [3, 2, 1])
  }
}
