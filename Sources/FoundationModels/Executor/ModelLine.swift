internal import Dibit
internal import DibitJSON

/// The maker of the next step of a conversation: a model that runs here, or the executor of another.
protocol ModelLine: Sendable {
  /// The things that the model can do beyond text.
  var capabilities: LanguageModelCapabilities { get }
  /// The name of what answers, for transcripts; nil for none.
  var assetID: String? { get }

  /// The list of words that prompts and answers are checked against; nil for none.
  func denied(in form: LanguageModelSession.AnswerForm) -> DenyList?

  /// Makes a step, and tells the pieces of its answer.
  func step(_ request: StepRequest, trace: SessionTrace, _ receive: (StepPiece) throws -> Void) async throws -> ModelStep

  /// Reads a request ahead.
  func prewarm(_ request: StepRequest, trace: SessionTrace) async throws
}

/// The tools of a step, with the schemas of their arguments.
struct ToolSet: Sendable {
  let tools: [any Tool]
  let schemas: [GenerationSchema]

  init(_ tools: [any Tool] = []) {
    self.tools = tools
    schemas = tools.map(\.parameters)
  }

  /// The tools as models see them, without a second one of a name.
  var definitions: [Transcript.ToolDefinition] { definitions { _ in true } }

  /// The tools that instructions tell of.
  var shownDefinitions: [Transcript.ToolDefinition] { definitions(where: \.includesSchemaInInstructions) }

  private func definitions(where isIncluded: (any Tool) -> Bool) -> [Transcript.ToolDefinition] {
    var names: Set<String> = []
    return zip(tools, schemas).filter { isIncluded($0.0) && names.insert($0.0.name).inserted }.map {
      Transcript.ToolDefinition(name: $0.name, description: $0.description, parameters: $1)
    }
  }
}

/// A request for a step.
struct StepRequest: Sendable {
  /// All that was said, with the prompt.
  var entries: [Transcript.Entry]
  var tools = ToolSet()
  var form = LanguageModelSession.AnswerForm.text
  /// The options, with the rule for tools of this step.
  var options = GenerationOptions()
  var contextOptions = ContextOptions()
  var metadata: [String: GeneratedContent] = [:]
  /// Calls that the model has made for this answer already.
  var made: [ToolCall] = []

  /// The tools that may be called.
  var enabledTools: [Transcript.ToolDefinition] { options.toolCallingMode?.kind == .disallowed ? [] : tools.definitions }

  /// Refuses what a model cannot do.
  func check(_ capabilities: LanguageModelCapabilities) throws(LanguageModelError) {
    func need(_ capability: LanguageModelCapabilities.Capability, _ words: String) throws(LanguageModelError) {
      guard !capabilities.contains(capability) else { return }
      throw .unsupportedCapability(.init(capability: capability, debugDescription: words))
    }
    if contextOptions.reasoningLevel != nil {
      try need(.reasoning, "the model has no thoughts of its own; leave the reasoning level out")
    }
    if form.schema != nil { try need(.guidedGeneration, "the model keeps to no schema; ask for text") }
    if !enabledTools.isEmpty { try need(.toolCalling, "the model calls no tools; leave them out, or disallow their calls") }
    #if FoundationModels27
      if !capabilities.contains(.vision), entries.contains(where: { $0.segments.contains(where: \.isAttachment) }) {
        throw LanguageModelError.cannotSee
      }
    #endif
  }
}

/// A piece of the answer of a step.
enum StepPiece: Sendable {
  /// Text that goes on, with the tokens of the step so far.
  case text(String, LanguageModelSession.Usage)
  /// The text so far is taken back.
  case restart
}

/// The next step of a conversation: an answer, or calls of tools.
struct ModelStep: Sendable {
  /// A call of a tool, with values of whoever made it.
  struct Call: Sendable {
    var call: ToolCall
    var metadata: [String: GeneratedContent] = [:]
  }

  /// The text of the answer, or what was said before the calls.
  var text = ""
  /// The text in its parts, with what else is among them, where it has more than one or their names are known; of JSON what is beside it.
  var segments: [Transcript.Segment]?
  #if FoundationModels27
    /// The thoughts before it, and those that began behind its beginning.
    var (reasoning, laterReasoning) = ([Transcript.Reasoning](), [Transcript.Reasoning]())
  #endif
  /// True where an executor has said something of an answer, if only values that are kept with it.
  var hasAnswer = false
  /// The identifier of the answer, where it has one.
  var responseID: String?
  /// Values that are kept with the answer.
  var metadata: [String: GeneratedContent] = [:]
  var calls: [Call] = []
  /// The identifier of the calls, where they have one.
  var callsID: String?
  var usage = LanguageModelSession.Usage()
  /// Seconds until the first token was there.
  var firstSeconds = 0.0
  /// The reason for which the step ended.
  var end = Response.End.stop

  /// The calls as a transcript has them.
  var entry: Transcript.ToolCalls {
    get throws {
      let calls = try calls.map { made in
        Transcript.ToolCall(
          id: made.call.id, metadata: made.metadata, toolName: made.call.name,
          arguments: try GeneratedContent(json: made.call.arguments.serialized()))
      }
      return callsID.map { Transcript.ToolCalls(id: $0, calls) } ?? Transcript.ToolCalls(calls)
    }
  }

  /// The members of a step in a trace.
  var traceMembers: [(key: String, value: JSONValue)] {
    [
      ("prompt_tokens", .integer(usage.input.totalTokenCount)),
      ("read_tokens", .integer(usage.input.totalTokenCount - usage.input.cachedTokenCount)),
      ("made_tokens", .integer(usage.output.totalTokenCount)), ("first_seconds", .number(firstSeconds)),
      ("calls", .integer(calls.count)), ("end", .string(end.rawValue)),
    ]
  }
}

#if FoundationModels27
  extension Transcript.Segment {
    /// True for something beside the words.
    var isAttachment: Bool { if case .attachment = self { true } else { false } }
  }

  extension LanguageModelError {
    /// Attachments for a model that cannot see.
    static let cannotSee = Self.unsupportedCapability(
      .init(capability: .vision, debugDescription: "the model cannot see; leave the attachments out"))
  }
#endif
