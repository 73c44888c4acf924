/// The things that a profile does beside the turns of a session.
struct ProfileActions {
  var onPrompt: [nonisolated(nonsending) (Transcript.Prompt) async throws -> Void] = []
  var onResponse: [nonisolated(nonsending) (Transcript.Response) async throws -> Void] = []
  #if FoundationModels27
    var onReasoning: [nonisolated(nonsending) (Transcript.Reasoning) async throws -> Void] = []
  #endif
  var onToolCall: [nonisolated(nonsending) (Transcript.ToolCall) async throws -> Void] = []
  var onToolOutput: [nonisolated(nonsending) (Transcript.ToolCall, Transcript.ToolOutput) async throws -> Void] = []
}

/// Something that is done when a session begins to follow a profile, or ends to.
struct ProfilePhase {
  /// The position in the whole: what stands at the same position the next time is the same.
  let position: [ProfileStep]
  var onActivate: (@isolated(any) () async -> Void)?
  var onDeactivate: (@isolated(any) () async -> Void)?
}
