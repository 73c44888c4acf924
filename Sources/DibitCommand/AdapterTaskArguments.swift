internal import ArgumentParser
internal import Dibit

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
    try checkOptions { () throws(DibitError) in try task?.check() }
  }

  /// The same for the library; nil where no labels were given.
  var task: AdapterTask? {
    guard let labels else { return nil }
    var task = AdapterTask(labels: Self.names(labels))
    (task.instruction, task.key, task.template) = (instruction, key, template)
    (task.promptForm, task.maximumTokens) = (promptForm, maxTokens)
    return task
  }

  private static func names(_ list: String) -> [String] {
    list.split(separator: ",", omittingEmptySubsequences: false).map { name in
      String(name.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
  }
}
