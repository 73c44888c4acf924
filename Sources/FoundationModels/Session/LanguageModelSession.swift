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
  let source: SetupSource
  /// The values of ``properties``.
  let values = SessionPropertyValues()
  let executors = KeptExecutors()
  let state: Mutex<State>
  let trace = SessionTrace()
  private let registrar = ObservationRegistrar()

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
    /// The fate of a failed turn's entries that the profile says.
    var profileErrorHandling: TranscriptErrorHandlingPolicy?
  }

  /// A turn that is going on.
  struct Turn: Equatable {
    let number: Int
    /// The identifier of its prompt, which says where it begins: entries before it may come and go. Whoever sets the history for the turn may
    /// put another prompt in its place.
    var prompt: String
    /// The transcript before it.
    let before: Transcript

    static func == (left: Turn, right: Turn) -> Bool { left.number == right.number }
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
    self.init(model: model, tools: ToolSet(tools), instructions: instructions)
  }

  /// A session that goes on behind a transcript.
  ///
  /// - Parameters:
  ///   - model: The model that answers.
  ///   - tools: The tools that it may call.
  ///   - transcript: What was said before.
  public convenience init(model: SystemLanguageModel = .default, tools: [any Tool] = [], transcript: Transcript) {
    self.init(.fixed(model, ToolSet(tools)), transcript)
  }

  /// A session over any model that begins with instructions.
  convenience init(model: any LanguageModel, tools: ToolSet, instructions: Instructions?) {
    let definitions = tools.shownDefinitions
    let first = Transcript.Instructions(segments: instructions?.segments ?? [], toolDefinitions: definitions)
    let isEmpty = instructions == nil && definitions.isEmpty
    self.init(.fixed(model, tools), Transcript(entries: isEmpty ? [] : [.instructions(first)]))
  }

  /// A session over any model that goes on behind a transcript.
  init(_ source: SetupSource, _ transcript: Transcript) {
    self.source = source
    state = Mutex(State(transcript: transcript))
    values.attach(to: self)
  }

  /// All that was said, with the turn that is going on. Whoever sets it while a request is being answered without its prompt ends the request
  /// (``Error/transcriptMutationWhileResponding``).
  public final var transcript: Transcript {
    get {
      registrar.access(self, keyPath: \.transcript)
      return state.withLock(\.transcript)
    }
    set { change { $0.transcript = newValue } }
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
      let setup = setup()
      var transcript = state.withLock(\.transcript)
      transcript = setup.saying(in: transcript) ?? transcript
      transcript.append(.prompt(Transcript.Prompt(segments: promptPrefix?.segments ?? [])))
      let request = StepRequest(entries: setup.shown(transcript), tools: setup.tools)
      try await executors.line(to: setup.model).prewarm(request, trace: trace)
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
}
