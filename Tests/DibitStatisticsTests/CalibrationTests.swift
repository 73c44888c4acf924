import DibitStatistics
import DibitTensor
import Testing

@Suite struct CalibrationTests {
  /// Examples with confidences in 0.5…1 that are right with probability `chance(confidence)`.
  private func simulated(_ count: Int, _ chance: (Double) -> Double) -> (confidences: [Double], hits: [Bool]) {
    var generator = SplitMix64(seed: 11)
    var (confidences, hits): ([Double], [Bool]) = ([], [])
    for _ in 0..<count {
      let confidence = 0.5 + 0.5 * Double(generator.uniform())
      confidences.append(confidence)
      hits.append(Double(generator.uniform()) < chance(confidence))
    }
    return (confidences, hits)
  }

  @Test(arguments: [Calibration.Binning.equalWidth, .equalMass])
  func aCalibratedForecasterHasNoErrorButNoise(binning: Calibration.Binning) {
    for count in [1000, 30_000] {
      let (confidences, hits) = simulated(count) { $0 }
      let calibration = Calibration(confidences: confidences, hits: hits, bins: 10, binning: binning)
      // A bin's accuracy is off by at most √(0.25 / n) on average; three times that for all of them together.
      #expect(calibration.expectedError < 3 * (0.25 / (Double(count) / 10)).squareRoot())
      #expect(calibration.bins.reduce(0) { $0 + $1.count } == count)
    }
  }

  @Test(arguments: [Calibration.Binning.equalWidth, .equalMass])
  func anOverconfidentOneHasTheErrorItMustHave(binning: Calibration.Binning) {
    // Right 0.2 less often than it says, everywhere: the error is 0.2 in every bin.
    let (confidences, hits) = simulated(40_000) { $0 - 0.2 }
    let calibration = Calibration(confidences: confidences, hits: hits, bins: 10, binning: binning)
    #expect(abs(calibration.expectedError - 0.2) < 0.01)
    #expect(abs(calibration.maximumError - 0.2) < 0.03)
  }

  @Test func binsAreClosedAboveAndTiesStayTogether() {
    let width = Calibration(confidences: [0, 0.5, 0.500001, 1], hits: [true, false, true, true], bins: 2)
    #expect(width.bins.map(\.count) == [2, 2])
    #expect(width.bins.map(\.accuracy) == [0.5, 1])
    let mass = Calibration(confidences: [0.9, 0.4, 0.4, 0.4, 0.8], hits: [true, true, false, false, true], bins: 5, binning: .equalMass)
    #expect(mass.bins.map(\.count) == [3, 1, 1])
    #expect(mass.bins.map(\.lower) == [0.4, 0.8, 0.9])
    #expect(Calibration(confidences: [], hits: []).expectedError == 0)
    #expect(Calibration(confidences: [], hits: [], binning: .equalMass).bins.isEmpty)
  }

  @Test func riskAndCoverage() {
    let curve = RiskCoverage(confidences: [0.9, 0.8, 0.7, 0.6], hits: [true, false, true, false])
    #expect(curve.points.map(\.coverage) == [0.25, 0.5, 0.75, 1])
    #expect(curve.points.map(\.risk) == [0, 0.5, 1.0 / 3, 0.5])
    #expect(abs(curve.area - (0 + 0.5 + 1.0 / 3 + 0.5) / 4) < 1e-15)
    // The best order has its errors last: risks 0, 0, 1/3, 1/2.
    #expect(abs(curve.excessArea - 0.5 / 4) < 1e-15)
    #expect(curve.widest(risk: 0.4)?.coverage == 0.75)
    #expect(curve.widest(risk: 0)?.coverage == 0.25)
    // One confidence for all: no order, so every share has the mean risk, whatever the order of the examples.
    for hits in [[true, false, false, false], [false, false, false, true]] {
      let flat = RiskCoverage(confidences: [0.5, 0.5, 0.5, 0.5], hits: hits)
      #expect(flat.points.count == 1)
      #expect(abs(flat.area - 0.75) < 1e-15)
    }
    #expect(RiskCoverage(confidences: [0.9, 0.1], hits: [true, false]).excessArea == 0)
    #expect(RiskCoverage(confidences: [], hits: []).points.isEmpty)
    let (confidences, hits) = simulated(1000) { $0 }
    let long = RiskCoverage(confidences: confidences, hits: hits)
    let thinned = long.thinned(to: 50)
    #expect(thinned.count <= 51 && thinned.last == long.points.last)
  }

  @Test func emptyAndImpossibleForecasts() {
    #expect(Forecasts(truths: [], logProbabilities: []).logLoss == 0)
    #expect(Forecasts(truths: [], logProbabilities: []).macroAUROC == nil)
    let sure = Forecasts(truths: [0, 1], logProbabilities: [[0, -.infinity], [0, -.infinity]])
    #expect(sure.logLoss == .infinity)
    #expect(sure.brier == 1)
    #expect(sure.hits == [true, false])
    #expect(ROC.area([1, 2], positive: [true, true]) == nil)
    #expect(ROC.area([1, 1, 1], positive: [true, false, true]) == 0.5)
  }
}
