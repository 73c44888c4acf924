internal import Dibit
internal import DibitJSON
public import Observation
internal import Synchronization

/// A conversation with a language model that runs on this machine.
///
/// A session answers one request at a time; any number of sessions share the weights of one model and are answered side by side. What was
/// said is kept as keys and values of the model, so that a further turn reads only what is new.
///
/// ```swift
/// let session = LanguageModelSession(instructions: "Answer in one sentence.")
/// print(try await session.respond(to: "Name a river.").content)
/// ```
public final class LanguageModelSession: Sendable, nonisolated Observable {
  let model: SystemLanguageModel
  let tools: [any Tool]
  /// The schemas of the tools' arguments, read once.
  let toolSchemas: [GenerationSchema]
  let state: Mutex<State>
  let trace = SessionTrace()
  private let registrar = ObservationRegistrar()
  private let line = Mutex<Task<Dialogue, any Error>?>(nil)

  struct State {
    var transcript: Transcript
    /// The turn that is going on.
    var turn: Turn?
    /// The number of turns so far.
    var turns = 0
    /// Entries of turns that failed, for feedback.
    var rolledBack: [Transcript.Entry] = []
    var usage = Usage()
    var errorHandling: TranscriptErrorHandlingPolicy?
  }

  /// A turn that is going on.
  struct Turn: Equatable {
    let number: Int
    /// The index of its prompt in the transcript.
    let first: Int
  }

  /// A session that begins with instructions.
  ///
  /// - Parameters:
  ///   - model: The model that answers.
  ///   - tools: The tools that it may call.
  ///   - instructions: What it shall be and do.
  @_disfavoredOverload
  public convenience init(model: SystemLanguageModel = .default, tools: [any Tool] = [], instructions: String? = nil) {
    self.init(model: model, tools: tools, instructions: instructions.map { Instructions($0) })
  }

  /// A session that begins with instructions.
  ///
  /// - Parameters:
  ///   - model: The model that answers.
  ///   - tools: The tools that it may call.
  ///   - instructions: What it shall be and do.
  /// - Throws: What `instructions` throws.
  public convenience init(
    model: SystemLanguageModel = .default, tools: [any Tool] = [], @InstructionsBuilder instructions: () throws -> Instructions
  ) rethrows {
    self.init(model: model, tools: tools, instructions: try instructions())
  }

  /// A session that begins with instructions.
  ///
  /// - Parameters:
  ///   - model: The model that answers.
  ///   - tools: The tools that it may call.
  ///   - instructions: What it shall be and do; nil for nothing.
  public convenience init(model: SystemLanguageModel = .default, tools: [any Tool] = [], instructions: Instructions? = nil) {
    let definitions = tools.filter(\.includesSchemaInInstructions).map { Transcript.ToolDefinition(tool: $0) }
    let first = Transcript.Instructions(segments: instructions?.segments ?? [], toolDefinitions: definitions)
    let isEmpty = instructions == nil && definitions.isEmpty
    self.init(model: model, tools: tools, transcript: Transcript(entries: isEmpty ? [] : [.instructions(first)]))
  }

  /// A session that goes on behind a transcript.
  ///
  /// - Parameters:
  ///   - model: The model that answers.
  ///   - tools: The tools that it may call.
  ///   - transcript: What was said before.
  public init(model: SystemLanguageModel = .default, tools: [any Tool] = [], transcript: Transcript) {
    self.model = model
    self.tools = tools
    toolSchemas = tools.map(\.parameters)
    state = Mutex(State(transcript: transcript))
  }

  /// All that was said, with the turn that is going on.
  public final var transcript: Transcript {
    registrar.access(self, keyPath: \.transcript)
    return state.withLock(\.transcript)
  }

  /// True while a request is being answered.
  public final var isResponding: Bool {
    registrar.access(self, keyPath: \.isResponding)
    return state.withLock { $0.turn != nil }
  }

  /// Tokens of all turns so far.
  public final var usage: Usage { state.withLock(\.usage) }

  /// The fate of the entries of a turn that fails; nil takes them back.
  public final var transcriptErrorHandlingPolicy: TranscriptErrorHandlingPolicy? {
    get { state.withLock(\.errorHandling) }
    set { state.withLock { $0.errorHandling = newValue } }
  }

  /// Loads the model and reads instructions, tools and the beginning of a prompt ahead, so that the answer to it comes sooner.
  ///
  /// It returns at once; a failure shows when something is asked.
  ///
  /// - Parameter promptPrefix: The beginning of the prompt that will be asked.
  public final func prewarm(promptPrefix: Prompt? = nil) {
    Task {
      let dialogue = try await dialogue()
      var entries = Array(state.withLock(\.transcript))
      entries.append(.prompt(Transcript.Prompt(segments: promptPrefix?.segments ?? [])))
      let request = try request(behind: entries)
      _ = try await trace.measure(.prewarm, { [("read_tokens", .integer($0))] }) { try await dialogue.read(request).value }
    }
  }

  /// Changes the state, and tells those who observe it.
  func change<Value: Sendable>(_ body: (inout State) throws -> Value) rethrows -> Value {
    registrar.willSet(self, keyPath: \.transcript)
    registrar.willSet(self, keyPath: \.isResponding)
    defer {
      registrar.didSet(self, keyPath: \.transcript)
      registrar.didSet(self, keyPath: \.isResponding)
    }
    return try state.withLock { state in try body(&state) }
  }

  /// The line to the model, opened when it is first needed.
  func dialogue() async throws -> Dialogue {
    let task = line.withLock { line in
      if let line { return line }
      let made = Task { [model, trace] in
        try await trace.measure(.load, { _ in [("model", .string(model.assetID))] }) { try await model.dialogue() }
      }
      line = made
      return made
    }
    do { return try await task.value } catch {
      // The model may be there the next time.
      line.withLock { if $0 == task { $0 = nil } }
      throw error
    }
  }
}
