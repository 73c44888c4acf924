import DibitJSON
import DibitStatistics
import Foundation
import RealModule
import Testing

@Suite struct GoldenTests {
  @Test func classification() throws {
    for golden in try Goldens.list("classification") {
      let (truths, predictions) = (try golden.integers("truth"), try golden.integers("prediction"))
      let labels = try #require(golden["labels"]?.int)
      let metrics = ClassificationMetrics(labels: labels, pairs: zip(truths, predictions).map { (truth: $0, prediction: $1) })
      let macro = [metrics.macro(\.precision), metrics.macro(\.recall), metrics.macroF1]
      let weighted = [metrics.weighted(\.precision), metrics.weighted(\.recall), metrics.weighted(\.f1)]
      #expect(zip(macro, try golden.numbers("macro")).allSatisfy { isClose($0, $1) })
      #expect(zip(weighted, try golden.numbers("weighted")).allSatisfy { isClose($0, $1) })
      for value in try golden.numbers("micro") { #expect(isClose(metrics.accuracy, value)) }
      #expect(isClose(metrics.accuracy, try golden.number("accuracy")))
      #expect(isClose(metrics.balancedAccuracy, try golden.number("balanced")))
      #expect(isClose(metrics.cohenKappa, try golden.number("kappa")))
      #expect(isClose(metrics.matthewsCorrelation, try golden.number("mcc")))
      let all = Array(truths.indices)
      let scores = F1Scores(labels: labels, truths: truths, predictions: predictions, at: all)
      #expect(scores.macro == metrics.macroF1)
      #expect(isClose(scores.weighted, metrics.weighted(\.f1)))
      #expect(scores.perLabel == metrics.perLabel.map(\.f1))
      #expect(ClassificationMetrics(confusion: metrics.confusion) == metrics)
    }
  }

  @Test func tags() throws {
    for golden in try Goldens.list("tags") {
      let truths = try golden.rows("truth").map { Set($0.map { Int($0) }) }
      let predictions = try golden.rows("prediction").map { Set($0.map { Int($0) }) }
      let labels = try #require(golden["labels"]?.int)
      let metrics = TagMetrics(labels: labels, examples: zip(truths, predictions).map { (truth: $0, prediction: $1) })
      for (name, scores) in [("micro", metrics.micro), ("macro", metrics.macro), ("samples", metrics.samples)] {
        let values = [scores.precision, scores.recall, scores.f1, scores.jaccard]
        #expect(zip(values, try golden.numbers(name)).allSatisfy { isClose($0, $1) }, "\(name)")
      }
      #expect(isClose(metrics.subsetAccuracy, try golden.number("subset")))
      #expect(isClose(metrics.hammingLoss, try golden.number("hamming")))
      let ranking = TagRanking(at: 3, truths: truths, scores: try golden.rows("scores"))
      #expect(isClose(ranking.precision, try golden.number("precision_at_3")))
      #expect(isClose(ranking.recall, try golden.number("recall_at_3")))
    }
  }

  @Test func forecasts() throws {
    for golden in try Goldens.list("forecasts") {
      let logProbabilities = try golden.rows("logits").map { row in
        let total = Double.log(row.reduce(0) { $0 + .exp($1) })
        return row.map { $0 - total }
      }
      let forecasts = Forecasts(truths: try golden.integers("truth"), logProbabilities: logProbabilities)
      let (confidences, hits) = (forecasts.confidences, forecasts.hits)
      #expect(isClose(forecasts.logLoss, try golden.number("log_loss")))
      #expect(isClose(forecasts.brier, try golden.number("brier")))
      #expect(isClose(BinaryForecasts.brier(confidences, happened: hits), try golden.number("confidence_brier")))
      #expect(isClose(try #require(forecasts.macroAUROC), try golden.number("auroc_ovr")))
      #expect(isClose(try #require(ROC.area(confidences, positive: hits)), try golden.number("auroc_confidence")))
      let coarse = confidences.map { ($0 * 10).rounded(.toNearestOrEven) }
      #expect(isClose(try #require(ROC.area(coarse, positive: hits)), try golden.number("auroc_ties")))
      let width = Calibration(confidences: confidences, hits: hits, bins: 10)
      #expect(isClose(width.expectedError, try golden.number("ece_width")))
      #expect(isClose(width.maximumError, try golden.number("mce_width")))
      let mass = Calibration(confidences: confidences, hits: hits, bins: 10, binning: .equalMass)
      #expect(isClose(mass.expectedError, try golden.number("ece_mass")))
      #expect(isClose(mass.maximumError, try golden.number("mce_mass")))
      #expect(isClose(RiskCoverage(confidences: confidences, hits: hits).area, try golden.number("aurc")))
    }
  }

  @Test func distributions() throws {
    for row in try Goldens.list("normal") {
      let pair = try #require(row.array?.compactMap { $0.double })
      #expect(isClose(Normal.quantile(pair[0]), pair[1], 1e-13), "\(pair)")
    }
    for row in try Goldens.list("binomial") {
      let values = try #require(row.array?.compactMap { $0.double })
      let (k, n) = (Int(values[0]), Int(values[1]))
      // The logarithm of n! has a rounding error that grows with n.
      let tolerance = 1e-12 + 1e-14 * Double(n)
      #expect(abs(Binomial.cumulative(k, of: n, values[2]) - values[3]) <= tolerance * values[3], "\(values)")
      #expect(abs(Binomial.mass(k, of: n, values[2]) - values[4]) <= tolerance * values[4], "\(values)")
    }
    #expect(Normal.quantile(0) == -.infinity && Normal.quantile(1) == .infinity)
    #expect(Binomial.cumulative(-1, of: 3, 0.5) == 0 && Binomial.cumulative(3, of: 3, 0.5) == 1 && Binomial.cumulative(1, of: 3, 1) == 0)
  }

  @Test func testsAndIntervals() throws {
    for row in try Goldens.list("mcnemar") {
      let values = try #require(row.array?.compactMap { $0.double })
      let pairs = PairedOutcomes(both: 3, onlyFirst: Int(values[0]), onlySecond: Int(values[1]), neither: 2)
      #expect(isClose(pairs.exactPValue, values[2]), "\(values)")
    }
    for row in try Goldens.list("wilson") {
      let values = try #require(row.array?.compactMap { $0.double })
      let interval = ConfidenceInterval.wilson(successes: Int(values[0]), of: Int(values[1]), level: values[2])
      #expect(isClose(interval.lower, values[3]) && isClose(interval.upper, values[4]), "\(values)")
    }
    for golden in try Goldens.list("corrections") {
      let p = try golden.numbers("p")
      #expect(zip(MultipleTesting.holm(p), try golden.numbers("holm")).allSatisfy { isClose($0, $1) })
      #expect(zip(MultipleTesting.benjaminiHochberg(p), try golden.numbers("bh")).allSatisfy { isClose($0, $1) })
    }
  }

  /// The generator draws the same samples as SplitMix64 does here and lets SciPy read the intervals.
  @Test func bootstrap() throws {
    let golden = try Goldens.load("bootstrap")
    let data = try golden.numbers("data")
    let mean = { (indices: [Int]) in indices.reduce(0) { $0 + data[$1] } / Double(indices.count) }
    let variance = { (indices: [Int]) in
      let centre = mean(indices)
      return indices.reduce(0) { $0 + (data[$1] - centre) * (data[$1] - centre) } / Double(indices.count)
    }
    for (name, statistic) in [("mean", mean), ("variance", variance)] {
      for method in [Bootstrap.Method.percentile, .bca] {
        let bootstrap = Bootstrap(
          resamples: try #require(golden["resamples"]?.int), level: 0.9, method: method,
          seed: UInt64(try #require(golden["seed"]?.int)))
        let estimate = bootstrap.estimate(count: data.count, statistic: statistic)
        let expected = try golden.numbers("\(name)_\(method)")
        #expect(isClose(estimate.interval.lower, expected[0]) && isClose(estimate.interval.upper, expected[1]), "\(name) \(method)")
        #expect(isClose(estimate.standardError, try golden.number("\(name)_error")))
      }
    }
  }
}
