package import DibitDataset
package import DibitKernels
package import DibitReport
internal import DibitBaselines
internal import DibitInference
internal import DibitModel
internal import DibitTokenizer
internal import Glibc

/// A cheap classifier that an adapter must beat.
package enum BaselineKind: String, Equatable, Sendable, CaseIterable {
  /// The most frequent label of the training texts.
  case majority
  /// Naive Bayes on words.
  case words
  /// Logistic regression on words, pairs of words and runs of letters, by TF-IDF.
  case tfidf
  /// The nearest mean of the base model's frozen embeddings.
  case centroid
  /// Logistic regression on those embeddings.
  case logistic
  /// The base model, asked with some answered examples before each text.
  case shots

  /// The name of the baseline in a report.
  package var name: String {
    switch self {
    case .majority: "most frequent label"
    case .words: "naive Bayes on words"
    case .tfidf: "logistic regression on words"
    case .centroid: "nearest centroid of embeddings"
    case .logistic: "logistic regression on embeddings"
    case .shots: "few-shot prompt"
    }
  }

  /// True where it runs the model over texts.
  package var runsModel: Bool { ![.majority, .words, .tfidf].contains(self) }
}

/// Trains baselines on labelled texts and runs them over others.
package struct BaselineSuite: Sendable {
  /// The labels, in the order of every index.
  package let labels: [String]
  /// The base model, without an adapter and as it is asked.
  package let base: EvaluationSubject
  /// The options with which texts are scored.
  package let options: TaggingOptions
  /// The most examples in a few-shot prompt, which takes as many as the model's context holds.
  package let shots: Int
  /// The seed of the draw of those examples.
  package let seed: UInt64
  private let truths: Truths

  /// Baselines beside a base model.
  package init(labels: [String], base: EvaluationSubject, options: TaggingOptions, shots: Int, seed: UInt64) {
    (self.labels, self.base, self.options, self.shots, self.seed) = (labels, base, options, shots, seed)
    truths = Truths(labels)
  }

  /// The progress of baselines.
  package struct Progress: Equatable, Sendable {
    /// The name of the baseline that runs.
    package let name: String
    /// Texts that went through the model.
    package let done: Int
    /// Texts that will.
    package let total: Int
  }

  /// The outcomes of some kinds, trained on `training` (texts whose labels are not known are left out), for each of `examples`.
  ///
  /// A text that carries several labels counts once for each of them. Where answers are sets, the likeliest labels are given, as many as a
  /// training text has on average. A text that has no embedding, or cannot be run behind a few-shot prompt, gets the labels' frequencies. Kinds
  /// that cannot be had are left out: all where there is nothing to learn from, few-shot prompts where no example fits.
  ///
  /// - Parameter progress: stops by returning false.
  /// - Throws: ``EvaluationError/interrupted``.
  package func run(
    _ kinds: [BaselineKind], training: [LabelledExample], examples: [LabelledExample], on compute: Compute,
    progress: (Progress) -> Bool = { _ in true }
  ) throws(EvaluationError) -> [RunOutcomes] {
    let training = training.filter { !truths.known($0).isEmpty }
    guard !training.isEmpty, !examples.isEmpty else { return [] }
    let task = LearningTask(training, examples, truths)
    var embeddings: Embeddings?
    var found: [RunOutcomes] = []
    for kind in kinds {
      if kind == .shots {
        if let outcomes = try fewShot(task, compute, progress) { found.append(outcomes) }
        continue
      }
      // Its settings are chosen by many fits; the others that run no model are done at once.
      if kind == .tfidf, !progress(Progress(name: kind.name, done: 0, total: task.training.count)) { throw .interrupted }
      if kind.runsModel, embeddings == nil { embeddings = try embed(task, compute, progress) }
      let clock = ContinuousClock()
      let start = clock.now
      let rows = probabilities(kind, task, embeddings, compute)
      let seconds = start.duration(to: clock.now) / .seconds(1) + (kind.runsModel ? embeddings?.seconds ?? 0 : 0)
      var outcomes = RunOutcomes(name: kind.name, kind: .baseline, logProbabilities: rows, seconds: seconds)
      if options.selection != .one {
        let count = min(task.labelsOfText, options.selection.most)
        outcomes.tags = rows.map { row in Set(row.indices.sorted { (row[$0], $1) > (row[$1], $0) }.prefix(count)) }
        outcomes.inclusion = rows.map { $0.map { exp($0) } }
      }
      found.append(outcomes)
    }
    return found
  }

  /// The examples that are learnt from and those that are asked.
  private struct LearningTask {
    let training: [LabelledExample]
    let examples: [LabelledExample]
    /// Every label of every training text.
    let pairs: [(text: Int, label: Int)]

    init(_ training: [LabelledExample], _ examples: [LabelledExample], _ truths: Truths) {
      (self.training, self.examples) = (training, examples)
      pairs = training.indices.flatMap { index in truths.known(training[index]).map { (text: index, label: $0) } }
    }

    /// The mean number of labels of a training text, rounded.
    var labelsOfText: Int { max(1, Int((Double(pairs.count) / Double(training.count)).rounded())) }
  }

  /// The base model's vectors of all texts, those to learn from first; nil for a text that has none.
  private struct Embeddings {
    var rows: [[Float]?] = []
    var seconds = 0.0
  }

  private func embed(_ task: LearningTask, _ compute: Compute, _ progress: (Progress) -> Bool) throws(EvaluationError) -> Embeddings {
    let clock = ContinuousClock()
    let start = clock.now
    var features = TextFeatures(
      base.model, tokenizer: base.task.tokenizer, maximumTokens: base.task.task.maximumTokens, cut: options.cut, on: compute)
    let texts = task.training.map(\.text) + task.examples.map(\.text)
    var embeddings = Embeddings()
    for first in stride(from: 0, to: texts.count, by: 64) {
      embeddings.rows += features.rows(Array(texts[first..<min(first + 64, texts.count)])).map { try? $0.get() }
      guard progress(Progress(name: "embeddings", done: embeddings.rows.count, total: texts.count)) else { throw .interrupted }
    }
    embeddings.seconds = start.duration(to: clock.now) / .seconds(1)
    return embeddings
  }

  /// A row of log-probabilities for each example.
  private func probabilities(_ kind: BaselineKind, _ task: LearningTask, _ embeddings: Embeddings?, _ compute: Compute) -> [[Double]] {
    let labels = task.pairs.map(\.label)
    let prior = MajorityClass(labels: labels, count: self.labels.count)
    if kind == .words || kind == .tfidf {
      let texts = task.pairs.map { task.training[$0.text].text }
      let classifier: any TextBaseline =
        kind == .words
        ? NaiveBayes.tuned(texts: texts, labels: labels, count: self.labels.count)
        : TermRegression.tuned(texts: texts, labels: labels, count: self.labels.count, threads: compute.threads)
      return task.examples.map { classifier.logProbabilities($0.text) }
    }
    let known = task.pairs.filter { embeddings?.rows[$0.text] != nil }
    guard kind != .majority, let embeddings, !known.isEmpty else { return task.examples.map { prior.logProbabilities($0.text) } }
    let inputs = known.compactMap { embeddings.rows[$0.text] }
    let classifier: any FeatureBaseline =
      kind == .centroid
      ? NearestCentroid(features: inputs, labels: known.map(\.label), count: self.labels.count)
      : LogisticRegression(features: inputs, labels: known.map(\.label), count: self.labels.count)
    return task.examples.indices.map { index in
      embeddings.rows[task.training.count + index].map { classifier.logProbabilities($0) }
        ?? prior.logProbabilities(task.examples[index].text)
    }
  }

  private func fewShot(_ task: LearningTask, _ compute: Compute, _ progress: (Progress) -> Bool) throws(EvaluationError) -> RunOutcomes? {
    // What an adapter reads of a text does not bind the model that it is compared with.
    var whole = base.task.task
    whole.maximumTokens = base.model.configuration.contextLength
    let asked = base.task.replacing(whole)
    let prompt = FewShotPrompt(task.training, shots: shots, task: asked, seed: seed)
    guard !prompt.examples.isEmpty else { return nil }
    let context = whole.maximumTokens
    // No more working memory than the longest text takes, with its answer.
    let longest = task.examples.reduce(0) { max($0, asked.prompt($1.text, reserving: 0).tokens.count) }
    whole.maximumTokens = min(context, prompt.tokens.count + longest + options.selection.most * asked.reserve(for: labels))
    let count = prompt.examples.count
    let examples = count < prompt.asked ? "\(count) of \(prompt.asked) examples" : count == 1 ? "1 example" : "\(count) examples"
    let subject = EvaluationSubject(
      name: "\(BaselineKind.shots.name), \(examples)", model: base.model,
      task: base.task.replacing(whole), shots: prompt.tokens)
    let records = try Evaluator.run([subject], labels: labels, examples: task.examples, options: options, on: compute) { report in
      progress(Progress(name: report.name, done: report.done, total: report.total))
    }[0]
    guard records.failures < task.examples.count else { return nil }
    // One text that does not fit behind the examples costs no other its answer.
    var outcomes = records.outcomes(.baseline, answersSets: options.selection != .one)
    outcomes.shots = ReportedRun.Shots(
      asked: prompt.asked, examples: count, cutExamples: prompt.truncated, tokens: prompt.tokens.count, context: context,
      cutTexts: records.truncated)
    let prior = MajorityClass(labels: task.pairs.map(\.label), count: labels.count)
    for (index, record) in records.records.enumerated() where record.scores == nil {
      outcomes.logProbabilities[index] = prior.logProbabilities("")
      if outcomes.tags != nil { outcomes.inclusion[index] = outcomes.logProbabilities[index].map { exp($0) } }
    }
    return outcomes
  }
}
