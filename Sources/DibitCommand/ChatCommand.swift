internal import ArgumentParser
internal import Dibit
internal import DibitFailure
internal import DibitFiles

struct ChatCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "chat",
    abstract: "Talk to a model, turn by turn.",
    discussion: """
      Example: dibit chat ./model --system "Answer in one sentence."
      Example: dibit chat ./model --messages so-far.json --save more.json < questions.txt
      Example: dibit chat ./model --tools tools.json

      In a terminal every line is a message; /help lists what else there is, Ctrl-C ends an answer, Ctrl-D the chat. From a pipe every line that \
      is not blank is a message, whatever it begins with, and the answers go to standard output. The prompt is the whole chat in the model's \
      own chat template or turns; what has been read of it is not read again.

      Tools are commands of this machine, which the model may call as you could: name only those that may run with any arguments.
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
  @Option(help: ArgumentHelp("Tools that the model may call: a JSON list of functions, each with a command.", valueName: "path"))
  var tools: String?
  @Option(
    help: ArgumentHelp("Answer with JSON that satisfies this JSON Schema: a file, or the schema itself.", valueName: "file or {...}"))
  var schema: String?
  @OptionGroup var sampling: SamplingArguments
  @Option(help: "The most tokens of an answer.") var maxTokens = 1024
  @Option(help: ArgumentHelp("End an answer before this text; give the option again for more.", valueName: "text")) var stop: [String] = []
  @Flag(help: "Print each answer as a JSON object on a line of its own.") var json = false
  @OptionGroup var compute: RuntimeOptions

  private var options: Response.Options { sampling.options(maxTokens, stop) }

  func validate() throws {
    try checkOptions(options.check)
    if schema != nil, !stop.isEmpty {
      throw ValidationError("--stop: expected either it or --schema, which ends the answer itself, found both")
    }
    if overwrite, save == nil { throw ValidationError("--overwrite: expected --save beside it") }
  }

  func run() throws {
    Interrupt.listen()
    let compute = try compute.makeCompute()
    let transcript = try messages.map { try TranscriptFile.readDialogue($0) } ?? []
    // A name that may not be written is found before the talk, not behind it.
    let inputs = JobInputs([self.model, adapter, self.tools])
    if let save { _ = try StagedFile(destination: save, replacing: overwrite ? TranscriptFile.mark : nil, inputs: inputs) }
    let tools = try self.tools.map { try CommandTools(reading: $0) } ?? CommandTools()
    var options = options
    if let schema = try schema.map({ try SchemaText($0, "--schema") }) {
      try schema.check()
      options.format = schema.format
    }
    let model = try OpenedModels.open(model)
    let opened = try adapter.map { try OpenedAdapter($0, of: model, on: compute) }
    var chat = try ChatSession(model, adapter: opened, messages: transcript, on: compute)
    if let system { chat.system = system }
    let isInteractive = StandardInput.isTerminal
    var talk = Talk(
      chat, options: options, tools: tools, isInteractive: isInteractive, json: json, save: save, replacesSaved: overwrite, inputs: inputs)
    if isInteractive { Terminal.write("\(self.model), a context of \(grouped(talk.context)) tokens; /help lists commands, Ctrl-D ends\n") }
    try talk.run()
  }
}
