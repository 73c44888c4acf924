internal import ArgumentParser
internal import DibitCheckpoint
internal import DibitInference
internal import DibitJinja
internal import DibitModel
internal import DibitModelStore
internal import DibitTokenizer
internal import Glibc

struct GenerateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "generate",
    abstract: "Continue a prompt.",
    discussion: """
      Example: dibit generate ./model --raw --prompt "Once upon a time" --max-tokens 60

      The prompt is put into the model's chat template, if it has one; --raw leaves it as it is. Text appears as it is made.
      """)

  @Argument(help: "A model, converted or not: a directory or a file.") var model: String
  @Option(help: "An adapter of this model.") var adapter: String?
  @Option(help: "The text to continue; may be empty with --raw.") var prompt: String
  @Option(help: "The system message of the chat template.") var system: String?
  @Flag(help: "Do not use a chat template.") var raw = false
  @Option(help: "The most tokens to make.") var maxTokens = 256
  @Option(help: "0 takes the most likely token; higher is more random.") var temperature = 0.0
  @Option(help: "Choose among the k most likely tokens; 0 for all.") var topK = 0
  @Option(help: "Choose among the most likely tokens that reach this probability together.") var topP = 1.0
  @Option(help: "The seed of the choice.") var seed: UInt64 = 0
  @OptionGroup var compute: ComputeOptions

  func validate() throws {
    guard maxTokens >= 1 else { throw ValidationError("--max-tokens: expected at least 1, found \(maxTokens)") }
    guard (0...100).contains(temperature) else {
      throw ValidationError("--temperature: expected a number from 0 to 100, found \(temperature)")
    }
    guard topK >= 0 else { throw ValidationError("--top-k: expected 0 or more, found \(topK)") }
    guard topP > 0, topP <= 1 else { throw ValidationError("--top-p: expected a number above 0 and up to 1, found \(topP)") }
  }

  func run() throws {
    Interrupt.listen()
    let compute = try compute.makeCompute()
    let model = try StoredModel.open(model)
    let adapter = try adapter.map { try StoredAdapter.open($0, for: model) } ?? Adapter.none(for: model.weights)
    var session = Session(model.configuration, weights: model.weights, adapter: adapter, on: compute)
    let (tokens, isChat, endTokens) = try promptTokens(model)
    var options = GenerationOptions()
    options.maximumTokens = maxTokens
    options.sampling.temperature = Float(temperature)
    options.sampling.topK = topK
    options.sampling.topP = Float(topP)
    options.sampling.seed = seed
    options.stopTokens = endTokens
    if !isChat { print(prompt, terminator: "") }
    let result = try session.generate(tokens, tokenizer: model.tokenizer, options: options) { piece in
      print(piece, terminator: "")
      fflush(nil)
      return !Interrupt.isRequested
    }
    print()
    if result.finishReason == .interrupted { throw Failure(.interrupted, "interrupted after \(result.tokens.count) tokens") }
  }

  /// The date for templates that ask for it.
  private static var today: JinjaClock? {
    LocalTime.now.flatMap { JinjaClock(year: $0.year, month: $0.month, day: $0.day, hour: $0.hour, minute: $0.minute, second: $0.second) }
  }

  /// The prompt in the model's own template, in the turns of its vocabulary, or as it is; and the tokens that end the answer.
  private func promptTokens(_ model: StoredModel) throws -> (tokens: [Int32], isChat: Bool, endTokens: Set<Int32>) {
    let tokenizer = model.tokenizer
    let template = ChatTemplate(tokenizer)
    let chat = try ChatSource.open(model.path)
    let endTokens = Set(template.stopTokens(tokenizer) + chat.endTokens.compactMap { tokenizer.id(of: $0) })
    if raw { return (tokenizer.encode(prompt, parsingSpecialTokens: false), false, endTokens) }
    // A template writes the start of the text itself.
    if template.style == .plain, let text = try chat.prompt(system: system, user: prompt, today: Self.today) {
      return (tokenizer.encode(text, addingSpecialTokens: false), true, endTokens)
    }
    guard template.style == .turns else { return (tokenizer.encode(prompt, parsingSpecialTokens: false), false, endTokens) }
    return (template.prompt(system: system, user: prompt, tokenizer: tokenizer).tokens, true, endTokens)
  }
}
