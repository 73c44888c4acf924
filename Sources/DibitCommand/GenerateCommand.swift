internal import ArgumentParser
internal import DibitCheckpoint
internal import DibitConstraint
internal import DibitInference
internal import DibitJSON
internal import DibitJinja
internal import DibitModel
internal import DibitModelStore
internal import DibitTokenizer

struct GenerateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "generate",
    abstract: "Continue a prompt.",
    discussion: """
      Example: dibit generate ./model --raw --prompt "Once upon a time" --max-tokens 60

      The prompt is put into the model's chat template, if it has one; --raw leaves it as it is. Text appears as it is made, unless --no-stream \
      or --json is given.
      """)

  @Argument(help: "A model, converted or not: a directory or a file.") var model: String
  @Option(help: "An adapter of this model.") var adapter: String?
  @Option(help: "The text to continue; may be empty with --raw.") var prompt: String
  @Option(help: "The system message of the chat template.") var system: String?
  @Flag(help: "Do not use a chat template.") var raw = false
  @Option(help: ArgumentHelp("Answer with JSON that satisfies the JSON Schema in this file.", valueName: "file")) var schema: String?
  @Option(help: ArgumentHelp("Answer with one of these texts, separated by commas.", valueName: "a,b,...")) var choices: String?
  @OptionGroup var sampling: SamplingArguments
  @Option(help: "The most tokens to make.") var maxTokens = 256
  @Option(help: ArgumentHelp("End before this text; give the option again for more.", valueName: "text")) var stop: [String] = []
  @Flag(inversion: .prefixedNo, help: "Print text as it is made.") var stream = true
  @Flag(help: "Print the result as JSON.") var json = false
  @Option(help: ArgumentHelp("With --json: the log-probability of each token, and of the n most likely ones.", valueName: "n"))
  var logprobs: Int?
  @Flag(help: "With --logprobs: of the prompt's tokens too.") var promptLogprobs = false
  @OptionGroup var compute: RuntimeOptions

  func validate() throws {
    guard maxTokens >= 1 else { throw ValidationError("--max-tokens: expected at least 1, found \(maxTokens)") }
    guard schema == nil || choices == nil else { throw ValidationError("--choices: expected either it or --schema, found both") }
    guard stop.allSatisfy({ !$0.isEmpty }) else { throw ValidationError("--stop: expected some text, found none") }
    if let logprobs {
      guard (0...100).contains(logprobs) else { throw ValidationError("--logprobs: expected a number from 0 to 100, found \(logprobs)") }
      guard json else { throw ValidationError("--logprobs: log-probabilities are a part of --json, which is missing") }
    }
    guard logprobs != nil || !promptLogprobs else { throw ValidationError("--prompt-logprobs: expected --logprobs beside it") }
  }

  func run() throws {
    Interrupt.listen()
    let compute = try compute.makeCompute()
    let model = try StoredModel.open(model)
    let adapter = try adapter.map { try StoredAdapter.open($0, for: model) } ?? Adapter.none(for: model.weights)
    var session = Session(model.configuration, weights: model.weights, adapter: adapter, on: compute)
    let (tokens, isChat, endTokens) = try promptTokens(model)
    let constraint = try tokenConstraint(model.tokenizer, endTokens)
    var options = GenerationOptions()
    options.maximumTokens = maxTokens
    options.sampling = sampling.options
    options.stopTokens = endTokens
    options.stopStrings = stop
    (options.logProbabilities, options.scoresPrompt) = (logprobs, promptLogprobs)
    let streams = stream && !json
    if streams, !isChat { Output.print(prompt, terminator: "") }
    let (clock, start) = (ContinuousClock(), ContinuousClock.now)
    let result = try session.generate(tokens, tokenizer: model.tokenizer, options: options, constraint: constraint) { piece in
      if streams { Output.print(piece, terminator: "") }
      return !Interrupt.isRequested
    }
    if json {
      printJSON(report(result, prompt: tokens, model.tokenizer, seconds: (clock.now - start).inSeconds))
    } else {
      Output.print(streams ? "" : (isChat ? "" : prompt) + result.text)
    }
    if result.finishReason == .interrupted { throw Failure(.interrupted, "interrupted after \(counted(result.tokens.count, "token"))") }
  }

  /// What the answer must satisfy.
  private func tokenConstraint(_ tokenizer: Tokenizer, _ endTokens: Set<Int32>) throws -> TokenConstraint? {
    guard schema != nil || choices != nil else { return nil }
    let known = endTokens.filter { $0 >= 0 && Int($0) < tokenizer.vocabularyCount }
    let text = try schema.map { String(decoding: try readFile($0, limit: Self.schemaLimit), as: UTF8.self) }
    return try Failure.context(schema.map { "reading '\($0)'" } ?? "--choices") {
      let constraint: Constraint
      if let text {
        constraint = try Constraint(schema: text)
      } else {
        constraint = try Constraint(choices: (choices ?? "").split(separator: ",", omittingEmptySubsequences: false).map(String.init))
      }
      return try TokenConstraint(constraint, vocabulary: TokenVocabulary(tokenizer, endTokens: known))
    }
  }

  /// The most bytes of a schema.
  private static let schemaLimit = 1 << 20

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

extension GenerateCommand {
  /// The result for machines.
  private func report(_ result: Generation, prompt: [Int32], _ tokenizer: Tokenizer, seconds: Double) -> JSONValue {
    var members: [(key: String, value: JSONValue)] = [
      (key: "text", value: .string(result.text)), (key: "finish_reason", value: .string(result.finishReason.rawValue)),
      (key: "stop_string", value: result.stopString.map { .string($0) } ?? .null), (key: "prompt_tokens", value: .integer(prompt.count)),
      (key: "tokens", value: .array(result.tokens.map { .integer(Int($0)) })), (key: "seconds", value: .number(seconds)),
    ]
    if promptLogprobs {
      members.append((key: "prompt_logprobs", value: .array(result.promptLogProbabilities.map { $0.map { json($0, tokenizer) } ?? .null })))
    }
    if logprobs != nil { members.append((key: "logprobs", value: .array(result.logProbabilities.map { json($0, tokenizer) }))) }
    return .object(JSONObject(members))
  }

  private func json(_ scored: ScoredToken, _ tokenizer: Tokenizer) -> JSONValue {
    func members(_ one: ScoredToken) -> [(key: String, value: JSONValue)] {
      [
        (key: "id", value: .integer(Int(one.token))),
        (key: "text", value: .string(String(decoding: tokenizer.bytes(of: one.token), as: UTF8.self))),
        (key: "logprob", value: .number(one.logProbability)),
      ]
    }
    let top: JSONValue = .array(scored.alternatives.map { .object(JSONObject(members($0))) })
    return .object(JSONObject(members(scored) + (logprobs == 0 ? [] : [(key: "top", value: top)])))
  }
}
