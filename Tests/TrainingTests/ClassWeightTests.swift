import BasicContainers
import DibitDataset
import DibitKernels
import DibitModel
import DibitTensor
import DibitTestSupport
import Testing

@testable import DibitTraining

@Suite struct ClassWeightTests {
  @Test func importances() {
    let unbalanced = [["a"], ["a"], ["a"], ["b"]]
    #expect(ClassWeights.equal.importances(of: unbalanced) == [1, 1, 1, 1])
    // n / (k · n_label): 4 / (2 · 3) and 4 / (2 · 1).
    #expect(ClassWeights.balanced.importances(of: unbalanced) == [2 / 3, 2 / 3, 2 / 3, 2].map { Float($0) })
    #expect(ClassWeights.balanced.importances(of: [["a"], ["b"]]) == [1, 1])
    // Three texts and two labels, of which "a" is on two texts and "b" on two: 3 / 4 each, and so 1 after the mean is made 1.
    #expect(ClassWeights.balanced.importances(of: [["a"], ["a", "b"], ["b"]]) == [1, 1, 1])
    // "a" 4/(2·3), "b" 4/(2·2); the text with both counts their mean 5/6; the sum 4 · 11/12 … is made 4.
    let several = ClassWeights.balanced.importances(of: [["a"], ["a"], ["a", "b"], ["b"]])
    let sum = 2.0 / 3 + 2.0 / 3 + 5.0 / 6 + 1
    #expect(several == [2.0 / 3, 2.0 / 3, 5.0 / 6, 1].map { Float($0 * 4 / sum) })
    #expect(ClassWeights.given([(label: "b", weight: 3)]).importances(of: [["a"], ["b"], ["b"], ["a"]]) == [0.5, 1.5, 1.5, 0.5])
    #expect(ClassWeights.balanced.importances(of: []).isEmpty)
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
    for (place, importance) in importances.enumerated() { examples[place].importance = importance }
    let batch = Batch(examples)
    var engine = StepEngine(decoder, rows: batch.tokens.count, sequences: examples.count, rank: 4, on: compute)
    var gradients = Gradients(decoder.weights, adapter: configuration, includesWeights: false)
    var sums = LossSums()
    _ = engine.accumulate(batch, decoder, adapter: adapter, total: batch.totalWeight, into: &gradients, losses: &sums)
    return (0..<gradients.adapter.count).flatMap { gradients.adapter.b[$0].values }
  }

  @Test("a weighted gradient is the weighted sum of those of the examples")
  func weightedByHand() throws {
    let training = try TrainingCase("llama")
    let weights: [Float] = [0.5, 0.5, 2]
    let whole = gradient(training, weights)
    // One example at a time: what each adds to the gradient of the three.
    let parts = (0..<3).map { place in gradient(training, (0..<3).map { $0 == place ? 1 : 0 }) }
    let expected = whole.indices.map { index in (0..<3).reduce(Float(0)) { $0 + weights[$1] * parts[$1][index] } }
    let scale = expected.map(abs).max() ?? 0
    #expect(scale > 0)
    // Gradients may be rounded to eight bits on the way; another weight would be another gradient altogether.
    #expect(zip(whole, expected).allSatisfy { abs($0 - $1) <= 1e-2 * scale })
    #expect(gradient(training, [1, 1, 1]) != whole)
  }

  @Test func theEncoderWeighsTrainingExamples() throws {
    let training = try TrainingCase("llama")
    let examples = (training.labelled.filter { $0.labels != ["food"] } + [training.labelled[0]]).map { DatasetExample.labelled($0) }
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
