internal import Dibit

extension SystemLanguageModel {
  /// Counts the tokens of a prompt.
  ///
  /// - Parameter content: The prompt.
  /// - Returns: The tokens of its text, without those that a chat puts around it.
  /// - Throws: ``LanguageModelSession/GenerationError/assetsUnavailable(_:)``
  public nonisolated(nonsending) final func tokenCount(for content: some PromptRepresentable) async throws -> Int {
    try await count(Self.text(of: content.promptRepresentation.segments))
  }

  /// Counts the tokens of instructions.
  ///
  /// - Parameter instructions: The instructions.
  /// - Returns: The tokens of their text, without those that a chat puts around it.
  /// - Throws: ``LanguageModelSession/GenerationError/assetsUnavailable(_:)``
  public nonisolated(nonsending) final func tokenCount(for instructions: Instructions) async throws -> Int {
    try await count(Self.text(of: instructions.segments))
  }

  /// Counts the tokens by which tools make a prompt longer.
  ///
  /// - Parameter tools: The tools.
  /// - Returns: The tokens.
  /// - Throws: ``LanguageModelSession/GenerationError/assetsUnavailable(_:)``
  public nonisolated(nonsending) final func tokenCount(for tools: [any Tool]) async throws -> Int {
    let prompt = Transcript.Entry.prompt(Transcript.Prompt(segments: []))
    let with = try StepRequest(entries: [prompt], tools: ToolSet(tools)).dialogueRequest()
    let without = try StepRequest(entries: [prompt]).dialogueRequest()
    let dialogue = try await dialogue()
    do { return try await dialogue.promptTokens(with) - dialogue.promptTokens(without) } catch {
      throw SessionFailure.error(for: error)
    }
  }

  /// Counts the tokens of a schema as the model is shown it.
  ///
  /// - Parameter schema: The schema.
  /// - Returns: The tokens.
  /// - Throws: ``LanguageModelSession/GenerationError/assetsUnavailable(_:)``
  public nonisolated(nonsending) final func tokenCount(for schema: GenerationSchema) async throws -> Int {
    try await count(schema.shownText())
  }

  /// Counts the tokens of a transcript as the model reads it, those that a chat puts around entries among them.
  ///
  /// - Parameter entries: The entries.
  /// - Returns: The tokens, those behind which the answer comes among them.
  /// - Throws: ``LanguageModelSession/GenerationError/assetsUnavailable(_:)``
  public nonisolated(nonsending) final func tokenCount(for entries: some Collection<Transcript.Entry>) async throws -> Int {
    for entry in entries { _ = try Self.text(of: entry.segments) }
    let request = DialogueRequest(try DialogueMessage.messages(of: entries))
    let dialogue = try await dialogue()
    do { return try await dialogue.promptTokens(request) } catch { throw SessionFailure.error(for: error) }
  }

  /// The text of segments, of which none may be something beside the words: how many tokens that would take nobody here can tell.
  private static func text(of segments: [Transcript.Segment]) throws -> String {
    #if FoundationModels27
      if segments.contains(where: \.isAttachment) { throw LanguageModelError.cannotSee }
    #endif
    return segments.text
  }

  private func count(_ text: String) async throws -> Int {
    guard let opened else { throw SessionFailure.assetsUnavailable(Self.noModel).error }
    do { return try await opened.open().tokenCount(of: text) } catch let error as DibitError {
      throw SessionFailure.error(for: error, isOpening: true)
    }
  }
}
