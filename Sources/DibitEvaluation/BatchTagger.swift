internal import DibitDataset
package import DibitInference
package import DibitKernels
internal import DibitTensor
internal import DibitTokenizer

/// Scores the labels of many texts, packed into passes: see ``BatchScorer``.
package struct BatchTagger: ~Copyable {
  /// The labels that the tagger chooses among.
  package let labels: [String]
  /// The options with which texts are scored.
  package let options: TaggingOptions
  /// Log-probabilities of the labels behind an empty text, once they have been measured.
  package private(set) var prior: [Double]?
  private var subject: EvaluationSubject
  private let choices: LabelChoices
  private let reserve: Int
  private let growth: Int
  private var commonStart: [Int32]
  private var scorer: BatchScorer

  /// A tagger of `subject`.
  ///
  /// - Throws: ``EvaluationError/indistinguishableLabels`` when two labels have the same tokens.
  package init(
    labels: [String], subject: EvaluationSubject, options: TaggingOptions = TaggingOptions(), on compute: Compute
  ) throws(EvaluationError) {
    self.labels = labels
    self.subject = subject
    self.options = options
    let several = options.selection != .one
    let task = subject.task
    choices = try LabelChoices(labels, task, several: several)
    // Room for the longest answer.
    let lengths = labels.map { task.tokens(ofLabel: $0).count }.sorted(by: >).prefix(options.selection.most)
    let answer = several ? lengths.reduce(0, +) + lengths.count * task.separator.count : 0
    growth = answer + (choices.beginnings == nil ? 0 : task.opening.count - task.undecidedCount)
    reserve = several ? max(task.opening.count + answer + task.closing.count, task.none.count) : task.reserve(for: labels)
    commonStart = subject.commonStart(cut: options.cut)
    scorer = BatchScorer(
      subject.model, sets: [choices.labels] + [choices.endings, choices.beginnings].compactMap(\.self),
      context: subject.task.task.maximumTokens,
      rows: options.rows, on: compute)
  }

  /// The work of the scorer so far.
  package var statistics: BatchScorer.Statistics { scorer.statistics }

  /// Goes on with another subject of the same model and the same prompt: another adapter, or none.
  package mutating func use(_ next: EvaluationSubject) {
    require(next.task.task == subject.task.task, "BatchTagger.use: another task")
    subject = next
    prior = nil
    commonStart = next.commonStart(cut: options.cut)
    scorer.use(next.model.adapter)
  }

  /// The scores of all texts, in order. A text that cannot be scored has an error and stops no other.
  package mutating func predict(_ texts: [String]) -> [Result<TextScores, EvaluationError>] {
    var results = [Result<TextScores, EvaluationError>](repeating: .failure(.interrupted), count: texts.count)
    predict(texts) { index, result in
      results[index] = result
      return true
    }
    return results
  }

  /// Scores texts as they come; `receive` is told the number of a text and its scores, in any order, and stops by returning false. A few
  /// dozen texts are under way at a time.
  package mutating func predict(
    _ texts: some Sequence<String>, receive: (_ index: Int, _ result: Result<TextScores, EvaluationError>) -> Bool
  ) {
    if options.calibrates, prior == nil {
      // An empty text takes nothing off itself.
      var found: Result<TextScores, EvaluationError>?
      run([""], prior: nil, words: nil) { _, result in
        found = result
        return true
      }
      switch found {
      case .success(let scores): prior = scores.logProbabilities
      case .failure(let error):
        // Without the prior no score is what was asked for.
        for (index, _) in texts.enumerated() { guard receive(index, .failure(error)) else { return } }
        return
      case nil: return
      }
    }
    // What words say of an answer's second label, nobody has learnt.
    run(texts, prior: prior, words: options.selection == .one ? subject.words : nil, receive: receive)
  }

  private mutating func run(
    _ texts: some Sequence<String>, prior: [Double]?, words: WordHead?, receive: (Int, Result<TextScores, EvaluationError>) -> Bool
  ) {
    var iterator = texts.makeIterator()
    var open: [Int: (text: String, progress: TagProgress)] = [:]
    var count = 0
    let (subject, choices, options, reserve) = (subject, choices, options, reserve)
    scorer.run(sharing: commonStart, growth: growth) {
      guard let text = iterator.next() else { return nil }
      let prompt = subject.prompt(text, reserving: reserve, cut: options.cut)
      let mayBeNone = choices.beginnings != nil
      let task = subject.task
      let tokens = prompt.tokens + (mayBeNone ? Array(task.opening.prefix(task.undecidedCount)) : task.opening)
      let progress = TagProgress(
        labels: labels.count, tokens: prompt.tokens.count + task.opening.count, truncatedTokens: prompt.truncatedTokens,
        isEmpty: text.allSatisfy(\.isWhitespace), mayBeNone: mayBeNone)
      open[count] = (words == nil ? "" : text, progress)
      count += 1
      return BatchScorer.Query(tokens, set: mayBeNone ? 2 : 0)
    } receive: { index, result in
      guard let (text, begun) = open.removeValue(forKey: index) else { return .end }
      var progress = begun
      switch result {
      case .failure(let error): return receive(index, .failure(.inference(error))) ? .end : .stop
      case .success(let scores):
        if let next = progress.advance(scores, choices, subject.task, most: options.selection.most, prior: prior) {
          open[index] = (text, progress)
          return .query(next)
        }
        let scores = words.map { progress.scores.pooled(with: $0, text) } ?? progress.scores
        return receive(index, .success(scores)) ? .end : .stop
      }
    }
  }
}
