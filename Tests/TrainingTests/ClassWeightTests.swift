import BasicContainers
import DibitDataset
import DibitKernels
import DibitModel
import DibitModelStore
import DibitTensor
import DibitTestSupport
import Testing

@testable import DibitTraining

@Suite struct ClassWeightTests {
  @Test("having no label is a label of its own")
  func withoutLabels() {
    check(.balanced, [[], ["a"], ["a"], ["a"]], [2, 0.666667, 0.666667, 0.666667])
    check(.given([(label: "a", weight: 3)]), [[], ["a"]], [0.5, 1.5])
  }

  @Test("an example counts n / (k · n_label), and with several labels their mean")
  func importances() {
    let unbalanced = [["a"], ["a"], ["a"], ["b"]]
    #expect(ClassWeights.equal.importances(of: unbalanced) == [1, 1, 1, 1])
    check(.balanced, unbalanced, [0.666667, 0.666667, 0.666667, 2])
    check(.balanced, [["a"], ["b"]], [1, 1])
    check(.balanced, [["a"], ["a", "b"], ["b"]], [1, 1, 1])
    // "a" lies on three of four texts and counts 2/3, "b" on two and counts 1; both together 5/6. The sum, 19/6, is made 4.
    check(.balanced, [["a"], ["a"], ["a", "b"], ["b"]], [0.842105, 0.842105, 1.052632, 1.263158])
    check(.given([(label: "b", weight: 3)]), [["a"], ["b"], ["b"], ["a"]], [0.5, 1.5, 1.5, 0.5])
    #expect(ClassWeights.balanced.importances(of: []).isEmpty)
  }

  private func check(
    _ weights: ClassWeights, _ labels: [[String]], _ expected: [Float], sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let found = weights.importances(of: labels)
    let isClose = found.count == expected.count && zip(found, expected).allSatisfy { abs($0 - $1) < 1e-5 }
    #expect(isClose, "\(found)", sourceLocation: sourceLocation)
  }

  /// The gradient of one step over all examples with these importances.
  private func gradient(_ training: TrainingCase, _ importances: [Float]) -> [Float] {
    let compute = Compute(threads: 1)
    let decoder = training.model.makeDecoder()
    var configuration = AdapterConfiguration()
    configuration.rank = 4
    var adapter = Adapter(configuration, for: decoder.weights)
    var rng = SplitMix64(seed: 3, purpose: "test")
    adapter.initialize(using: &rng)
    var examples = Array(training.examples.prefix(importances.count))
    for (index, importance) in importances.enumerated() { examples[index].importance = importance }
    let batch = Batch(examples)
    let list = TrainableList(decoder.weights, adapter: adapter.layout, includesWeights: false)
    var engine = StepEngine(
      decoder, rows: batch.tokens.count, sequences: examples.count, adapter: configuration, training: list, on: compute)
    var sums = LossSums()
    _ = engine.accumulate(batch, decoder, adapter: &adapter, total: batch.totalWeight, losses: &sums)
    return engine.withGradients { gradients in (0..<adapter.count).flatMap { gradients.values[list.b($0)].values } }
  }

  @Test("a weighted gradient is the weighted sum of those of the examples")
  func weightedByHand() throws {
    let training = try TrainingCase("llama")
    let weights: [Float] = [0.5, 0.5, 2]
    let whole = gradient(training, weights)
    // One example at a time: what each adds to the gradient of the three.
    let parts = (0..<3).map { index in gradient(training, (0..<3).map { $0 == index ? 1 : 0 }) }
    var expected = [Float](repeating: 0, count: whole.count)
    for (weight, part) in zip(weights, parts) { for index in expected.indices { expected[index] += weight * part[index] } }
    let scale = expected.map { abs($0) }.max() ?? 0
    #expect(scale > 0)
    // Gradients may be rounded to eight bits on the way; another weight would be another gradient altogether.
    let furthest = zip(whole, expected).map { abs($0 - $1) }.max() ?? 0
    #expect(furthest <= 1e-2 * scale, "\(furthest) of \(scale)")
    #expect(gradient(training, [1, 1, 1]) != whole)
  }

  @Test func theEncoderWeighsTrainingExamples() throws {
    let training = try TrainingCase("llama")
    let rare = training.labelled.filter { $0.labels == ["food"] }.prefix(1)
    let examples = (training.labelled.filter { $0.labels != ["food"] } + rare).map { DatasetExample.labelled($0) }
    let format = ConversationFormat(tokenizer: training.model.tokenizer, jinja: nil, maximumTokens: 96)
    let encoder = ExampleEncoder(task: training.task, format: format, for: examples)
    #expect(try encoder.encode(examples).allSatisfy { $0.importance == 1 })
    let weighed = try encoder.encode(examples, weighing: .balanced)
    #expect(weighed.map(\.importance) == ClassWeights.balanced.importances(of: examples.map(\.labels)))
    #expect((weighed.last?.importance ?? 0) > 5)
    // What a step's loss divides by does not depend on them.
    #expect(Batch(weighed).totalWeight == Batch(try encoder.encode(examples)).totalWeight)
  }
}
