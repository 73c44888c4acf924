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
    guard state.withLock({ $0.turn == nil }) else { throw SessionFailure.busy.error }
    return try change { state in
      guard state.turn == nil else { throw SessionFailure.busy.error }
      state.turns += 1
      let prompt = request.entry
      let turn = Turn(number: state.turns, prompt: prompt.id, before: state.transcript)
      state.turn = turn
      state.transcript.entries.append(.prompt(prompt))
      return turn
    }
  }

  /// Adds entries to a turn; fails where it was abandoned.
  private func append(_ entries: [Transcript.Entry], to turn: Turn) throws {
    try change { state in
      guard state.turn == turn else { throw CancellationError() }
      guard let prompt = state.turn?.prompt, state.transcript.entries.contains(where: { $0.id == prompt }) else {
        throw Error.transcriptMutationWhileResponding
      }
      for entry in entries {
        let isTaken = state.transcript.entries.contains { $0.id == entry.id }
        state.transcript.entries.append(isTaken ? entry.renamed() : entry)
      }
    }
  }

  private func end(_ turn: Turn, usage: Usage) throws {
    try change { state in
      guard state.turn == turn else { throw CancellationError() }
      state.turn = nil
      state.usage.add(usage)
    }
  }

  /// The entries of a turn that goes on; none where it is over.
  private func entries(of turn: Turn) -> ArraySlice<Transcript.Entry> {
    state.withLock { $0.turn == turn ? $0.entries(of: turn) : [] }
  }

  /// Ends a turn, if it goes on, and takes it back unless what failed is to stay.
  func rollBack(_ turn: Turn) {
    guard state.withLock({ $0.turn == turn }) else { return }
    change { state in
      guard state.turn == turn else { return }
      state.turn = nil
      guard (state.errorHandling ?? state.profileErrorHandling)?.isPreserving != true else { return }
      state.rolledBack += state.entries(of: turn)
      state.transcript = turn.before
    }
  }

  // MARK: Rounds

  private func run(
    _ turn: Turn, _ request: Request, id: GenerationID, _ receive: @Sendable (StreamedTurn.Piece) -> Void
  ) async throws -> RawResponse {
    do {
      return try await trace.measure(
        .turn, { [("form", .string(request.form.name)), ("response_tokens", .integer($0.usage.output.totalTokenCount))] }
      ) {
        // Profiles, their actions, tools and executors read the session's properties.
        try await SessionPropertyValues.$current.withValue(values) { try await rounds(turn, request, id: id, receive) }
      }
    } catch {
      rollBack(turn)
      if let error = error as? DibitError { throw SessionFailure.error(for: error) }
      throw error
    }
  }

  private func rounds(
    _ turn: Turn, _ asked: Request, id: GenerationID, _ receive: @Sendable (StreamedTurn.Piece) -> Void
  ) async throws -> RawResponse {
    try Task.checkCancellation()
    var usage = Usage()
    var made: [ToolCall] = []
    for round in 0... {
      let setup = try await begin(turn, isFirst: round == 0)
      var request = setup.request(asked, state.withLock(\.transcript), round: round, limit: Self.roundLimit)
      request.made = made
      let line = executors.line(to: setup.model)
      let step = try await step(request, line, turn, after: usage, isFirst: round == 0, receive)
      usage.add(step.usage)
      // Entries come in the order in which the model began them; calls are the last, as their outputs are behind them.
      #if FoundationModels27
        try await add(step.reasoning, to: turn, setup.actions)
      #endif
      guard !step.calls.isEmpty else {
        let content = try content(step.text, asked.form, id: id)
        let response = response(step, content, asked.form, line)
        try append([.response(response)], to: turn)
        #if FoundationModels27
          try await add(step.laterReasoning, to: turn, setup.actions)
        #endif
        let entries = entries(of: turn)
        for action in setup.actions.onResponse { try await action(response) }
        try end(turn, usage: usage)
        return RawResponse(text: step.text, content: content, entries: entries, usage: usage)
      }
      if request.enabledTools.isEmpty { throw Self.callsNothing(step.calls) }
      made += step.calls.map(\.call)
      // What a model says with its calls is no answer; it is there for the model to read again.
      if step.hasAnswer || !step.text.isEmpty { try append([.response(response(step, nil, .text, line))], to: turn) }
      #if FoundationModels27
        try await add(step.laterReasoning, to: turn, setup.actions)
      #endif
      let calls = try step.entry
      try append([.toolCalls(calls)], to: turn)
      for call in calls { for action in setup.actions.onToolCall { try await action(call) } }
      let outputs = try await ToolRunner(tools: setup.tools.tools, trace: trace).run(Array(calls))
      try append(outputs.map { .toolOutput($0) }, to: turn)
      for (call, output) in zip(calls, outputs) { for action in setup.actions.onToolOutput { try await action(call, output) } }
    }
    throw CancellationError()
  }

  #if FoundationModels27
    /// Adds thoughts to a turn, and tells the profile of them.
    private func add(_ thoughts: [Transcript.Reasoning], to turn: Turn, _ actions: ProfileActions) async throws {
      for reasoning in thoughts {
        try append([.reasoning(reasoning)], to: turn)
        for action in actions.onReasoning { try await action(reasoning) }
      }
    }
  #endif

  /// Asks how the next step of a turn is made, and lets the transcript say it.
  private func begin(_ turn: Turn, isFirst: Bool) async throws -> SessionSetup {
    let setup = setup()
    state.withLock { $0.profileErrorHandling = setup.errorHandling }
    if setup.saying(in: state.withLock(\.transcript)) != nil {
      try change { state in
        guard state.turn == turn else { throw CancellationError() }
        state.transcript = setup.saying(in: state.transcript) ?? state.transcript
      }
    }
    if case .profile(let holder) = source { for action in holder.enter(setup) { await action() } }
    if isFirst, !setup.actions.onPrompt.isEmpty, case .prompt(let prompt)? = entries(of: turn).first {
      for action in setup.actions.onPrompt { try await action(prompt) }
    }
    return setup
  }

  /// Makes a step, and tells its pieces with the tokens and the entries of the turn.
  private func step(
    _ request: StepRequest, _ line: any ModelLine, _ turn: Turn, after before: Usage, isFirst: Bool,
    _ receive: @Sendable (StreamedTurn.Piece) -> Void
  ) async throws -> ModelStep {
    try request.check(line.capabilities)
    let entries = entries(of: turn)
    return try await line.checkedStep(request, asked: isFirst ? Array(entries) : [], trace: trace) { piece in
      switch piece {
      case .restart: receive(.restart)
      case .text(let words, let counts):
        var usage = before
        usage.add(counts)
        receive(.text(words, usage, entries))
      }
    }
  }

  /// The answer of a step as the transcript has it.
  private func response(
    _ step: ModelStep, _ content: GeneratedContent?, _ form: AnswerForm, _ line: any ModelLine
  ) -> Transcript.Response {
    let segments: [Transcript.Segment] =
      if form.schema != nil, let content {
        [.structure(Transcript.StructuredSegment(source: form.name, content: content))] + (step.segments ?? [])
      } else {
        step.segments ?? (step.text.isEmpty && !step.calls.isEmpty ? [] : [.text(Transcript.TextSegment(content: step.text))])
      }
    var response = Transcript.Response(assetIDs: line.assetID.map { [$0] } ?? [], segments: segments)
    response.metadata.merge(step.metadata) { $1 }
    if let id = step.responseID { response.id = id }
    return response
  }

  private static func callsNothing(_ calls: [ModelStep.Call]) -> any Swift.Error {
    let names = calls.map { "'\($0.call.name)'" }.joined(separator: ", ")
    return SessionFailure.undecodable(raw: "", "The model called \(names), and may call no tool in this step.").error
  }

  private func content(_ text: String, _ form: AnswerForm, id: GenerationID) throws -> GeneratedContent {
    do { return try form.content(text, id: id) } catch { throw SessionFailure.decoding(text, error) }
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
}

extension Transcript.Entry {
  /// The same entry with an identifier of its own, for one that an executor has named as another is: a transcript has each once. Outputs of
  /// tools stay, as they have the identifiers of their calls.
  fileprivate func renamed() -> Self {
    let id = UUID().uuidString
    switch self {
    case .response(var response):
      response.id = id
      return .response(response)
    case .toolCalls(var calls):
      calls.id = id
      return .toolCalls(calls)
    #if FoundationModels27
      case .reasoning(var reasoning):
        reasoning.id = id
        return .reasoning(reasoning)
    #endif
    case .instructions, .prompt, .toolOutput: return self
    }
  }
}

extension LanguageModelSession.State {
  /// Sets the entries behind the instructions. A prompt that is new there, such as one that sums up what was said, takes the place of the prompt
  /// that is being answered where that one is gone.
  mutating func set(history: Transcript.HistoryView) {
    transcript.history = history
    guard let turn, !history.contains(where: { $0.id == turn.prompt }) else { return }
    let known = Set(turn.before.map(\.id))
    for case .prompt(let prompt) in history.reversed() where !known.contains(prompt.id) {
      self.turn?.prompt = prompt.id
      return
    }
  }

  /// The entries of a turn that goes on, from its prompt on.
  func entries(of turn: LanguageModelSession.Turn) -> ArraySlice<Transcript.Entry> {
    let entries = transcript.entries
    let prompt = self.turn == turn ? self.turn?.prompt : nil
    return entries[(entries.lastIndex { $0.id == prompt ?? turn.prompt } ?? entries.endIndex)...]
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
    do { return try body() } catch { throw SessionFailure.unsupportedGuide("\(error)").error }
  }
}
