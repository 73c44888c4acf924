internal import Dibit
internal import ArgumentParser
internal import DibitDataset
internal import DibitJSON
internal import DibitModel
internal import DibitModelStore

/// The labels and the prompt of an adapter of another tool, where its files do not say them.
struct AdapterTaskArguments: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "With --base: the labels that the adapter knows, separated by commas; 'dibit predict' needs them.", valueName: "list"))
  var labels: String?
  @Option(help: ArgumentHelp("With --labels: the words of the prompt before the text.", valueName: "text")) var instruction: String?
  @Option(help: ArgumentHelp("With --labels: the key of the answer.", valueName: "name")) var key: String?
  @Option(help: ArgumentHelp("With --labels: the whole prompt, with {instruction} and {text} in it.", valueName: "text"))
  var template: String?
  @Option(
    help: ArgumentHelp("With --labels: what prompts are put into, chat or plain; by default chat, if the model can.", valueName: "form"),
    transform: { try choice($0, "--prompt-form") })
  var promptForm: AdapterTraining.PromptForm?
  @Option(help: "With --labels: the most tokens of a text with its prompt and answer.") var maxTokens: Int?

  func validate() throws {
    let others = [
      ("instruction", instruction != nil), ("key", key != nil), ("template", template != nil), ("prompt-form", promptForm != nil),
      ("max-tokens", maxTokens != nil),
    ]
    if labels == nil, let other = others.first(where: \.1) {
      throw ValidationError("--\(other.0) says how labels are asked for: give --labels")
    }
    try checkRange("max-tokens", maxTokens, 8...(1 << 20))
    if template != nil, promptForm != nil { throw ValidationError("--prompt-form: expected either it or --template, found both") }
    guard let names = labels.map(Self.names) else { return }
    guard names.count > 1, !names.contains("") else {
      throw ValidationError("--labels: at least two names expected, separated by commas, found '\(labels ?? "")'")
    }
    for (index, name) in names.enumerated() where names[..<index].contains(where: { $0.utf8.elementsEqual(name.utf8) }) {
      throw ValidationError("--labels: each name once expected, '\(name)' found twice")
    }
  }

  private static func names(_ list: String) -> [String] {
    list.split(separator: ",", omittingEmptySubsequences: false).map { name in
      String(name.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
  }

  /// The members of a manifest; none where nothing was said.
  func members(for model: StoredModel) throws -> JSONObject {
    guard let labels = labels.map(Self.names) else { return JSONObject() }
    var task = TaggingTask()
    task.instruction = instruction ?? task.instruction
    task.key = key ?? task.key
    task.template = try template.map { try PromptTemplate($0) }
    task.maximumTokens = min(maxTokens ?? task.maximumTokens, model.configuration.contextLength)
    let prompts = try ModelPrompts(model)
    if task.template == nil { task.form = try prompts.form(promptForm) }
    // Nothing is known of the texts: no data has this digest.
    return AdapterDescription(
      labels: labels, task: task.listing(labels) { Terminal.write("note: \($0)\n") }, seed: 0, dataDigest: "",
      templateDigest: prompts.templateDigest(for: task)
    ).json
  }
}
