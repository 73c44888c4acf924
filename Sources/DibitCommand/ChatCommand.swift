internal import Dibit
internal import ArgumentParser
internal import DibitFailure
internal import DibitFiles
internal import DibitInference
internal import DibitModel
internal import DibitModelStore
internal import DibitTokenizer

struct ChatCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "chat",
    abstract: "Talk to a model, turn by turn.",
    discussion: """
      Example: dibit chat ./model --system "Answer in one sentence."
      Example: dibit chat ./model --messages so-far.json --save more.json < questions.txt

      In a terminal every line is a message; /help lists what else there is, Ctrl-C ends an answer, Ctrl-D the chat. From a pipe every line that \
      is not blank is a message, whatever it begins with, and the answers go to standard output. The prompt is the whole chat in the model's \
      own chat template or turns; what has been read of it is not read again.
      """)

  @Argument(help: "A model, converted or not: a directory or a file.") var model: String
  @Option(help: "An adapter of this model that learnt from conversations.") var adapter: String?
  @Option(help: ArgumentHelp("The system message.", valueName: "text")) var system: String?
  @Option(
    help: ArgumentHelp(
      "A chat to go on with: JSON, a list of {\"role\", \"content\"} or one of them on each line. A last message of the user is answered first.",
      valueName: "path"))
  var messages: String?
  @Option(help: ArgumentHelp("Keep the chat in this file after every answer, for --messages.", valueName: "path")) var save: String?
  @Flag(help: "Replace an existing file of --save.") var overwrite = false
  @OptionGroup var sampling: SamplingArguments
  @Option(help: "The most tokens of an answer.") var maxTokens = 1024
  @Option(help: ArgumentHelp("End an answer before this text; give the option again for more.", valueName: "text")) var stop: [String] = []
  @Flag(help: "Print each answer as a JSON object on a line of its own.") var json = false
  @OptionGroup var compute: RuntimeOptions

  func validate() throws {
    guard maxTokens >= 1 else { throw ValidationError("--max-tokens: expected at least 1, found \(maxTokens)") }
    guard stop.allSatisfy({ !$0.isEmpty }) else { throw ValidationError("--stop: expected some text, found none") }
    if overwrite, save == nil { throw ValidationError("--overwrite: expected --save beside it") }
  }

  func run() throws {
    Interrupt.listen()
    let compute = try compute.makeCompute()
    var transcript = try messages.map { try TranscriptFile.read($0) } ?? []
    if let system {
      if transcript.first?.role == .system { transcript.removeFirst() }
      transcript.insert(ChatMessage(role: .system, content: system), at: 0)
    }
    // A name that may not be written is found before the talk, not behind it.
    let inputs = JobInputs([self.model, adapter])
    if let save { _ = try StagedFile(destination: save, replacing: overwrite ? TranscriptFile.mark : nil, inputs: inputs) }
    let model = try OpenedModels.open(model)
    let format = try model.chatFormat()
    guard format.tellsRoles else { throw StoredModel.noChat(self.model) }
    if let adapter, try AdapterDescription.ofTagger(adapter) != nil {
      throw Failure(
        .badData, "the adapter '\(adapter)' was trained to tag texts, not to talk: use it with 'dibit predict' or 'dibit generate'")
    }
    let loaded = try adapter.map { try StoredAdapter.open($0, for: model, on: compute) } ?? Adapter.none(for: model.weights)
    var options = GenerationOptions()
    options.maximumTokens = maxTokens
    options.sampling = sampling.options
    options.stopStrings = stop
    let session = Session(model.configuration, weights: model.weights, adapter: loaded, on: compute)
    let isInteractive = StandardInput.isTerminal
    var talk = Talk(
      ChatSession(session, format: format, messages: transcript), options: options, isInteractive: isInteractive, json: json, save: save,
      replacesSaved: overwrite, inputs: inputs)
    if isInteractive { Terminal.write("\(self.model), a context of \(grouped(talk.context)) tokens; /help lists commands, Ctrl-D ends\n") }
    try talk.run()
  }
}
