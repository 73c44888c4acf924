internal import ArgumentParser
internal import Dibit
internal import DibitConstraint
internal import DibitDataset
internal import DibitFailure
internal import DibitFiles
internal import DibitInference
internal import DibitJSON
internal import DibitModel
internal import DibitModelStore
internal import DibitTokenizer

struct GenerateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "generate",
    abstract: "Continue a prompt, or answer it.",
    discussion: """
      Example: dibit generate ./model --prompt "Name three rivers." --max-tokens 60
      Example: dibit generate ./model --raw --prompt-file story.txt
      Example: git diff | dibit generate ./model --system "Sum up this change."

      The prompt is put into the model's chat template, if it has one, or into the prompt that an adapter for tags was trained with; --raw \
      leaves it as it is. Text appears as it is made, unless --no-stream or --json is given. For more than one turn there is 'dibit chat'.
      """)

  @Argument(help: "A model, converted or not: a directory or a file.") var model: String
  @Option(help: "An adapter of this model.") var adapter: String?
  @OptionGroup var prompt: PromptArguments
  @Option(
    help: ArgumentHelp("Answer with JSON that satisfies this JSON Schema: a file, or the schema itself.", valueName: "file or {...}"))
  var schema: String?
  @Option(help: ArgumentHelp("Answer with one of these texts, separated by commas.", valueName: "a,b,...")) var choices: String?
  @OptionGroup var sampling: SamplingArguments
  @Option(help: "The most tokens to make.") var maxTokens = 256
  @Option(
    help: ArgumentHelp("End before this text; give the option again for more. Goes without --schema and --choices.", valueName: "text"))
  var stop: [String] = []
  @Flag(inversion: .prefixedNo, help: "Print text as it is made.") var stream = true
  @Flag(help: "Print the result as JSON.") var json = false
  @Option(help: ArgumentHelp("With --json: the log-probability of each token, and of the n most likely ones.", valueName: "n"))
  var logprobs: Int?
  @Flag(help: "With --logprobs: of the prompt's tokens too.") var promptLogprobs = false
  @OptionGroup var compute: RuntimeOptions

  private var answer: Response.Options { sampling.options(maxTokens, stop) }

  func validate() throws {
    try checkOptions(answer.check)
    guard schema == nil || choices == nil else { throw ValidationError("--choices: expected either it or --schema, found both") }
    if let choices, Self.list(choices).contains("") {
      throw ValidationError("--choices: expected texts between the commas, found none\(choices.isEmpty ? "" : " in '\(choices)'")")
    }
    // What is cut off is no longer of the form that was asked for.
    if !stop.isEmpty, let form = schema != nil ? "--schema" : choices != nil ? "--choices" : nil {
      throw ValidationError("--stop: expected either it or \(form), which ends the answer itself, found both")
    }
    if let logprobs {
      guard (0...100).contains(logprobs) else { throw ValidationError("--logprobs: expected a number from 0 to 100, found \(logprobs)") }
      guard json else { throw ValidationError("--logprobs: log-probabilities are a part of --json, which is missing") }
    }
    guard logprobs != nil || !promptLogprobs else { throw ValidationError("--prompt-logprobs: expected --logprobs beside it") }
    guard schema?.isEmpty != true else { throw ValidationError("--schema: expected a file or a schema, found nothing") }
  }

  func run() throws {
    Interrupt.listen()
    let compute = try compute.makeCompute()
    let asking = try prompt.read()
    let model = try OpenedModels.open(model)
    let opened = try adapter.map { try OpenedAdapter($0, of: model, on: compute) }
    let tagger = opened?.tagger
    if tagger != nil, let option = prompt.chatOption {
      throw Failure(.usage, "\(option): the adapter tags texts and has an instruction of its own; use 'dibit generate' without it")
    }
    let asked = try ModelPrompt(asking, adapter: tagger, model: model)
    if asked.truncatedTokens > 0, let most = tagger?.description.task.maximumTokens {
      Terminal.note(
        "the text lost its last \(counted(asked.truncatedTokens, "token")), to fit the \(grouped(most)) that the adapter learnt with"
      )
    }
    if asked.answer != nil, !stop.isEmpty {
      throw Failure(.usage, "--stop: the adapter tags texts and ends its answer itself; leave it out, or pass --raw")
    }
    let constraint = try tokenConstraint(asked, model.tokenizer)
    var session = Session(model.configuration, weights: model.weights, adapter: opened?.loaded, on: compute)
    var options = try answer.engineOptions(stopTokens: asked.endTokens)
    (options.logProbabilities, options.scoresPrompt) = (logprobs, promptLogprobs)
    let available = session.context - asked.tokens.count
    if available >= 0, available < maxTokens {
      Terminal.note(
        "only \(grouped(available)) of the \(grouped(maxTokens)) tokens of --max-tokens fit behind the prompt in the model's context of \(grouped(session.context))"
      )
    }
    var progress = GenerationProgress()
    var isRead = true
    let result = try generate(&session, asked, model.tokenizer, options, constraint, &progress, &isRead)
    progress.finish()
    guard isRead else { return }
    if json {
      printJSON(report(result, prompt: asked.tokens, model.tokenizer, progress))
    } else {
      Output.print(stream ? "" : asked.shown + result.text)
      progress.showSpeed(read: asked.tokens.count, made: result.tokens.count)
    }
    if result.finishReason == .interrupted { throw Failure(.interrupted, "interrupted after \(counted(result.tokens.count, "token"))") }
  }

  /// Generates the model's text; it ends early, and `isRead` becomes false, when nobody reads it any more.
  private func generate(
    _ session: inout Session, _ asked: ModelPrompt, _ tokenizer: Tokenizer, _ options: GenerationOptions,
    _ constraint: TokenConstraint?, _ progress: inout GenerationProgress, _ isRead: inout Bool
  ) throws -> Generation {
    let streams = stream && !json
    do throws(InferenceError) {
      return try session.generate(
        asked.tokens, tokenizer: tokenizer, options: options, constraint: constraint,
        receive: { piece in
          if streams, !Output.write(piece) { isRead = false }
          return isRead && !Interrupt.isRequested
        },
        reading: { done in
          progress.read(done, of: asked.tokens.count)
          // What is continued stands before what comes, and behind the progress.
          if streams, done == asked.tokens.count, !Output.write(asked.shown) { isRead = false }
          return isRead && !Interrupt.isRequested
        })
    } catch {
      guard case .constraintNeedsTokens(let needed, let available) = error else { throw error }
      let advice = available < maxTokens ? "shorten the prompt" : "pass --max-tokens \(needed) or more"
      throw Failure(
        .badData, "an answer of the form that was asked for may take \(needed) tokens, and only \(available) may come: \(advice)")
    }
  }

  /// Returns the constraint that the answer must satisfy.
  private func tokenConstraint(_ asked: ModelPrompt, _ tokenizer: Tokenizer) throws -> TokenConstraint? {
    guard schema != nil || choices != nil || asked.answer != nil else { return nil }
    let schema = try schema.map { try SchemaText($0, "--schema") }
    return try Failure.context(schema?.origin ?? (choices == nil ? "the adapter's labels" : "--choices")) {
      let format = schema?.format ?? choices.map { .choices(Self.list($0)) } ?? .text
      return try TokenConstraint(format, otherwise: asked.answer, endTokens: asked.endTokens, tokenizer)
    }
  }

  private static func list(_ choices: String) -> [String] {
    choices.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
  }
}

extension GenerateCommand {
  /// The result for machines.
  private func report(_ result: Generation, prompt: [Int32], _ tokenizer: Tokenizer, _ progress: GenerationProgress) -> JSONValue {
    var members: [(key: String, value: JSONValue)] = [
      (key: "text", value: .string(result.text)), (key: "finish_reason", value: .string(result.finishReason.rawValue)),
      (key: "stop_string", value: result.stopString.map { .string($0) } ?? .null), (key: "prompt_tokens", value: .integer(prompt.count)),
      (key: "tokens", value: .array(result.tokens.map { .integer(Int($0)) })),
      (key: "prompt_seconds", value: .number(progress.readingSeconds)), (key: "seconds", value: .number(progress.seconds)),
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
