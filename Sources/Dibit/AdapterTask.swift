internal import DibitDataset
internal import DibitFailure
internal import DibitJSON
internal import DibitModel
internal import DibitModelStore

/// The task that an adapter of another tool learnt, where its files do not say it: its labels, and the prompt that they are asked with.
///
/// ```swift
/// let adapter = try await model.importAdapter("their-adapter", to: "adapter", task: AdapterTask(labels: ["good", "bad"]))
/// ```
public struct AdapterTask: Equatable, Sendable {
  /// The labels that it chooses among, two or more.
  public var labels: [String]
  /// The words of the prompt before the text; `{labels}` stands for the labels. Nil for "Tag the text with its topic."
  public var instruction: String?
  /// The key of the answer; nil for the usual one.
  public var key: String?
  /// The whole prompt, with `{instruction}` and `{text}` in it; nil for a ``promptForm``.
  public var template: String?
  /// The form that prompts are put into; a chat where nobody says and the model can.
  public var promptForm: AdapterTraining.PromptForm?
  /// The most tokens of a text with its prompt and answer; 512 where nobody says, and never more than the model's context.
  public var maximumTokens: Int?

  /// A task with these labels, asked as adapters are that Dibit trains.
  ///
  /// ```swift
  /// let task = AdapterTask(labels: ["good", "bad"])
  /// ```
  ///
  /// - Parameters:
  ///   - labels: The labels that the adapter chooses among.
  public init(labels: [String]) { self.labels = labels }

  /// Refuses what no adapter can be asked.
  package func check() throws(DibitError) {
    try DibitError.check("maximumTokens", maximumTokens, AdapterTraining.Options.textLengths)
    if template != nil, promptForm != nil {
      throw DibitError(.invalidArgument, option: "promptForm", "expected either it or \(optionName("template")), found both")
    }
    guard labels.count > 1, !labels.contains("") else {
      throw DibitError(
        .invalidArgument, option: "labels",
        "at least two names expected, separated by commas, found '\(labels.joined(separator: ","))'")
    }
    for (index, name) in labels.enumerated() where labels[..<index].contains(where: { $0.utf8.elementsEqual(name.utf8) }) {
      throw DibitError(.invalidArgument, option: "labels", "each name once expected, '\(name)' found twice")
    }
  }

  /// Returns the members of a manifest.
  func members(for model: StoredModel, note: (String) -> Void) throws -> JSONObject {
    var task = TaggingTask()
    task.instruction = instruction ?? task.instruction
    task.key = key ?? task.key
    task.template = try template.map { try PromptTemplate($0) }
    task.maximumTokens = min(maximumTokens ?? task.maximumTokens, model.configuration.contextLength)
    let prompts = try ModelPrompts(model)
    if task.template == nil { task.form = try prompts.form(promptForm) }
    // Nothing is known of the texts: no data has this digest.
    return AdapterDescription(
      labels: labels, task: task.listing(labels, note: note), seed: 0, dataDigest: "", templateDigest: prompts.templateDigest(for: task)
    ).json
  }
}
