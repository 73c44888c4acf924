import DibitDataset
@testable import DibitEvaluation
import DibitInference
import DibitJSON
import DibitKernels
import DibitModelStore
import DibitTestSupport
import DibitTokenizer
import Testing

@Suite struct RunRecordsTests {
  private let labels = ["food", "money", "space", "sport"]
  private let examples = topics(perLabel: 3).map { LabelledExample(path: $0.path, text: $0.text, labels: [$0.label]) }
  private let compute = Compute(threads: 1)

  @Test("subjects side by side give the records and metrics that each gives alone")
  func subjects() throws {
    let tiny = try TinyTask()
    var seen: [EvaluationProgress] = []
    let runs = try Evaluator.run(
      [tiny.subject(), tiny.subject("again")], labels: labels, examples: examples, latencyTexts: 5, on: compute
    ) {
      seen.append($0)
      return true
    }
    #expect(runs.map(\.name) == ["base", "again"])
    #expect(runs[0].records == runs[1].records)
    #expect(runs[0].records.map(\.example) == Array(0..<12))
    #expect(seen.map(\.done) == Array(1...12) + Array(1...12))
    #expect(seen[3].runs == 2 && seen[3].total == 12)
    #expect(seen[23].secondsLeft == 0)
    let halfway = try #require(seen[11].secondsLeft)
    #expect(abs(halfway * seen[11].textsPerSecond - 12) <= 1e-6)

    for (example, record) in zip(examples, runs[0].records) {
      let expected = try tiny.reference(example.text, labels)
      let scores = try #require(record.scores).logProbabilities
      #expect(zip(scores, expected).allSatisfy { abs($0 - $1) <= TinyTask.tolerance })
      #expect(record.truths == [try #require(labels.firstIndex(of: example.labels[0]))])
    }
    #expect(runs[0].truncated == 0)
    #expect(runs[0].promptTokens == runs[0].records.reduce(0) { $0 + ($1.scores?.tokens ?? 0) })
    #expect(runs[0].rows > 0)
    #expect(runs[0].latencies.count == 5)
    #expect(try #require(runs[0].latency(0.95)) >= #require(runs[0].latency(0.5)))
  }

  @Test("one example that fails loses no other")
  func failure() throws {
    let plain = try TinyTask()
    // A token of the third text that no other prompt holds.
    func tokens(_ text: String) -> Set<Int32> { Set(plain.task.prompt(text, reserving: 0).tokens) }
    let odd = LabelledExample(path: "odd", text: "ZZ@@", labels: ["food"])
    let others = examples.reduce(into: Set(labels.flatMap { plain.task.tokens(ofLabel: $0) } + plain.task.opening)) {
      $0.formUnion(tokens($1.text))
    }
    let token = try #require(tokens(odd.text).subtracting(others).sorted().first)
    let tiny = try TinyTask(damaging: token)
    let mixed = [examples[0], examples[1], odd] + examples.dropFirst(2)
    let run = try Evaluator.run([tiny.subject()], labels: labels, examples: mixed, on: compute)[0]
    #expect(run.failures == 1)
    guard case .failure(.inference(.notFinite)) = run.records[2].outcome else {
      Issue.record("a text that the model makes no numbers of has scores: \(run.records[2].outcome)")
      return
    }
    let clean = try Evaluator.run([tiny.subject()], labels: labels, examples: examples, on: compute)[0]
    #expect(clean.failures == 0)
    // Other texts beside it: sums of a float model in another order.
    for (one, other) in zip(run.records.compactMap(\.scores), clean.records.compactMap(\.scores)) {
      #expect(zip(one.logProbabilities, other.logProbabilities).allSatisfy { abs($0 - $1) <= TinyTask.tolerance })
    }
  }

  @Test func emptyTextsAreCounted() throws {
    let tiny = try TinyTask(maximumTokens: 120)
    let some = [
      LabelledExample(path: "a", text: "", labels: ["food"]), LabelledExample(path: "b", text: "soup", labels: ["food"]),
      LabelledExample(path: "c", text: String(repeating: "goal ", count: 300), labels: ["sport", "food"]),
    ]
    let run = try Evaluator.run([tiny.subject()], labels: labels, examples: some, on: compute)[0]
    #expect(run.empty == 1)
    #expect(run.truncated == 1)
    #expect(run.records[2].truths == [0, 3])
  }

  @Test("examples that are missing, or have no known label, are an error")
  func faults() throws {
    let tiny = try TinyTask()
    #expect(throws: EvaluationError.noExamples) { try Evaluator.run([tiny.subject()], labels: labels, examples: [], on: compute) }
    #expect(throws: EvaluationError.unknownLabels(["sport"], known: 2)) {
      try Evaluator.run([tiny.subject()], labels: ["food", "money"], examples: examples.filter { $0.labels == ["sport"] }, on: compute)
    }
    #expect(
      EvaluationError.unknownLabels(["sport"], known: 2).description
        == "the data has labels that the adapter was not trained on: sport (it knows 2)")
    #expect(throws: EvaluationError.indistinguishableLabels(["a", "a"])) {
      try Evaluator.run(
        [tiny.subject()], labels: ["a", "a"], examples: [LabelledExample(path: "x", text: "x", labels: ["a"])], on: compute)
    }
    #expect(throws: EvaluationError.interrupted) {
      try Evaluator.run([tiny.subject()], labels: labels, examples: examples, on: compute) { $0.done < 4 }
    }
  }

  @Test func latencies() {
    let run = RunRecords(
      name: "a", labels: [], records: [], prior: nil, seconds: 2, promptTokens: 8, rows: 8,
      latencies: (1...20).reversed().map { Double($0) })
    #expect(run.latency(0.5) == 10)
    #expect(run.latency(0.95) == 19)
    #expect(run.latency(1) == 20)
    #expect(run.latency(0) == 1)
    #expect(run.tokensPerSecond == 4)
    #expect(
      RunRecords(name: "a", labels: [], records: [], prior: nil, seconds: 2, promptTokens: 8, rows: 8, latencies: []).latency(0.5) == nil)
  }
}

@Suite struct LabelOrderTests {
  @Test("constructed biases")
  func constructed() {
    // The model always answers what stands first.
    let first = LabelOrderBias(orders: [[0, 1], [1, 0]], probabilities: [[[1, 0], [1, 0]], [[0, 1], [0, 1]]])
    #expect(first.agreement == 0)
    #expect(first.variation == 0.5)
    #expect(first.preference == [2, 0])
    // The order does not matter.
    let none = LabelOrderBias(orders: [[0, 1], [1, 0]], probabilities: [[[0.75, 0.25], [0.5, 0.5]], [[0.75, 0.25], [0.5, 0.5]]])
    #expect(none.agreement == 1)
    #expect(none.variation == 0)
    #expect(none.preference == [1, 1])
    #expect(none.texts == 2)
  }

  @Test func measured() throws {
    let tiny = try TinyTask(instruction: "Choose one of: {labels}.")
    let labels = ["food", "money", "space"]
    let texts = topics(perLabel: 1).map(\.text)
    let bias = try LabelOrderBias.measure(
      texts, labels: labels, task: tiny.task, model: tiny.measured, orders: 4, seed: 1, on: Compute(threads: 1))
    #expect(bias.orders.count == 4 && bias.orders[0] == [0, 1, 2])
    #expect(bias.orders.allSatisfy { $0.sorted() == [0, 1, 2] })
    #expect((0...1).contains(bias.agreement) && bias.variation > 0)
    #expect(bias.texts == texts.count)
    let listed = tiny.task.task.listing(labels)
    #expect(listed.instruction == "Choose one of: food, money, space.")
    #expect(listed.unlisting(labels) == tiny.task.task)
    #expect(listed.unlisting(["food", "space"]) == nil)
    #expect(throws: EvaluationError.noLabelList) {
      try LabelOrderBias.measure(
        texts, labels: labels, task: tiny.task.replacing(TaggingTask()), model: tiny.measured, on: Compute(threads: 1))
    }
  }
}

@Suite struct OpenTaggerTests {
  @Test(
    "answers that can be read and answers that cannot",
    arguments: [
      (#"{"topics":["a","b","a"]}"#, ["a", "b"]), (#" {"topics" : []} "#, []), (#"{"topics":["é"],"x":1}"#, ["é"]),
      (#"{"topics":"a"}"#, nil),
      (#"{"topics":["a",1]}"#, nil), (#"{"other":["a"]}"#, nil), (#"["a"]"#, nil), ("a, b", nil), ("", nil),
      (#"{"topics":["a"]} yes"#, nil),
    ] as [(String, [String]?)])
  func parsing(text: String, tags: [String]?) { #expect(OpenAnswer.tags(in: text, key: "topics") == tags) }

  @Test func guidedAndFree() throws {
    let tiny = try TinyTask(maximumTokens: 300)
    var guided = try OpenTagger(tiny.subject(), on: Compute(threads: 1))
    var closed = try OpenTagger(tiny.subject(), labels: ["food", "sport"], on: Compute(threads: 1))
    var freely = OpenTagger.Options()
    (freely.isGuided, freely.maximumTokens) = (false, 30)
    var free = try OpenTagger(tiny.subject(), options: freely, on: Compute(threads: 1))
    var (guidedAnswers, freeAnswers): ([OpenAnswer], [OpenAnswer]) = ([], [])
    for text in topics(perLabel: 1).map(\.text) {
      let answer = try guided.predict(text)
      #expect((1...8).contains(try #require(answer.tags).count))
      #expect(try guided.predict(text) == answer)
      #expect(Set(try #require(try closed.predict(text).tags)).isSubset(of: ["food", "sport"]))
      guidedAnswers.append(answer)
      freeAnswers.append(try free.predict(text))
    }
    var together: [Int: OpenAnswer] = [:]
    guided.predict(topics(perLabel: 1).map(\.text)) { index, answer in
      together[index] = try? answer.get()
      return true
    }
    #expect(guidedAnswers.indices.allSatisfy { together[$0] == guidedAnswers[$0] } && together.count == guidedAnswers.count)
    #expect(guidedAnswers.unparsableShare == 0)
    // A model with random weights does not write JSON.
    #expect(freeAnswers.unparsableShare == 1)
    #expect([OpenAnswer]().unparsableShare == 0)
    #expect((guidedAnswers + freeAnswers).unparsableShare == 0.5)
  }
}
