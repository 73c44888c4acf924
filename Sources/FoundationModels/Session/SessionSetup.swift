/// The way in which a step is made: the model, and what it is given.
struct SessionSetup: Sendable {
  var model: any LanguageModel
  var tools = ToolSet()
}

extension LanguageModelSession {
  /// The setup of the next step.
  func setup() -> SessionSetup { fixed }
}

extension SessionSetup {
  /// The entries that a model is shown of a transcript.
  func shown(_ transcript: Transcript) -> [Transcript.Entry] { Array(transcript) }

  /// The request for a step behind a transcript; behind `limit` rounds the model must answer.
  func request(
    _ asked: LanguageModelSession.Request, _ transcript: Transcript, round: Int, limit: Int
  ) -> StepRequest {
    var request = StepRequest(entries: shown(transcript), tools: tools, form: asked.form)
    (request.options, request.contextOptions, request.metadata) = (asked.options, asked.contextOptions, asked.metadata)
    // Where a tool must be called, it is in the first round.
    if round > 0, request.options.toolCallingMode == .required { request.options.toolCallingMode = .allowed }
    if round >= limit { request.options.toolCallingMode = .disallowed }
    return request
  }
}
