internal import Dibit
internal import DibitJSON

extension SystemLanguageModel: LanguageModel {
  /// The files that the model consists of.
  public final var executorConfiguration: Executor.Configuration {
    Executor.Configuration(model: opened?.path, adapter: adapter?.path)
  }

  /// Runs models of this machine, for those who wrap them in models of their own.
  ///
  /// A session over a ``SystemLanguageModel`` needs no channel, and says the same.
  public struct Executor: LanguageModelExecutor {
    /// The models that it runs.
    public typealias Model = SystemLanguageModel

    /// The files that a model consists of.
    public struct Configuration: Hashable, Sendable {
      let model: String?
      let adapter: String?
    }

    /// A line that has read what was said before.
    let line = DialogueLine()

    /// An executor for models that consist of the same files.
    ///
    /// - Parameter configuration: The files.
    public init(configuration: Configuration) {}

    /// Loads the model and reads a transcript ahead. It returns at once.
    ///
    /// - Parameters:
    ///   - model: The model that will be asked.
    ///   - transcript: The beginning of what it will be asked.
    public func prewarm(model: Model, transcript: Transcript) {
      var entries = Array(transcript)
      if case .prompt? = entries.last {} else { entries.append(.prompt(Transcript.Prompt(segments: []))) }
      Task { [line, entries] in try await line.prewarm(StepRequest(entries: entries), of: model, trace: SessionTrace()) }
    }

    /// Makes an answer, or calls of tools.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - model: The model.
    ///   - channel: The receiver of what is made.
    /// - Throws: ``LanguageModelSession/GenerationError``, ``LanguageModelError/unsupportedCapability(_:)`` or `CancellationError`.
    public nonisolated(nonsending) func respond(
      to request: LanguageModelExecutorGenerationRequest, model: SystemLanguageModel,
      streamingInto channel: LanguageModelExecutorGenerationChannel
    ) async throws {
      let asked = try StepRequest(request)
      try asked.check(model.capabilities)
      // Pieces come from a function that does not wait, and the channel's sender does.
      let (pieces, continuation) = AsyncThrowingStream<StepPiece, any Swift.Error>.makeStream()
      let task = Task { [line] in
        do {
          let line = NativeLine(model: model, line: line)
          let step = try await line.checkedStep(asked, asked: asked.entries.last.map { [$0] } ?? [], trace: SessionTrace()) {
            continuation.yield($0)
          }
          continuation.finish()
          return step
        } catch {
          let error = (error as? DibitError).map { SessionFailure.error(for: $0) } ?? error
          continuation.finish(throwing: error)
          throw error
        }
      }
      defer { task.cancel() }
      var told = LanguageModelSession.Usage()
      for try await piece in pieces {
        switch piece {
        case .text(let words, let usage):
          if usage.input.totalTokenCount != told.input.totalTokenCount {
            await Self.send(LanguageModelSession.Usage(input: usage.input, output: told.output), into: channel)
          }
          let count = usage.output.totalTokenCount - told.output.totalTokenCount
          await channel.send(.response(action: .appendText(words, tokenCount: count)))
          told = usage
        case .restart: await channel.send(.response(action: .replaceTextSegment("", tokenCount: 0)))
        }
      }
      try Task.checkCancellation()
      let step = try await task.value
      for made in step.calls {
        let arguments = made.call.arguments.serialized()
        await channel.send(
          .toolCalls(action: .toolCall(id: made.call.id, name: made.call.name, action: .appendArguments(arguments, tokenCount: 0))))
      }
      await Self.send(step.usage, into: channel)
    }

    private static func send(_ usage: LanguageModelSession.Usage, into channel: LanguageModelExecutorGenerationChannel) async {
      let (input, output) = (usage.input, usage.output)
      await channel.send(
        .response(
          action: .updateUsage(
            input: .init(totalTokenCount: input.totalTokenCount, cachedTokenCount: input.cachedTokenCount),
            output: .init(totalTokenCount: output.totalTokenCount, reasoningTokenCount: 0))))
    }
  }
}

extension StepRequest {
  /// The request that an executor got.
  init(_ request: LanguageModelExecutorGenerationRequest) throws {
    self.init(entries: Array(request.transcript))
    tools = ToolSet(request.enabledToolDefinitions.map { DefinedTool(definition: $0, isShown: request.tells(of: $0)) })
    if let schema = request.schema { form = .schema(schema, isShown: request.contextOptions.showsSchema) }
    (options, contextOptions) = (request.generationOptions, request.contextOptions)
    metadata = request.metadata
    let turn = entries.lastIndex { if case .prompt = $0 { true } else { false } } ?? 0
    for case .toolCalls(let calls) in entries[turn...] { made += try calls.map { try $0.dialogueCall } }
  }
}

extension LanguageModelExecutorGenerationRequest {
  /// True for a tool that the instructions tell of, or that there are no instructions to tell of.
  fileprivate func tells(of tool: Transcript.ToolDefinition) -> Bool {
    guard case .instructions(let instructions)? = transcript.first else { return true }
    return instructions.toolDefinitions.isEmpty || instructions.toolDefinitions.contains { $0.name == tool.name }
  }
}

/// A tool of which only the definition is known: somebody else calls it.
private struct DefinedTool: Tool {
  let definition: Transcript.ToolDefinition
  let isShown: Bool

  var name: String { definition.name }
  var description: String { definition.description }
  var parameters: GenerationSchema { definition.parameters }
  var includesSchemaInInstructions: Bool { isShown }

  func call(arguments: GeneratedContent) async throws -> String {
    throw LanguageModelError.unsupportedCapability(
      .init(capability: .toolCalling, debugDescription: "the tool '\(name)' is called by the session, not by the executor"))
  }
}
