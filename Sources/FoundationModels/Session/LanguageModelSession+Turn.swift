internal import Dibit
internal import DibitJSON
internal import Foundation
internal import Synchronization

extension LanguageModelSession {
  /// Rounds of tools in one turn; behind the last the model must answer.
  static let roundLimit = 8

  /// Answers a prompt.
  func turn(_ request: Request) async throws -> RawResponse {
    let turn = try begin(request)
    return try await run(turn, request, id: GenerationID()) { _ in }
  }

  /// Begins to answer a prompt; what goes wrong shows in the stream.
  func stream(_ request: Request) -> StreamedTurn {
    let id = GenerationID()
    let turn = Result { try begin(request) }
    return StreamedTurn(
      id: id, isText: request.form.schema == nil,
      abandon: { [self] in if case .success(let turn) = turn { rollBack(turn) } },
      { [self] receive in try await run(turn.get(), request, id: id, receive) })
  }

  // MARK: Beginning and end

  private func begin(_ request: Request) throws -> Turn {
    try request.check()
    guard state.withLock({ $0.turn == nil }) else { throw Self.isBusy }
    return try change { state in
      guard state.turn == nil else { throw Self.isBusy }
      state.turns += 1
      let turn = Turn(number: state.turns, first: state.transcript.count)
      state.turn = turn
      state.transcript.entries.append(.prompt(request.entry))
      return turn
    }
  }

  private static var isBusy: GenerationError {
    .concurrentRequests(.init(debugDescription: "a session answers one request at a time, and one is being answered"))
  }

  /// Adds entries to a turn; fails where it was abandoned.
  private func append(_ entries: [Transcript.Entry], to turn: Turn) throws {
    try change { state in
      guard state.turn == turn else { throw CancellationError() }
      state.transcript.entries += entries
    }
  }

  private func end(_ turn: Turn, usage: Usage) throws -> ArraySlice<Transcript.Entry> {
    try change { state in
      guard state.turn == turn else { throw CancellationError() }
      state.turn = nil
      state.usage.add(usage)
      return state.transcript.entries[turn.first...]
    }
  }

  /// The entries of a turn that goes on; none where it is over.
  private func entries(of turn: Turn) -> ArraySlice<Transcript.Entry> {
    state.withLock { $0.turn == turn ? $0.transcript.entries[turn.first...] : [] }
  }

  /// Ends a turn, if it goes on, and takes it back unless what failed is to stay.
  func rollBack(_ turn: Turn) {
    guard state.withLock({ $0.turn == turn }) else { return }
    change { state in
      guard state.turn == turn else { return }
      state.turn = nil
      guard state.errorHandling?.isPreserving != true else { return }
      state.rolledBack += state.transcript.entries[turn.first...]
      state.transcript.entries.removeSubrange(turn.first...)
    }
  }

  // MARK: Rounds

  private func run(
    _ turn: Turn, _ request: Request, id: GenerationID, _ receive: @Sendable (StreamedTurn.Piece) -> Void
  ) async throws -> RawResponse {
    do {
      return try await trace.measure(
        .turn, { [("form", .string(request.form.name)), ("response_tokens", .integer($0.usage.output.totalTokenCount))] }
      ) { try await rounds(turn, request, id: id, receive) }
    } catch {
      rollBack(turn)
      if let error = error as? DibitError { throw GenerationError.error(for: error) }
      throw error
    }
  }

  private func rounds(
    _ turn: Turn, _ asked: Request, id: GenerationID, _ receive: @Sendable (StreamedTurn.Piece) -> Void
  ) async throws -> RawResponse {
    let (form, options) = (asked.form, asked.options)
    try Task.checkCancellation()
    let denied = model.denied(in: form)
    try denied?.check(state.withLock { $0.transcript.last.map { Array([$0]) } ?? [] })
    let dialogue = try await dialogue()
    var usage = Usage()
    var made: [ToolCall] = []
    for round in 0... {
      var request = try request(behind: Array(state.withLock(\.transcript)))
      try request.options = options.engineOptions(form, context: dialogue.model.facts.contextLength)
      request.made = made
      request.toolUse = round < Self.roundLimit ? options.toolUse(isFirst: round == 0) : .disallowed
      let step = try await trace.measure(.step, Self.members) {
        try await self.step(dialogue.step(request), denied, usage, entries(of: turn), receive)
      }
      usage.add(Usage(step.counts))
      guard !step.calls.isEmpty else {
        let content = try content(step.text, form, id: id)
        let segment: Transcript.Segment =
          form.schema == nil
          ? .text(Transcript.TextSegment(content: step.text))
          : .structure(Transcript.StructuredSegment(source: form.name, content: content))
        try append([.response(Transcript.Response(assetIDs: [model.assetID], segments: [segment]))], to: turn)
        return RawResponse(text: step.text, content: content, entries: try end(turn, usage: usage), usage: usage)
      }
      made += step.calls
      let calls = try step.calls.map { call in
        Transcript.ToolCall(id: call.id, toolName: call.name, arguments: try GeneratedContent(json: call.arguments.serialized()))
      }
      try append([.toolCalls(Transcript.ToolCalls(calls))], to: turn)
      try append(await ToolRunner(tools: tools, trace: trace).run(calls).map { .toolOutput($0) }, to: turn)
    }
    throw CancellationError()
  }

  /// The members of a step in a trace.
  private static func members(_ step: DialogueStep) -> [(key: String, value: JSONValue)] {
    [
      ("prompt_tokens", .integer(step.counts.prompt)), ("read_tokens", .integer(step.counts.read)),
      ("made_tokens", .integer(step.counts.made)),
      ("first_seconds", .number(step.firstSeconds)), ("calls", .integer(step.calls.count)), ("end", .string(step.end.rawValue)),
    ]
  }

  private func step(
    _ job: Job<DialoguePiece, DialogueStep>, _ denied: DenyList?, _ before: Usage, _ entries: ArraySlice<Transcript.Entry>,
    _ receive: @Sendable (StreamedTurn.Piece) -> Void
  ) async throws -> DialogueStep {
    var text = ""
    for try await piece in job {
      guard case .text(let words, let counts) = piece else {
        text = ""
        receive(.restart)
        continue
      }
      text += words
      try denied?.check(text, isWhole: false)
      var usage = before
      usage.add(Usage(counts))
      receive(.text(words, usage, entries))
    }
    let step = try await job.value
    try denied?.check(step.text)
    return step
  }

  private func content(_ text: String, _ form: AnswerForm, id: GenerationID) throws -> GeneratedContent {
    do { return try form.content(text, id: id) } catch let error as GenerationError { throw error } catch {
      throw GenerationError.decodingFailure(.init(debugDescription: "\(error.localizedDescription) The model made: \(text)"))
    }
  }
}

extension GenerationOptions {
  /// The options as the runtime takes them.
  func engineOptions(_ form: LanguageModelSession.AnswerForm, context: Int) throws -> Response.Options {
    var options = Response.Options(maximumTokens: maximumResponseTokens ?? context)
    let seed: UInt64?
    switch sampling?.kind {
    case .greedy?: (options.temperature, seed) = (0, nil)
    case .randomTopK(let count, let given)?: (options.temperature, options.topK, seed) = (temperature ?? 1, count, given)
    case .randomProbabilityThreshold(let share, let given)?: (options.temperature, options.topP, seed) = (temperature ?? 1, share, given)
    case nil: (options.temperature, seed) = (temperature ?? 0, nil)
    }
    options.seed = seed ?? UInt64.random(in: .min ... .max)
    if let schema = form.schema { options.format = .schema(try schema.enforced().serialized()) }
    return options
  }

  /// The rule for tools: where one must be called, it is in the first round.
  func toolUse(isFirst: Bool) -> DialogueRequest.ToolUse {
    switch toolCallingMode?.kind {
    case .disallowed?: .disallowed
    case .required?: isFirst ? .required : .allowed
    case .allowed?, nil: .allowed
    }
  }
}

extension GenerationSchema {
  /// The schema that the runtime enforces.
  ///
  /// - Throws: ``LanguageModelSession/GenerationError/unsupportedGuide(_:)``
  func enforced() throws -> JSONValue { try Self.namingFaults(constraintSchema) }

  /// The schema as one line that a model is shown.
  ///
  /// - Throws: ``LanguageModelSession/GenerationError/unsupportedGuide(_:)``
  func shownText() throws -> String { try Self.namingFaults(promptText) }

  /// Names a fault of a schema as the framework does: something of it cannot be enforced.
  private static func namingFaults<Value>(_ body: () throws -> Value) throws -> Value {
    do { return try body() } catch { throw LanguageModelSession.GenerationError.unsupportedGuide(.init(debugDescription: "\(error)")) }
  }
}
