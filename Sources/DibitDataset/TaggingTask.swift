/// The task of turning a labelled text into a prompt and an answer: the same for training, evaluation and prediction.
///
/// The answer is compact JSON with one key, `{"topics":["sport"]}`. Its parts are tokenised one by one, so that a label has the same
/// tokens wherever it stands.
package struct TaggingTask: Equatable, Sendable {
  /// The instruction to the model; where it says ``labelsPlaceholder``, see ``listing(_:)``.
  package var instruction = "Tag the text with its topic."
  /// The key of the answer.
  package var key = "topics"
  /// The most tokens of a prompt and its answer together; longer texts lose their end.
  package var maximumTokens = 512
  /// The form into which the prompt is put, unless ``template`` says how it is written; nil for turns where the vocabulary has tokens for
  /// them, and lines where it has none.
  package var form: PromptForm?
  /// The template by which the prompt is written; nil for ``form``.
  package var template: PromptTemplate?
  /// The weight of a learnt token of the JSON around the labels, where a token of a label counts 1; from 0, where the labels alone are
  /// learnt.
  package var scaffoldingWeight: Float = 1

  /// True where an answer may have no label: `{"topics":[]}`.
  package var allowsNone = false

  /// The task that `dibit train` uses when nothing else is said.
  package init() {}

  /// The placeholder of the labels in an instruction.
  package static let labelsPlaceholder = "{labels}"

  /// The task with the labels named where its instruction says so, separated by commas.
  package func listing(_ labels: [String]) -> TaggingTask {
    var task = self
    task.instruction = instruction.replacing(Self.labelsPlaceholder, with: Self.list(labels))
    return task
  }

  /// The task before ``listing(_:)``; nil where its instruction does not name the labels in this order.
  package func unlisting(_ labels: [String]) -> TaggingTask? {
    let list = Self.list(labels)
    guard labels.count > 1, instruction.contains(list) else { return nil }
    var task = self
    task.instruction = instruction.replacing(list, with: Self.labelsPlaceholder)
    return task
  }

  private static func list(_ labels: [String]) -> String { labels.joined(separator: ", ") }
}

/// The form into which an instruction and a text are put; the raw values are those of manifests.
package enum PromptForm: String, Equatable, Sendable {
  /// The chat template that lies beside the model.
  case chat
  /// Turns between tokens that the vocabulary has for them.
  case turns
  /// A line each.
  case plain
}
