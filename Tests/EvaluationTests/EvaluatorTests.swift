import DibitDataset
import DibitEvaluation
import DibitInference
import DibitJSON
import DibitKernels
import DibitModel
import DibitModelStore
import DibitStatistics
import DibitTestSupport
import Glibc
import Testing

@Suite struct EvaluatorTests {
  private func tagger(_ labels: [String]) throws -> Tagger {
    let scratch = Scratch()
    let model = try StoredModel.open(try TinyCheckpoint.llama().write(to: scratch))
    var task = TaggingTask()
    task.maximumTokens = 128
    let session = Session(model.configuration, weights: model.weights, adapter: .none(for: model.weights), on: Compute(threads: 1))
    return try Tagger(labels: labels, task: TokenizedTask(task, tokenizer: model.tokenizer), session: session)
  }

  private let examples = topics(perLabel: 2).map { LabelledExample(path: $0.path, text: $0.text, labels: [$0.label]) }

  @Test func countsWhatTheTaggerSays() throws {
    let labels = ["food", "money", "space", "sport"]
    var tagger = try tagger(labels)
    var seen: [Int] = []
    let (run, truncated) = try Evaluator.run(name: "base", tagger: &tagger, examples: examples) {
      seen.append($0)
      return true
    }
    #expect(seen == Array(1...8))
    #expect(truncated == 0)
    #expect(run.metrics.count == 8)
    var (hits, loss) = (0, 0.0)
    for example in examples {
      let prediction = try tagger.predict(example.text)
      let truth = try #require(labels.firstIndex(of: example.labels[0]))
      hits += prediction.best == truth ? 1 : 0
      loss -= prediction.scores[truth]
    }
    #expect(run.metrics.accuracy == Double(hits) / 8)
    #expect(abs(run.logLoss - loss / 8) <= 1e-12)
    let report = EvaluationReport(labels: labels, split: "test", examples: 8, truncated: 0, runs: [run])
    #expect(report.majority == 0.25)
    #expect(report.json["runs"]?.array?.first?["per_label"]?.object?.keys == labels)
  }

  @Test func anyOfSeveralLabelsCounts() throws {
    let labels = ["food", "money"]
    var tagger = try tagger(labels)
    let both = [LabelledExample(path: "a", text: "soup", labels: labels)]
    let (run, _) = try Evaluator.run(name: "base", tagger: &tagger, examples: both)
    #expect(run.metrics.accuracy == 1)
  }

  @Test func unknownLabels() throws {
    var tagger = try tagger(["food", "money"])
    #expect(throws: EvaluationError.unknownLabels(["sport"], known: 2)) {
      try Evaluator.run(name: "base", tagger: &tagger, examples: examples)
    }
    #expect(
      EvaluationError.unknownLabels(["sport"], known: 2).description
        == "the data has labels that the adapter was not trained on: sport (it knows 2)")
  }

  @Test func nothingAndInterrupted() throws {
    var tagger = try tagger(["food", "money", "space", "sport"])
    #expect(throws: EvaluationError.noExamples) { try Evaluator.run(name: "base", tagger: &tagger, examples: []) }
    #expect(throws: EvaluationError.interrupted) { try Evaluator.run(name: "base", tagger: &tagger, examples: examples) { $0 < 3 } }
    #expect(EvaluationError.noExamples.description == "there is no example to evaluate")
  }

  @Test func indistinguishableLabels() {
    #expect(throws: EvaluationError.indistinguishableLabels(["a", "a"])) { _ = try tagger(["a", "a"]).labels }
    #expect(EvaluationError.indistinguishableLabels(["a", "a"]).description == "two of the labels have the same tokens or none: a, a")
  }

  @Test func longTextsAreCut() throws {
    var tagger = try tagger(["food", "money"])
    let prediction = try tagger.predict(String(repeating: "soup and bread. ", count: 100))
    #expect(prediction.truncatedTokens > 0)
    #expect(abs(prediction.scores.reduce(0) { $0 + exp($1) } - 1) < 1e-9)
  }
}
