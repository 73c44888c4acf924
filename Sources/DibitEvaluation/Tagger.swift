public import DibitDataset
public import DibitInference
internal import DibitTokenizer

/// Chooses a label for a text by running the prompt and scoring every label behind it.
public struct Tagger: ~Copyable {
  /// What the tagger chooses among.
  public let labels: [String]
  private let task: TokenizedTask
  private let choices: ChoiceSet
  private let reserve: Int
  private var session: Session

  /// One text's result.
  public struct Prediction: Equatable, Sendable {
    /// Log-probabilities of the labels in nats; they sum to one as probabilities.
    public let scores: [Double]
    /// Tokens of the text that were cut off to fit.
    public let truncatedTokens: Int

    /// The most likely label; the first wins a tie.
    public var best: Int { scores.indices.max { scores[$0] < scores[$1] } ?? 0 }
  }

  /// A tagger over `session`, which it takes over.
  ///
  /// - Throws: ``EvaluationError/indistinguishableLabels`` when two labels have the same tokens.
  public init(labels: [String], task: TokenizedTask, session: consuming Session) throws(EvaluationError) {
    // The token behind a label ends it, so that a label may begin with another.
    let sequences = labels.map { task.tokens(ofLabel: $0) + task.closing.prefix(1) }
    guard let choices = ChoiceSet(sequences) else { throw .indistinguishableLabels(labels) }
    self.labels = labels
    self.task = task
    self.choices = choices
    self.session = session
    reserve = task.reserve(for: labels)
  }

  /// Scores the labels for `text`.
  public mutating func predict(_ text: String) throws(EvaluationError) -> Prediction {
    let prompt = task.prompt(text, reserving: reserve)
    session.rewind()
    do throws(InferenceError) {
      try session.append(prompt.tokens + task.opening)
      return Prediction(scores: try session.score(choices), truncatedTokens: prompt.truncatedTokens)
    } catch { throw .inference(error) }
  }
}

/// Why an evaluation cannot be done.
public enum EvaluationError: Error, Equatable, Sendable, CustomStringConvertible {
  case noExamples
  case unknownLabels([String], known: Int)
  case indistinguishableLabels([String])
  case inference(InferenceError)
  case constraint(String)
  case noLabelList
  case interrupted

  /// One sentence: what, what was expected and found.
  public var description: String {
    switch self {
    case .noExamples: "there is no example to evaluate"
    case .unknownLabels(let labels, let known):
      "the data has labels that the adapter was not trained on: \(labels.prefix(5).joined(separator: ", ")) (it knows \(known))"
    case .indistinguishableLabels(let labels):
      "two of the labels have the same tokens or none: \(labels.prefix(10).joined(separator: ", "))"
    case .inference(let error): "\(error)"
    case .constraint(let reason): "answers of this form cannot be guided: \(reason)"
    case .noLabelList: "the instruction does not list the labels: '\(LabelOrderBias.placeholder)' expected in it, none found"
    case .interrupted: "interrupted"
    }
  }
}
