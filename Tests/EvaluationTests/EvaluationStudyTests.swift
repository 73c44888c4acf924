import DibitDataset
import DibitEvaluation
import DibitInference
import DibitKernels
import DibitReport
import DibitStatistics
import DibitTestSupport
import DibitTokenizer
import Testing

@Suite struct BaselineSuiteTests {
  private let labels = ["food", "money", "space", "sport"]
  private let compute = Compute(threads: 1)
  private let texts = topics(perLabel: 10).map { LabelledExample(path: $0.label + $0.path, text: $0.text, labels: [$0.label]) }

  private func split() -> (training: [LabelledExample], examples: [LabelledExample]) {
    (texts.enumerated().filter { $0.offset % 10 < 7 }.map(\.element), texts.enumerated().filter { $0.offset % 10 >= 7 }.map(\.element))
  }

  @Test("every kind learns from the training texts and answers for each example")
  func kinds() throws {
    let tiny = try TinyTask(maximumTokens: 600)
    let (training, examples) = split()
    let suite = BaselineSuite(labels: labels, base: tiny.subject(), options: TaggingOptions(), shots: 4, seed: 1)
    var titles: [String] = []
    let found = try suite.run(BaselineKind.allCases, training: training, examples: examples, on: compute) {
      if titles.last != $0.name { titles.append($0.name) }
      return true
    }
    #expect(found.map(\.name) == BaselineKind.allCases.map { $0 == .shots ? "few-shot prompt, 4 examples" : $0.name })
    #expect(titles == ["logistic regression on words", "embeddings", "few-shot prompt, 4 examples"])
    let truths = examples.map { [labels.firstIndex(of: $0.labels[0]) ?? -1] }
    let builder = ReportBuilder(labels: 4, truths: truths)
    for outcomes in found {
      #expect(outcomes.kind == .baseline)
      #expect(outcomes.logProbabilities.count == examples.count)
      #expect(outcomes.logProbabilities.allSatisfy { $0.count == 4 })
      #expect(outcomes.tags == nil)
    }
    // A topic's words are its own, so that words decide; frequencies are all the same.
    #expect(builder.run(found[1]).metrics.accuracy == 1)
    #expect(builder.run(found[2]).metrics.accuracy == 1)
    #expect(builder.run(found[0]).metrics.accuracy == 0.25)
    // Embeddings are made once for both of their classifiers.
    #expect(found[3].seconds > 0 && found[4].seconds > 0)
  }

  @Test("what cannot be had is left out")
  func nothingToLearn() throws {
    let tiny = try TinyTask()
    let (training, examples) = split()
    let suite = BaselineSuite(labels: labels, base: tiny.subject(), options: TaggingOptions(), shots: 4, seed: 1)
    #expect(try suite.run(BaselineKind.allCases, training: [], examples: examples, on: compute).isEmpty)
    let unknown = [LabelledExample(path: "a", text: "a", labels: ["zoo"])]
    #expect(try suite.run([.words], training: unknown, examples: examples, on: compute).isEmpty)
    #expect(throws: EvaluationError.interrupted) {
      try suite.run([.logistic], training: training, examples: examples, on: compute) { _ in false }
    }
    #expect(throws: EvaluationError.interrupted) {
      try suite.run([.tfidf], training: training, examples: examples, on: compute) { _ in false }
    }
    // No room for any shot.
    let narrow = try TinyTask(maximumTokens: 60, context: 60)
    let tight = BaselineSuite(labels: labels, base: narrow.subject(), options: TaggingOptions(), shots: 4, seed: 1)
    #expect(try tight.run([.shots], training: training, examples: examples, on: compute).isEmpty)
  }

  @Test("few-shot prompts do not depend on how much of a text the adapter reads, and say how many examples fit")
  func fewShot() throws {
    let (training, examples) = split()
    func outcomes(_ maximumTokens: Int, context: Int) throws -> RunOutcomes {
      let tiny = try TinyTask(maximumTokens: maximumTokens, context: context)
      let suite = BaselineSuite(labels: labels, base: tiny.subject(), options: TaggingOptions(), shots: 8, seed: 1)
      return try #require(try suite.run([.shots], training: training, examples: examples, on: compute).first)
    }
    let (short, long) = (try outcomes(150, context: 1_500), try outcomes(600, context: 1_500))
    #expect(short.name == "few-shot prompt, 8 examples" && long.name == short.name)
    #expect(short.shots == long.shots && short.logProbabilities == long.logProbabilities)
    let tight = try outcomes(150, context: 400)
    let shots = try #require(tight.shots)
    #expect(shots.asked == 8 && (1..<8).contains(shots.examples) && shots.tokens <= 240 && shots.cutTexts == 0)
    #expect(tight.name == "few-shot prompt, \(shots.examples) of 8 examples")
  }

  @Test("sets have as many labels as training texts have on average")
  func sets() throws {
    let tiny = try TinyTask()
    var options = TaggingOptions()
    options.selection = .several(most: 3)
    let (training, examples) = split()
    let pairs = training.map {
      LabelledExample(path: $0.path, text: $0.text, labels: [$0.labels[0], $0.labels[0] == "food" ? "money" : "food"])
    }
    let suite = BaselineSuite(labels: labels, base: tiny.subject(), options: options, shots: 2, seed: 1)
    let words = try #require(try suite.run([.words], training: pairs, examples: examples, on: compute).first)
    #expect(words.tags?.allSatisfy { $0.count == 2 } == true)
    #expect(words.inclusion.count == examples.count)
  }
}

@Suite struct EvaluationStudyTests {
  private let labels = ["food", "money", "space", "sport"]
  private let compute = Compute(threads: 1)

  private func examples(_ range: Range<Int>) -> [LabelledExample] {
    topics(perLabel: range.upperBound).enumerated().filter { range.contains($0.offset % range.upperBound) }.map {
      LabelledExample(path: $0.element.label + $0.element.path, text: $0.element.text, labels: [$0.element.label])
    }
  }

  @Test("a study reports its runs, baselines and notes")
  func report() throws {
    let tiny = try TinyTask(maximumTokens: 300, instruction: "Choose one of: food, money, space, sport.")
    var titles: [String] = []
    var study = try EvaluationStudy(
      labels: labels, examples: examples(8..<10), training: examples(0..<8), options: TaggingOptions(), seed: 3, on: compute
    ) {
      if titles.last != $0.title { titles.append($0.title) }
      return true
    }
    study.add(try study.score(.init(.base, tiny.subject()), aloneTexts: 2))
    study.add(try study.score(.init(.model, tiny.subject("copy")), aloneTexts: 0))
    for run in try study.scoreBaselines([.majority, .words], shots: 4, base: tiny.subject()) { study.add(run) }
    try study.measureOrderBias([.init(.base, tiny.subject())], texts: 3)
    let report = study.report(split: "test", resamples: 200, keepsTexts: true)
    #expect(
      titles == [
        "evaluating base", "evaluating base, free answers", "evaluating copy", "order of labels, base",
      ])
    #expect(report.examples == 8)
    #expect(report.runs.map(\.name) == ["base", "copy"])
    #expect(report.baselines.map(\.metrics.accuracy) == [0.25, 1])
    #expect(report.runs[0].unparsableShare == 1)
    #expect(report.runs[0].contentLoss ?? 0 > 1)
    #expect(report.runs[0].latency != nil)
    #expect(report.runs[1].divergence == 0)
    #expect(report.runs[0].divergence == nil)
    #expect(report.runs[0].memoryBytes ?? 0 > 1 << 20)
    #expect(report.comparison("copy", "base")?.isIdentical == true)
    #expect(report.notes.contains { $0.kind == .orderBias && $0.count == 3 })
    #expect(report.notes.contains { $0.text == "'copy' and 'base' gave every label of every text the same probability." })
    #expect(report.runs[0].samples.allSatisfy { !$0.text.isEmpty })
    #expect(try EvaluationReport(json: report.json) == report)
  }

  @Test("what a few-shot prompt leaves out is noted")
  func fewShotNotes() throws {
    let tiny = try TinyTask(maximumTokens: 150, context: 400)
    let wordy = examples(8..<10).map {
      LabelledExample(path: $0.path, text: String(repeating: $0.text + " ", count: 20), labels: $0.labels)
    }
    var study = try EvaluationStudy(
      labels: labels, examples: wordy, training: examples(0..<8), options: TaggingOptions(), seed: 3, on: compute
    ) { _ in true }
    study.add(try study.score(.init(.base, tiny.subject()), aloneTexts: 0))
    for run in try study.scoreBaselines([.shots], shots: 8, base: tiny.subject()) { study.add(run) }
    let report = study.report(split: "test", resamples: 100, keepsTexts: false)
    let shots = try #require(report.baselines[0].shots)
    #expect(report.baselines[0].name == "few-shot prompt, \(shots.examples) of 8 examples")
    #expect(
      report.notes.contains {
        $0.text
          == "The few-shot prompt has \(shots.examples) of 8 examples: more do not fit into the model's context of 400 tokens."
      })
    // Texts of twenty repetitions do not fit behind them.
    #expect(shots.cutTexts == 8 && report.notes.contains { $0.text == "8 texts were cut to fit behind the few-shot prompt." })
    #expect(try EvaluationReport(json: report.json) == report)
  }

  @Test("a text that fails is left out of every run, with a note")
  func failures() throws {
    let plain = try TinyTask(maximumTokens: 320, instruction: "Choose one of: food, money, space, sport.")
    let odd = LabelledExample(path: "odd", text: "ZZ@@", labels: ["food"])
    func tokens(_ text: String) -> Set<Int32> { Set(plain.task.prompt(text, reserving: 0).tokens) }
    let others = examples(0..<3).reduce(into: Set(labels.flatMap { plain.task.tokens(ofLabel: $0) } + plain.task.opening)) {
      $0.formUnion(tokens($1.text))
    }
    let token = try #require(tokens(odd.text).subtracting(others).sorted().first)
    let damaged = try TinyTask(maximumTokens: 320, instruction: "Choose one of: food, money, space, sport.", damaging: token)
    var study = try EvaluationStudy(
      labels: labels, examples: [odd] + examples(0..<3), training: examples(3..<6), options: TaggingOptions(), seed: 0, on: compute
    ) { _ in true }
    study.add(try study.score(.init(.base, damaged.subject()), aloneTexts: 1))
    // Behind answered examples too, and under other orders of the labels, one text that fails costs no other its answer.
    for run in try study.scoreBaselines([.words, .shots], shots: 1, base: damaged.subject()) { study.add(run) }
    try study.measureOrderBias([.init(.base, damaged.subject())], texts: 13)
    let report = study.report(split: "test", resamples: 200, keepsTexts: false)
    #expect(report.examples == 12)
    #expect(report.runs[0].metrics.count == 12 && report.baselines[0].metrics.count == 12)
    #expect(report.baselines.map(\.name) == ["naive Bayes on words", "few-shot prompt, 1 example"])
    let note = try #require(report.notes.first { $0.kind == .failed })
    #expect(note.text.hasPrefix("1 of 13 texts could not be scored under 'base' and is left out, such as: "))
    #expect(report.runs[0].samples.isEmpty)
    #expect(report.notes.first { $0.kind == .orderBias }?.count == 12)
  }

  @Test func interruptedAndEmpty() throws {
    let tiny = try TinyTask()
    func study(_ examples: [LabelledExample]) throws -> EvaluationStudy {
      try EvaluationStudy(labels: labels, examples: examples, training: [], options: TaggingOptions(), seed: 0, on: compute) { $0.done < 3 }
    }
    #expect(throws: EvaluationError.noExamples) { _ = try study([]) }
    #expect(throws: EvaluationError.interrupted) {
      var study = try study(examples(0..<3))
      study.add(try study.score(.init(.base, tiny.subject()), aloneTexts: 0))
    }
  }
}

@Suite struct DataHygieneTests {
  private func example(_ text: String, _ label: String) -> LabelledExample { LabelledExample(path: text, text: text, labels: [label]) }

  @Test("what makes numbers doubtful is noted")
  func notes() {
    let many = (0..<20).map { example("text number \($0) about soup and its \($0 * 7) ingredients", "food") }
    let notes = DataHygiene.notes(
      examples: many + [
        example(" \n", "money"), example("the same words in both of them", "money"), example("The same words in both of them!", "money"),
      ],
      training: [example("x", "food")], labels: ["food", "money", "space"])
    #expect(notes.map(\.kind) == [.unseenLabels, .unseenLabels, .empty, .duplicates])
    #expect(notes[0].text == "No text to evaluate on has label 'space': its F1 is not known.")
    #expect(notes[1].text == "No training text has label 'money': nothing could learn it.")
    #expect(notes[2].text == "1 of the texts is empty.")
    #expect(notes[3].count == 1)
  }

  @Test func imbalance() {
    let some = (0..<30).map { example("one \($0) two \($0 + 1) three \($0 * 3)", "food") } + [example("another", "money")]
    let notes = DataHygiene.notes(examples: some, training: [], labels: ["food", "money"])
    #expect(notes.map(\.kind) == [.imbalance])
    #expect(notes[0].text.contains("30 texts to evaluate on, the rarest 1"))
    #expect(DataHygiene.notes(examples: [example("a b c", "x"), example("d e f", "y")], training: [], labels: ["x", "y"]).isEmpty)
  }
}
