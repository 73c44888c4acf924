/// The way in which a step is made: the model, what it is given, and what is done beside it.
struct SessionSetup {
  /// The model that somebody has named.
  var chosen: (any LanguageModel)?
  var tools = ToolSet()
  /// Instructions and tools that are said anew; nil for those of the transcript.
  var root: (any DynamicInstructions)?
  /// The instructions of ``root`` with its tools; nil where it says nothing.
  private(set) var said: Transcript.Instructions?

  var temperature: Double?
  var samplingMode: GenerationOptions.SamplingMode?
  var maximumResponseTokens: Int?
  var toolCallingMode: GenerationOptions.ToolCallingMode?
  var reasoningLevel: ContextOptions.ReasoningLevel?
  var errorHandling: TranscriptErrorHandlingPolicy?
  /// The changes that are made to the entries behind the instructions before a model is shown them.
  var transforms: [([Transcript.Entry]) -> [Transcript.Entry]] = []
  var actions = ProfileActions()
  var phases: [ProfilePhase] = []

  var model: any LanguageModel { chosen ?? SystemLanguageModel.default }

  /// Asks ``root`` what it says.
  mutating func say() {
    guard let root else { return }
    let words = SaidInstructions(root)
    tools = ToolSet(words.tools)
    let instructions = Transcript.Instructions(segments: words.segments, toolDefinitions: tools.shownDefinitions)
    said = instructions.segments.isEmpty && instructions.toolDefinitions.isEmpty ? nil : instructions
  }

  /// Puts the instructions that are said at the beginning of a transcript. Those that say the same stay.
  ///
  /// Returns nil where nothing changes.
  func saying(in transcript: Transcript) -> Transcript? {
    guard root != nil else { return nil }
    var transcript = transcript
    if case .instructions(let first)? = transcript.first {
      if let said, first.text == said.text, first.toolDefinitions == said.toolDefinitions { return nil }
      transcript.removeFirst()
    } else if said == nil {
      return nil
    }
    if let said { transcript.insert(.instructions(said), at: 0) }
    return transcript
  }

  /// The entries that a model is shown of a transcript.
  func shown(_ transcript: Transcript) -> [Transcript.Entry] {
    guard !transforms.isEmpty else { return Array(transcript) }
    let history = transforms.reduce(Array(transcript.history)) { $1($0) }
    return transcript.dropLast(transcript.history.count) + history
  }

  /// The request for a step behind a transcript; behind `limit` rounds the model must answer.
  func request(
    _ asked: LanguageModelSession.Request, _ transcript: Transcript, round: Int, limit: Int
  ) -> StepRequest {
    var request = StepRequest(entries: shown(transcript), tools: tools, form: asked.form)
    (request.options, request.contextOptions, request.metadata) = (asked.options, asked.contextOptions, asked.metadata)
    // What is asked for itself comes before what the profile says.
    request.options.temperature = request.options.temperature ?? temperature
    request.options.sampling = request.options.sampling ?? samplingMode
    request.options.maximumResponseTokens = request.options.maximumResponseTokens ?? maximumResponseTokens
    request.options.toolCallingMode = request.options.toolCallingMode ?? toolCallingMode
    request.contextOptions.reasoningLevel = request.contextOptions.reasoningLevel ?? reasoningLevel
    // Where a tool must be called, it is in the first round.
    if round > 0, request.options.toolCallingMode == .required { request.options.toolCallingMode = .allowed }
    if round >= limit { request.options.toolCallingMode = .disallowed }
    return request
  }
}

/// The source of the setups of a session.
enum SetupSource: Sendable {
  /// The same model and the same tools always.
  case fixed(any LanguageModel, ToolSet)
  /// A profile, which is asked before each step.
  case profile(ProfileHolder)
}

extension LanguageModelSession {
  /// The setup of the next step.
  func setup() -> SessionSetup {
    // Bodies read the session's properties.
    SessionPropertyValues.$current.withValue(values) {
      switch source {
      case .profile(let holder): return holder.setup(override: values.override)
      case .fixed(let model, let tools):
        var setup = SessionSetup(chosen: model, tools: tools, root: values.override)
        setup.say()
        return setup
      }
    }
  }

  /// The instructions and tools of the next step.
  func instructions() -> any DynamicInstructions {
    let setup = setup()
    if let root = setup.root { return root }
    guard case .instructions(let first)? = transcript.first else { return ToolInstructions(tools: setup.tools.tools) }
    return TupleDynamicInstructions(SegmentInstructions(segments: first.segments), ToolInstructions(tools: setup.tools.tools))
  }
}
