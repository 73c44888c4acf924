internal import DibitDataset
package import DibitEvaluation
internal import DibitInference
package import DibitKernels
internal import DibitModel
package import DibitModelStore
internal import DibitTokenizer

/// A text with its labels.
public struct TaggedText: Equatable, Sendable {
  /// The text's number among those that were given, from 0.
  public let index: Int
  /// The most likely label.
  public let label: String
  /// The labels that were asked for: the likeliest answer's, or all that are likely enough; the likeliest first. See ``TagOptions``.
  public let tags: [String]
  /// The probability of each label, from 0 to 1, to be the answer, or where answers may have several labels to be among them; in the
  /// order of the labels.
  public let probabilities: [Double]
  /// Tokens of the text that were cut off to fit.
  public let truncatedTokens: Int
}

/// Options for tagging texts. The defaults are those of the command line.
///
/// ```swift
/// var options = TagOptions()
/// options.threshold = 0.3
/// ```
public struct TagOptions: Equatable, Sendable {
  /// The part that a text loses that is too long.
  public enum Cut: String, Equatable, Sendable, CaseIterable {
    /// Its end.
    case tail
    /// Its beginning.
    case head
    /// Its middle.
    case middle
  }

  /// The probability, from 0 to 1, from which on a label is a tag, so that there may be none; nil takes the labels of the likeliest answer.
  public var threshold: Double?
  /// The most tags of a text; more than 1 for adapters that learnt several. Nil for one, and with a ``threshold`` for any number.
  public var mostTags: Int?
  /// The part that a text loses that is too long.
  public var cut = Cut.tail

  /// One tag, of the likeliest label.
  ///
  /// ```swift
  /// let options = TagOptions()
  /// ```
  public init() {}

  func check() throws(DibitError) {
    if let threshold, !(0...1).contains(threshold) {
      throw DibitError(.invalidArgument, option: "threshold", "expected a number from 0 to 1, found \(threshold)")
    }
    if let mostTags, mostTags < 1 { throw DibitError(.invalidArgument, option: "mostTags", "expected at least 1, found \(mostTags)") }
  }
}

extension Adapter {
  /// Tags texts with the labels that the adapter learnt. The job tells each text's tags as they come, in order; its value is all of them.
  ///
  /// The answers do not depend on how many texts there are, nor on threads.
  ///
  /// ```swift
  /// for try await tagged in adapter.tag(letters) { print(letters[tagged.index], tagged.label) }
  /// ```
  ///
  /// - Parameters:
  ///   - texts: The texts. One that is too long is cut.
  ///   - options: How many tags, how likely, and what is cut.
  /// - Returns: The job. It fails with ``DibitError`` for an adapter without ``labels``.
  public func tag(_ texts: [String], options: TagOptions = TagOptions()) -> Job<TaggedText, [TaggedText]> {
    Job(on: model.worker) { report in
      let (description, task) = try opened.tagging()
      return try model.tag(texts, labels: description.labels, task: task, adapter: self, options, report)
    }
  }
}

extension Model {
  /// Tags texts with labels that the model has not learnt, by asking it: as good as the model's understanding of the instruction, which a
  /// trained adapter mostly beats by far.
  ///
  /// ```swift
  /// let tagged = try await model.tag(["The striker scored twice."], labels: ["sport", "politics"]).value
  /// ```
  ///
  /// - Parameters:
  ///   - texts: The texts. One that is too long is cut.
  ///   - labels: What is chosen among.
  ///   - instruction: What the model is told to do; `{labels}` stands for the labels. Nil for "Tag the text with its topic."
  ///   - options: How many tags, how likely, and what is cut.
  /// - Returns: The job, as of ``Adapter/tag(_:options:)``.
  public func tag(
    _ texts: [String], labels: [String], instruction: String? = nil, options: TagOptions = TagOptions()
  ) -> Job<TaggedText, [TaggedText]> {
    Job(on: worker) { [stored] report in
      var task = TaggingTask()
      task.instruction = instruction ?? task.instruction
      let prompts = try ModelPrompts(stored)
      task.form = try prompts.form(nil)
      task.maximumTokens = min(task.maximumTokens, stored.configuration.contextLength)
      return try tag(texts, labels: labels, task: prompts.tokenized(task.listing(labels)), adapter: nil, options, report)
    }
  }

  fileprivate func tag(
    _ texts: [String], labels: [String], task: TokenizedTask, adapter: Adapter?, _ options: TagOptions,
    _ report: Job<TaggedText, [TaggedText]>.Reporter
  ) throws -> [TaggedText] {
    try options.check()
    let subject = EvaluationSubject(
      name: adapter?.path ?? "base", model: measured(adapter), task: task, words: adapter?.opened.words)
    var job = try PredictionJob(labels: labels, subject: subject, options, on: runtime.compute(for: .scoring))
    var (results, fault): ([TaggedText], PredictionFault?) = ([], nil)
    job.run(TextInput.inMemory(texts)) { prediction in
      switch prediction.result {
      case .failure(let error): fault = error
      case .success(let result):
        let tagged = TaggedText(
          index: result.index, label: result.label, tags: result.tags, probabilities: result.scores.inclusion,
          truncatedTokens: result.scores.truncatedTokens)
        results.append(tagged)
        return report(tagged)
      }
      return false
    }
    if let fault { throw fault }
    guard results.count == texts.count else { throw DibitError.cancelled }
    return results
  }
}

extension TextInput {
  /// Texts that come from no file, in order.
  static func inMemory(_ texts: [String]) -> some Sequence<TextInput> {
    texts.enumerated().lazy.map { TextInput(location: TextLocation(file: "", line: $0.offset + 1), content: .success($0.element)) }
  }
}

extension PredictionJob {
  /// A job that tags with an adapter of `model`, as its training taught it.
  package init(adapter: OpenedAdapter, of model: StoredModel, _ options: TagOptions, on compute: Compute) throws {
    let (description, task) = try adapter.tagging()
    let subject = EvaluationSubject(
      name: adapter.path, model: MeasuredModel(model.configuration, weights: model.weights, adapter: adapter.loaded), task: task,
      words: adapter.words)
    try self.init(labels: description.labels, subject: subject, options, on: compute)
  }

  /// A job that tags as ``TagOptions`` say.
  package init(labels: [String], subject: EvaluationSubject, _ tags: TagOptions, on compute: Compute) throws(EvaluationError) {
    var options = TaggingOptions()
    options.cut = tags.cut.shortening
    if let most = tags.mostTags, most > 1 { options.selection = .several(most: min(most, labels.count)) }
    try self.init(labels: labels, subject: subject, options: options, threshold: tags.threshold, most: tags.mostTags, on: compute)
  }
}

extension TagOptions.Cut {
  var shortening: TextShortening {
    switch self {
    case .tail: .tail
    case .head: .head
    case .middle: .middle
    }
  }
}
