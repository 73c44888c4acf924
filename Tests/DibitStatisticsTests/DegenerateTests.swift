import DibitStatistics
import Testing

/// What is computed where a formula has nothing to divide by.
@Suite struct DegenerateTests {
  @Test func confusionMatricesFromOutside() {
    #expect(ClassificationMetrics(confusion: [[1, 2]]) == nil)
    #expect(ClassificationMetrics(confusion: [[1, -2], [0, 0]]) == nil)
    #expect(ClassificationMetrics(confusion: [[.max, 1], [0, 0]]) == nil)
    #expect(ClassificationMetrics(confusion: [[1 << 52, 1], [0, 0]]) == nil)
    #expect(ClassificationMetrics(confusion: [])?.accuracy == 0)
    #expect(ClassificationMetrics(confusion: [[1 << 52]])?.accuracy == 1)
  }

  @Test func oneLabelOnly() {
    let metrics = ClassificationMetrics(labels: 2, pairs: [(truth: 0, prediction: 0), (truth: 0, prediction: 0)])
    #expect(metrics.accuracy == 1 && metrics.macroF1 == 1 && metrics.balancedAccuracy == 1)
    #expect(metrics.cohenKappa == 0 && metrics.matthewsCorrelation == 0)
    let empty = ClassificationMetrics(labels: 2, pairs: [])
    #expect(empty.balancedAccuracy == 0 && empty.cohenKappa == 0 && empty.matthewsCorrelation == 0 && empty.weighted(\.f1) == 0)
  }

  @Test func noTags() {
    let nothing: [(truth: Set<Int>, prediction: Set<Int>)] = []
    let none = TagMetrics(labels: 3, examples: nothing)
    #expect(none.micro.f1 == 0 && none.subsetAccuracy == 0 && none.hammingLoss == 0)
    // Rightly nothing: the set is exact, the overlap of nothing counts 0.
    let two: [(truth: Set<Int>, prediction: Set<Int>)] = [(truth: [], prediction: []), (truth: [1], prediction: [1])]
    let empty = TagMetrics(labels: 3, examples: two)
    #expect(empty.subsetAccuracy == 1 && empty.hammingLoss == 0 && empty.samples.f1 == 0.5 && empty.micro.f1 == 1)
    #expect(empty.perLabel[1].support == 1)
    let ranking = TagRanking(at: 2, truths: [[], [0]], scores: [[1, 0], [1, 1]])
    #expect(ranking.precision == 0.25 && ranking.recall == 1)
    #expect(TagRanking(at: 1, truths: [[1]], scores: [[0.5, 0.5]]).recall == 0)
    #expect(TagRanking(at: 1, truths: [], scores: []).precision == 0)
  }
}
