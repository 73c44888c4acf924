import DibitBaselines
import DibitDataset
import DibitEvaluation
import DibitInference
import DibitKernels
import DibitModel
import DibitModelStore
import DibitTestSupport
import DibitTokenizer
import Glibc
import Testing

/// A tiny float model and the task that asks it.
struct TinyTask {
  let model: StoredModel
  let task: TokenizedTask
  /// Sums in another order: logits of order one of a float model.
  static let tolerance = 1e-4

  init(maximumTokens: Int = 160, instruction: String? = nil, damaging token: Int32? = nil, context: Int = 1_500, allowsNone: Bool = false)
    throws
  {
    var checkpoint = try TinyCheckpoint.llama(context: context)
    if let token { checkpoint["model.embed_tokens.weight"].values[Int(token) * 64] = .nan }
    let scratch = Scratch()
    model = try StoredModel.open(try checkpoint.write(to: scratch))
    var task = TaggingTask()
    task.maximumTokens = maximumTokens
    if let instruction { task.instruction = instruction }
    task.allowsNone = allowsNone
    self.task = TokenizedTask(task, tokenizer: model.tokenizer)
  }

  var measured: MeasuredModel { MeasuredModel(model.configuration, weights: model.weights) }

  func subject(_ name: String = "base", shots: [Int32] = [], words: WordHead? = nil) -> EvaluationSubject {
    EvaluationSubject(name: name, model: measured, task: task, shots: shots, words: words)
  }

  func session() -> Session {
    Session(model.configuration, weights: model.weights, adapter: .none(for: model.weights), on: compute)
  }

  /// Log-probabilities of labels token by token, without trie, cache or batch: every token behind a whole new prompt, among the tokens
  /// that some label has there behind the same beginning.
  func reference(_ text: String, _ labels: [String]) throws -> [Double] {
    let prompt = task.prompt(text, reserving: task.reserve(for: labels)).tokens + task.opening
    let ends = labels.map { task.tokens(ofLabel: $0) + task.closing.prefix(1) }
    var session = session()
    return try ends.map { end in
      var sum = 0.0
      for (depth, token) in end.enumerated() {
        session.rewind()
        try session.append(prompt + end[..<depth])
        let logits = session.lastLogits
        let rivals = Set(ends.filter { $0.count > depth && $0[..<depth] == end[..<depth] }.map { $0[depth] })
        sum += Double(logits[Int(token)]) - log(rivals.reduce(0) { $0 + exp(Double(logits[Int($1)])) })
      }
      return sum
    }
  }
}

private let compute = Compute(threads: 2)
private let labels = ["food", "foods", "money", "space", "sport"]
private let texts = topics(perLabel: 3).map(\.text) + ["", " \n", "a"]

@Suite struct BatchTaggerTests {
  private func close(_ a: [Double], _ b: [Double], _ tolerance: Double = TinyTask.tolerance) -> Bool {
    a.count == b.count && zip(a, b).allSatisfy { abs($0 - $1) <= tolerance }
  }

  @Test("batches say what each token says, one after the other")
  func oneByOne() throws {
    let tiny = try TinyTask()
    var options = TaggingOptions()
    options.rows = 100
    var batch = try BatchTagger(labels: labels, subject: tiny.subject(), options: options, on: compute)
    for (text, result) in zip(texts, batch.predict(texts)) {
      let (expected, scores) = (try tiny.reference(text, labels), try result.get())
      let best = expected.indices.max { expected[$0] < expected[$1] }
      #expect(close(scores.logProbabilities, expected))
      #expect(close(scores.inclusion, expected.map { exp($0) }))
      #expect(scores.chosen == [best])
      #expect(scores.ranking.first == best)
      #expect(scores.truncatedTokens == 0)
      #expect(scores.isEmpty == text.allSatisfy(\.isWhitespace))
      #expect(scores.tokens == tiny.task.prompt(text, reserving: 0).tokens.count + tiny.task.opening.count)
    }
  }

  /// The rule of several labels, written down step by step over one session.
  private func plainSeveral(_ text: String, most: Int, _ tiny: TinyTask) throws -> (inclusion: [Double], chosen: [Int]) {
    let task = tiny.task
    var session = tiny.session()
    /// Probabilities of these sequences when one of them must come behind the prompt and `written`.
    func probabilities(_ written: [Int32], _ sequences: [[Int32]]) throws -> [Double] {
      session.rewind()
      try session.append(task.prompt(text, reserving: 0).tokens + task.opening + written)
      return try session.score(try #require(ChoiceSet(sequences))).map { exp($0) }
    }
    let tokens = labels.map { task.tokens(ofLabel: $0) }
    var (written, chosen, missing): ([Int32], [Int], [Double]) = ([], [], labels.map { _ in 1 })
    var (reach, answer): (Double, Int?) = (1, nil)
    while true {
      let left = labels.indices.filter { !chosen.contains($0) }
      // Any label may end in a quotation mark that goes on or one that ends the answer.
      let both = left.flatMap { [tokens[$0] + task.separator, tokens[$0] + task.closing] }
      var sums: [Int: Double] = [:]
      if task.separator[0] == task.closing[0] {
        for (label, p) in zip(left, try probabilities(written, left.map { tokens[$0] + task.closing.prefix(1) })) { sums[label] = p }
      } else {
        // "food" begins "foods": both of its ends count. The others' ends tell nothing.
        let pairs = try probabilities(written, both)
        for (index, label) in left.enumerated() { sums[label] = pairs[2 * index] + pairs[2 * index + 1] }
      }
      for label in left { missing[label] *= 1 - reach * (sums[label] ?? 0) }
      let best = try #require(left.max { (sums[$0] ?? 0, $1) < (sums[$1] ?? 0, $0) })
      chosen.append(best)
      written += tokens[best]
      if chosen.count == min(most, labels.count) { break }
      let goesOn = try probabilities(written, [task.separator, task.closing])[0]
      reach *= goesOn
      if goesOn <= 0.5, answer == nil { answer = chosen.count }
      if reach < 0.05 { break }
      written += task.separator
    }
    return (missing.map { 1 - $0 }, Array(chosen.prefix(answer ?? chosen.count)))
  }

  @Test("where an answer may have no label, every label is as likely as it was, times a label at all", arguments: [2, 4])
  func none(most: Int) throws {
    let (plain, tiny) = (try TinyTask(maximumTokens: 300), try TinyTask(maximumTokens: 300, allowsNone: true))
    var options = TaggingOptions()
    (options.selection, options.rows) = (.several(most: most), 90)
    var batch = try BatchTagger(labels: labels, subject: tiny.subject(), options: options, on: compute)
    var first = try BatchTagger(labels: labels, subject: plain.subject(), options: TaggingOptions(), on: compute)
    let task = tiny.task
    #expect(task.opening.prefix(task.undecidedCount) == task.none.prefix(task.undecidedCount) && task.undecidedCount < task.opening.count)
    var session = tiny.session()
    for ((text, result), alone) in zip(zip(texts, batch.predict(texts)), first.predict(texts)) {
      let (scores, alone) = (try result.get(), try alone.get())
      // Which label is first does not depend on whether there is one.
      #expect(close(scores.logProbabilities, alone.logProbabilities) && scores.tokens == alone.tokens)
      session.rewind()
      let prompt = plain.task.prompt(text, reserving: 0).tokens
      try session.append(prompt + task.opening.prefix(task.undecidedCount))
      let sequences = [task.opening, task.none].map { Array($0.dropFirst(task.undecidedCount)) }
      let has = exp(try session.score(try #require(ChoiceSet(sequences)))[0])
      #expect(scores.inclusion.allSatisfy { $0 <= has + TinyTask.tolerance })
      if has < 0.05 { #expect(close(scores.inclusion, alone.inclusion.map { $0 * has })) }
      #expect(scores.chosen.isEmpty == (has <= 0.5) && scores.best == alone.best)
    }
    // One label at most is asked for without that question.
    var one = try BatchTagger(labels: labels, subject: tiny.subject(), options: TaggingOptions(), on: compute)
    #expect(try one.predict(["a"])[0].get() == first.predict(["a"])[0].get())
  }

  @Test("several labels, step by step", arguments: [1, 2, 3, 9])
  func several(most: Int) throws {
    let tiny = try TinyTask(maximumTokens: 300)
    var options = TaggingOptions()
    (options.selection, options.rows) = (.several(most: most), 90)
    var batch = try BatchTagger(labels: labels, subject: tiny.subject(), options: options, on: compute)
    var lengths: Set<Int> = []
    for (text, result) in zip(texts, batch.predict(texts)) {
      let scores = try result.get()
      let expected = try plainSeveral(text, most: most, tiny)
      #expect(close(scores.inclusion, expected.inclusion), "\(scores.inclusion) \(expected.inclusion)")
      #expect(scores.chosen == expected.chosen)
      #expect(scores.inclusion.allSatisfy { (0...1).contains($0) })
      #expect(Set(scores.chosen).count == scores.chosen.count)
      #expect(scores.labels(atLeast: 0).count == labels.count)
      #expect(scores.labels(atLeast: 1.1).isEmpty)
      lengths.insert(scores.chosen.count)
    }
    #expect(lengths.allSatisfy { (1...most).contains($0) })
  }

  @Test("calibration takes off what an empty text says")
  func calibration() throws {
    let tiny = try TinyTask()
    var plain = try BatchTagger(labels: labels, subject: tiny.subject(), on: compute)
    var options = TaggingOptions()
    options.calibrates = true
    var calibrated = try BatchTagger(labels: labels, subject: tiny.subject(), options: options, on: compute)
    let prior = try plain.predict([""])[0].get().logProbabilities
    let (before, after) = (plain.predict(texts), calibrated.predict(texts))
    let measured = calibrated.prior
    #expect(close(try #require(measured), prior))
    for (text, (a, b)) in zip(texts, zip(before, after)) {
      let (raw, scores) = (try a.get().logProbabilities, try b.get().logProbabilities)
      let shifted = zip(raw, prior).map { $0 - $1 }
      let normalizer = log(shifted.reduce(0) { $0 + exp($1) })
      #expect(close(scores, shifted.map { $0 - normalizer }, 2 * TinyTask.tolerance))
      if text.isEmpty { #expect(close(scores, labels.map { _ in -log(Double(labels.count)) }, 2 * TinyTask.tolerance)) }
    }
  }

  @Test("what long texts lose", arguments: TextShortening.allCases)
  func cuts(cut: TextShortening) throws {
    let tiny = try TinyTask()
    let words = (0..<120).map { "w\($0)" }.joined(separator: " ")
    let whole = tiny.task.prompt(words, reserving: -1_000).tokens
    let prompt = tiny.task.prompt(words, reserving: 20, cut: cut)
    #expect(prompt.tokens.count == 140)
    #expect(prompt.tokens.count + prompt.truncatedTokens == whole.count)
    let empty = tiny.task.prompt("", reserving: 0).tokens
    let head = zip(whole, empty).prefix { $0 == $1 }.count
    let tail = zip(whole.reversed(), empty.reversed()).prefix { $0 == $1 }.count
    #expect(prompt.tokens.prefix(head) == whole.prefix(head))
    #expect(prompt.tokens.suffix(tail) == whole.suffix(tail))
    let (text, all) = (prompt.tokens.dropFirst(head).dropLast(tail), whole.dropFirst(head).dropLast(tail))
    switch cut {
    case .tail: #expect(text.elementsEqual(all.prefix(text.count)))
    case .head: #expect(text.elementsEqual(all.suffix(text.count)))
    case .middle:
      #expect(text.prefix((text.count + 1) / 2).elementsEqual(all.prefix((text.count + 1) / 2)))
      #expect(text.suffix(text.count / 2).elementsEqual(all.suffix(text.count / 2)))
    }
    var options = TaggingOptions()
    options.cut = cut
    var tagger = try BatchTagger(labels: labels, subject: tiny.subject(), options: options, on: compute)
    let scores = try tagger.predict([words])[0].get()
    #expect(scores.truncatedTokens > 0)
    #expect(scores.tokens + tiny.task.reserve(for: labels) - tiny.task.opening.count == 160)
  }

  @Test("labels that no answer could tell apart are an error")
  func faults() throws {
    let tiny = try TinyTask()
    #expect(throws: EvaluationError.indistinguishableLabels(["a", "a"])) {
      _ = try BatchTagger(labels: ["a", "a"], subject: tiny.subject(), on: compute).labels
    }
    #expect(throws: EvaluationError.indistinguishableLabels([])) {
      _ = try BatchTagger(labels: [], subject: tiny.subject(), on: compute).labels
    }
    // The frame of the prompt alone is too long.
    let narrow = try TinyTask(maximumTokens: 8)
    var tagger = try BatchTagger(labels: labels, subject: narrow.subject(), on: compute)
    guard case .failure(.inference(.contextFull)) = tagger.predict(["a"])[0] else {
      Issue.record("a prompt that cannot fit has scores")
      return
    }
    var options = TaggingOptions()
    options.calibrates = true
    var calibrated = try BatchTagger(labels: labels, subject: narrow.subject(), options: options, on: compute)
    let results = calibrated.predict(["a", "b"])
    #expect(results.count == 2 && results.allSatisfy { if case .failure(.inference) = $0 { true } else { false } })
  }

  @Test("shots stand before every prompt and are run once")
  func shots() throws {
    let tiny = try TinyTask(maximumTokens: 1_200)
    let examples = topics(perLabel: 4).map { LabelledExample(path: $0.path, text: $0.text, labels: [$0.label]) }
    let shots = FewShotPrompt(examples, shots: 6, task: tiny.task, seed: 3)
    #expect(shots.examples.count == 6)
    let counts = Dictionary(grouping: shots.examples) { examples[$0].labels[0] }.mapValues(\.count)
    #expect(counts.count == 4 && counts.values.allSatisfy { (1...2).contains($0) })
    #expect(Set(shots.examples).count == 6)
    #expect(shots.tokens.count <= 720)
    #expect(FewShotPrompt(examples, shots: 6, task: tiny.task, seed: 3) == shots)
    #expect(FewShotPrompt(examples, shots: 6, task: tiny.task, seed: 4).examples != shots.examples)
    // Each is the prompt and the answer that training would see.
    let text = tiny.task.tokenizer.decode(shots.tokens, skippingSpecialTokens: false)
    for index in shots.examples { #expect(text.contains("{\"topics\":[\"\(examples[index].labels[0])\"]}")) }

    let subject = tiny.subject(shots: shots.tokens)
    var tagger = try BatchTagger(labels: labels, subject: subject, on: compute)
    let results = tagger.predict(["soup and bread", "a goal"])
    let statistics = tagger.statistics
    #expect(statistics.promptTokens - statistics.promptRows >= 2 * shots.tokens.count)
    var session = tiny.session()
    let beginning = ChatTemplate(tiny.task.tokenizer).prompt([], tokenizer: tiny.task.tokenizer).tokens
    try session.append(shots.tokens + tiny.task.prompt("a goal", reserving: 0).tokens.dropFirst(beginning.count) + tiny.task.opening)
    let set = try #require(ChoiceSet(labels.map { tiny.task.tokens(ofLabel: $0) + tiny.task.closing.prefix(1) }))
    #expect(close(try results[1].get().logProbabilities, try session.score(set)))

    // Fewer where they do not fit, one that is cut where none does, and none where no frame does.
    let few = FewShotPrompt(examples, shots: 6, task: try TinyTask(maximumTokens: 400).task, seed: 3)
    #expect((1..<6).contains(few.examples.count) && few.asked == 6 && few.truncated == 0)
    #expect(few.tokens.count <= 240)
    let long = [LabelledExample(path: "a", text: String(repeating: "soup and bread ", count: 40), labels: ["food"])]
    let cut = FewShotPrompt(long, shots: 6, task: try TinyTask(maximumTokens: 200).task, seed: 3)
    #expect(cut.examples == [0] && cut.truncated == 1 && cut.asked == 1 && (100...120).contains(cut.tokens.count))
    #expect(FewShotPrompt(examples, shots: 6, task: try TinyTask(maximumTokens: 20).task, seed: 3).tokens.isEmpty)
    #expect(FewShotPrompt([], shots: 6, task: tiny.task, seed: 3).examples.isEmpty)
    #expect(FewShotPrompt(examples, shots: 99, task: try TinyTask(maximumTokens: 5_000).task, seed: 3).examples.count == 16)
  }

  @Test("words have their share in answers of one label, also behind calibration, and none in answers of several")
  func words() throws {
    let tiny = try TinyTask()
    let learnt = topics(perLabel: 3).map { LabelledExample(path: $0.path, text: $0.text, labels: [$0.label]) }
    let words = WordHead(learning: learnt, labels: labels, share: 0.4, threads: 2)
    let soup = words.classifier.logProbabilities("soup")
    // A label without texts is unlikely, not impossible.
    #expect(soup.count == labels.count && soup.allSatisfy(\.isFinite))
    for calibrates in [false, true] {
      var options = TaggingOptions()
      options.calibrates = calibrates
      var alone = try BatchTagger(labels: labels, subject: tiny.subject(), options: options, on: compute)
      var both = try BatchTagger(labels: labels, subject: tiny.subject(words: words), options: options, on: compute)
      for (text, (a, b)) in zip(texts, zip(alone.predict(texts), both.predict(texts))) {
        let (a, b) = (try a.get(), try b.get())
        let counted = words.classifier.logProbabilities(text)
        let sums = labels.indices.map { 0.6 * a.logProbabilities[$0] + 0.4 * counted[$0] }
        let normalizer = log(sums.reduce(0) { $0 + exp($1) })
        #expect(close(b.logProbabilities, sums.map { $0 - normalizer }, 1e-9))
        #expect(close(b.inclusion, b.logProbabilities.map { exp($0) }, 1e-12))
        #expect(b.chosen == [b.best] && b.logProbabilities[b.best] == b.logProbabilities.max())
        #expect(b.tokens == a.tokens && b.isEmpty == a.isEmpty && b.truncatedTokens == a.truncatedTokens)
      }
      #expect(alone.prior == both.prior)
    }
    var several = TaggingOptions()
    several.selection = .several(most: 2)
    var alone = try BatchTagger(labels: labels, subject: tiny.subject(), options: several, on: compute)
    var both = try BatchTagger(labels: labels, subject: tiny.subject(words: words), options: several, on: compute)
    for (a, b) in zip(alone.predict(texts), both.predict(texts)) { #expect(try a.get() == b.get()) }
  }

  @Test func predictionJob() throws {
    let tiny = try TinyTask()
    var options = TaggingOptions()
    options.selection = .several(most: 3)
    var job = try PredictionJob(labels: labels, subject: tiny.subject(), options: options, threshold: 0.3, on: compute)
    var likeliest = try PredictionJob(labels: labels, subject: tiny.subject(), options: options, on: compute)
    let all = job.run(texts)
    for (index, (a, b)) in zip(all, likeliest.run(texts)).enumerated() {
      let (above, chosen) = (try a.get(), try b.get())
      #expect(above.index == index && above.scores == chosen.scores)
      #expect(above.label == labels[above.scores.best])
      #expect(above.tags == above.scores.labels(atLeast: 0.3).prefix(3).map { labels[$0] })
      #expect(chosen.tags == chosen.scores.chosen.map { labels[$0] })
    }
    // A stream is read as it is needed, and no longer than wanted.
    var (read, received) = (0, 0)
    let stream = sequence(state: 0) { state -> String? in
      state += 1
      read += 1
      return "text \(state)"
    }
    job.run(stream) { _, _ in
      received += 1
      return received < 5
    }
    #expect(received == 5)
    #expect(read < 60)
  }

  @Test("features of texts, alone or together")
  func features() throws {
    let tiny = try TinyTask()
    var features = TextFeatures(tiny.measured, tokenizer: tiny.task.tokenizer, maximumTokens: 40, on: compute)
    let rows = features.rows(texts)
    #expect(features.size == 64)
    for (text, row) in zip(texts, rows) where !text.isEmpty {
      var alone = TextFeatures(tiny.measured, tokenizer: tiny.task.tokenizer, maximumTokens: 40, on: compute)
      let (a, b) = (try row.get(), try alone.rows([text])[0].get())
      #expect(a.count == 64 && zip(a, b).allSatisfy { abs($0 - $1) <= 1e-3 })
    }
  }
}
