extension LanguageModelSession {
  /// A session over any model that begins with instructions.
  ///
  /// - Parameters:
  ///   - model: The model that answers.
  ///   - tools: The tools that it may call.
  ///   - instructions: What it shall be and do.
  /// - Throws: What `instructions` throws.
  public convenience init<Failure>(
    model: some LanguageModel, tools: [any Tool] = [], @InstructionsBuilder instructions: () throws(Failure) -> Instructions
  ) throws(Failure) where Failure: Swift.Error {
    self.init(model: model, tools: ToolSet(tools), instructions: try instructions())
  }

  /// A session over any model that goes on behind a transcript.
  ///
  /// - Parameters:
  ///   - model: The model that answers.
  ///   - tools: The tools that it may call.
  ///   - transcript: What was said before.
  public convenience init(model: some LanguageModel, tools: [any Tool] = [], transcript: Transcript) {
    self.init(.fixed(model, ToolSet(tools)), transcript)
  }

  /// A session over any model that begins with instructions.
  ///
  /// - Parameters:
  ///   - model: The model that answers.
  ///   - tools: The tools that it may call.
  ///   - instructions: What it shall be and do; nil for nothing.
  public convenience init(model: some LanguageModel, tools: [any Tool] = [], instructions: Instructions? = nil) {
    self.init(model: model, tools: ToolSet(tools), instructions: instructions)
  }

  /// A session over any model that begins with instructions.
  ///
  /// - Parameters:
  ///   - model: The model that answers.
  ///   - tools: The tools that it may call.
  ///   - instructions: What it shall be and do; nil for nothing.
  @_disfavoredOverload
  public convenience init(model: some LanguageModel, tools: [any Tool] = [], instructions: String? = nil) {
    self.init(model: model, tools: tools, instructions: instructions.map { Instructions($0) })
  }
}
