internal import DibitFailure

/// The reason for which something could not be done: a kind to decide by, and a sentence for people.
///
/// ```swift
/// do {
///   let model = try await Model(at: "model")
/// } catch {
///   if error.kind == .missing { print("convert a checkpoint first: \(error)") }
/// }
/// ```
public struct DibitError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kinds of failure. More may come: end a `switch` over them with `default`.
  public enum Kind: String, Equatable, Sendable, CaseIterable {
    /// A file or directory that is not there.
    case missing
    /// An input that is damaged, of another kind, or does not fit the others.
    case invalidData
    /// A value that the caller chose and that cannot be.
    case invalidArgument
    /// An output that is in the way, or may not be created there.
    case cannotCreate
    /// The system could not read or write.
    case inputOutput
    /// A training whose loss is no number any more, or far above what it was.
    case diverged
    /// The task was cancelled, or the ``Job`` was.
    case cancelled
    /// Something that should not happen.
    case unexpected
  }

  /// The kind of the failure.
  public let kind: Kind
  /// The option that the sentence is about, by its name in this library; nil for none.
  package let option: String?
  /// The sentence that says what could not be done, what was expected and what was found.
  package let sentence: String
  /// The advice on what can be done about it; nil where the sentence says all.
  package let advice: Advice?
  /// The numbers behind it, for those who decide by them; nil where there are none.
  package private(set) var detail: Detail?

  /// A failure; the option stands before the sentence, the advice behind it.
  package init(_ kind: Kind, option: String? = nil, _ sentence: String, _ advice: Advice? = nil, detail: Detail? = nil) {
    (self.kind, self.option, self.sentence, self.advice, self.detail) = (kind, option, sentence, advice, detail)
  }

  /// The reasons for which a text cannot be made.
  package enum Detail: Equatable, Sendable {
    /// A prompt of so many tokens, which the model's context does not hold.
    case contextFull(tokens: Int, context: Int)
    /// An answer of its form may take so many tokens, and fewer may come.
    case answerNeeds(tokens: Int, available: Int)
    /// No answer of the form can be made.
    case form
  }

  /// One sentence for people: what could not be done, what was expected and found, and what to do about it. It names paths and values, and
  /// never holds a prompt or a text.
  ///
  /// ```swift
  /// log.error("\(error.message)")
  /// ```
  public var message: String { Self.words(for: (option.map { optionName($0) + ": " } ?? "") + sentence + (advice?.words ?? "")) }

  /// The sentence with options in quotes, under their names here.
  static func words(for sentence: String) -> String { namingOptions(in: sentence) { "'\(names[$0] ?? $0)'" } }

  /// Options that engines call otherwise.
  private static let names = ["maxTokens": "maximumTokens", "tags": "mostTags", "overwrite": "overwrites", "resume": "resumes"]

  /// The ``message``.
  public var description: String { message }

  /// The end that a cancelled job comes to.
  package static let cancelled = DibitError(.cancelled, "cancelled")
}

extension DibitError {
  /// Refuses a run of no steps; none asked for is no fault.
  static func check(steps: Int?) throws(DibitError) {
    guard let steps, steps < 1 else { return }
    throw DibitError(.invalidArgument, option: "steps", "expected at least 1, found \(steps)")
  }

  /// Refuses to begin anew and to go on at the same time.
  static func check(overwrites: Bool, resumes: Bool) throws(DibitError) {
    guard overwrites, resumes else { return }
    throw DibitError(.invalidArgument, option: "resumes", "expected either it or \(optionName("overwrites")), found both")
  }

  /// Refuses the value of an option outside of `range`; none is no fault.
  static func check<Number: Comparable>(_ option: String, _ value: Number?, _ range: ClosedRange<Number>) throws(DibitError) {
    guard let value, !range.contains(value) else { return }
    throw DibitError(.invalidArgument, option: option, "expected a number from \(range.lowerBound) to \(range.upperBound), found \(value)")
  }

  /// Advice on what can be done about a failure. The words are the library's; the command line has its own for each.
  package enum Advice: Equatable, Sendable, CaseIterable {
    /// Prompts that need no chat template.
    case plainPrompts
    /// The use of an adapter without labels.
    case generateInstead
    /// The use of an adapter that tags.
    case tagInstead
    /// An adapter of another tool does not say its labels.
    case nameLabels
    /// A text can be continued without a chat template.
    case continueTexts
    /// Training goes on with the adapter's own shape.
    case ownShape
    /// Another split has texts.
    case otherSplit
    /// Texts that were trained on can be left out, or evaluated all the same.
    case leaveOutLeakage
    /// All texts were trained on.
    case nothingHeldOut
    /// A folder would keep the parts that are done.
    case keepParts
    /// The job goes on behind the parts that are done.
    case resumeParts

    var words: String {
      switch self {
      case .plainPrompts: "; prompts of plain lines go without"
      case .generateInstead: ": generate with it"
      case .tagInstead: ": tag or generate with it"
      case .nameLabels: ": name them where the adapter is converted, or generate with it"
      case .continueTexts: ": continue texts with it"
      case .otherSplit: ": name another one, or leave it out"
      case .leaveOutLeakage: ": leave them out, or allow them"
      case .nothingHeldOut: "; none is left to evaluate: give texts that were held out"
      case .keepParts: "; a folder keeps them"
      case .resumeParts: "; the same job goes on behind them"
      case .ownShape: "; leave it out of the options, or begin with a new adapter"
      }
    }
  }
}
