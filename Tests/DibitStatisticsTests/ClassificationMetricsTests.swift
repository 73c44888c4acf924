import DibitStatistics
import Testing

/// Goldens from scikit-learn 1.9.1: precision_recall_fscore_support(…, zero_division=0), accuracy_score, f1_score(average="macro").
@Suite struct MetricsTests {
  struct Golden: Sendable {
    var truth: [Int]
    var prediction: [Int]
    var labels: Int
    var precision: [Double]
    var recall: [Double]
    var f1: [Double]
    var support: [Int]
    var accuracy: Double
    var macroF1: Double
    var confusion: [[Int]]
    var majority: Double
  }

  static let goldens = [
    Golden(
      truth: [0, 0, 0, 1, 1, 2, 2, 2, 2, 3], prediction: [0, 1, 0, 1, 2, 2, 2, 0, 2, 3], labels: 4,
      precision: [0.6666666666666666, 0.5, 0.75, 1], recall: [0.6666666666666666, 0.5, 0.75, 1], f1: [0.6666666666666666, 0.5, 0.75, 1],
      support: [3, 2, 4, 1], accuracy: 0.7, macroF1: 0.7291666666666666,
      confusion: [[2, 1, 0, 0], [0, 1, 1, 0], [1, 0, 3, 0], [0, 0, 0, 1]], majority: 0.4),
    // Labels that are never predicted, and one that does not occur at all.
    Golden(
      truth: [0, 0, 1, 1, 2], prediction: [0, 0, 0, 0, 0], labels: 4, precision: [0.4, 0, 0, 0], recall: [1, 0, 0, 0],
      f1: [0.5714285714285714, 0, 0, 0], support: [2, 2, 1, 0], accuracy: 0.4, macroF1: 0.19047619047619047,
      confusion: [[2, 0, 0, 0], [2, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]], majority: 0.4),
    Golden(
      truth: [0, 1, 2, 0, 1, 2], prediction: [0, 2, 1, 0, 0, 1], labels: 3, precision: [0.6666666666666666, 0, 0], recall: [1, 0, 0],
      f1: [0.8, 0, 0], support: [2, 2, 2], accuracy: 0.3333333333333333, macroF1: 0.26666666666666666,
      confusion: [[2, 0, 0], [1, 0, 1], [0, 2, 0]], majority: 1.0 / 3),
  ]

  @Test(arguments: goldens.indices)
  func golden(index: Int) {
    let golden = Self.goldens[index]
    let metrics = ClassificationMetrics(
      labels: golden.labels, pairs: zip(golden.truth, golden.prediction).map { (truth: $0, prediction: $1) })
    // Both compute in double; scikit-learn adds in another order.
    let close = { (a: Double, b: Double) in abs(a - b) <= 4 * Double.ulpOfOne }
    #expect(metrics.confusion == golden.confusion)
    #expect(metrics.count == golden.truth.count)
    #expect(close(metrics.accuracy, golden.accuracy))
    #expect(close(metrics.macroF1, golden.macroF1))
    #expect(close(metrics.majorityShare, golden.majority))
    for label in 0..<golden.labels {
      #expect(close(metrics.perLabel[label].precision, golden.precision[label]))
      #expect(close(metrics.perLabel[label].recall, golden.recall[label]))
      #expect(close(metrics.perLabel[label].f1, golden.f1[label]))
      #expect(metrics.perLabel[label].support == golden.support[label])
    }
  }

  @Test func nothing() {
    let metrics = ClassificationMetrics(labels: 2, pairs: [])
    #expect(metrics.accuracy == 0)
    #expect(metrics.macroF1 == 0)
    #expect(metrics.majorityShare == 0)
    #expect(metrics.count == 0)
  }
}
