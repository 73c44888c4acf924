extension LanguageModelSession {
  /// Answers a prompt with text.
  ///
  /// - Parameters:
  ///   - prompt: What is asked.
  ///   - options: How tokens are chosen, and how many.
  /// - Throws: ``GenerationError``, ``ToolCallError``, or `CancellationError`; the transcript is then as it was before.
  @discardableResult
  public final nonisolated(nonsending) func respond(
    to prompt: Prompt, options: GenerationOptions = GenerationOptions()
  ) async throws -> Response<String> {
    try await turn(Request(prompt, .text, options)).response(of: String.self)
  }

  /// Answers a prompt with text.
  ///
  /// - Parameters:
  ///   - prompt: What is asked.
  ///   - options: How tokens are chosen, and how many.
  /// - Throws: As ``respond(to:options:)-(Prompt,_)``.
  @discardableResult @_disfavoredOverload
  public final nonisolated(nonsending) func respond(
    to prompt: String, options: GenerationOptions = GenerationOptions()
  ) async throws -> Response<String> {
    try await respond(to: Prompt(prompt), options: options)
  }

  /// Answers a prompt with text.
  ///
  /// - Parameters:
  ///   - options: How tokens are chosen, and how many.
  ///   - prompt: What is asked.
  /// - Throws: As ``respond(to:options:)-(Prompt,_)``, and what `prompt` throws.
  @discardableResult
  public final nonisolated(nonsending) func respond(
    options: GenerationOptions = GenerationOptions(), @PromptBuilder prompt: () throws -> Prompt
  ) async throws -> Response<String> {
    try await respond(to: prompt(), options: options)
  }

  /// Answers a prompt with a value of a schema.
  ///
  /// - Parameters:
  ///   - prompt: What is asked.
  ///   - schema: The schema, which the answer satisfies whatever the model makes of the prompt.
  ///   - includeSchemaInPrompt: Whether the model is shown the schema, which costs tokens and helps it.
  ///   - options: How tokens are chosen, and how many.
  /// - Throws: As ``respond(to:options:)-(Prompt,_)``; ``GenerationError/unsupportedGuide(_:)`` for what cannot be enforced.
  @discardableResult
  public final nonisolated(nonsending) func respond(
    to prompt: Prompt, schema: GenerationSchema, includeSchemaInPrompt: Bool = true, options: GenerationOptions = GenerationOptions()
  ) async throws -> Response<GeneratedContent> {
    try await turn(Request(prompt, .schema(schema, isShown: includeSchemaInPrompt), options, .showing(schema: includeSchemaInPrompt)))
      .response(of: GeneratedContent.self)
  }

  /// Answers a prompt with a value of a schema.
  ///
  /// - Parameters:
  ///   - prompt: What is asked.
  ///   - schema: The schema.
  ///   - includeSchemaInPrompt: Whether the model is shown the schema.
  ///   - options: How tokens are chosen, and how many.
  /// - Throws: As ``respond(to:schema:includeSchemaInPrompt:options:)-(Prompt,_,_,_)``.
  @discardableResult @_disfavoredOverload
  public final nonisolated(nonsending) func respond(
    to prompt: String, schema: GenerationSchema, includeSchemaInPrompt: Bool = true, options: GenerationOptions = GenerationOptions()
  ) async throws -> Response<GeneratedContent> {
    try await respond(to: Prompt(prompt), schema: schema, includeSchemaInPrompt: includeSchemaInPrompt, options: options)
  }

  /// Answers a prompt with a value of a schema.
  ///
  /// - Parameters:
  ///   - schema: The schema.
  ///   - includeSchemaInPrompt: Whether the model is shown the schema.
  ///   - options: How tokens are chosen, and how many.
  ///   - prompt: What is asked.
  /// - Throws: As ``respond(to:schema:includeSchemaInPrompt:options:)-(Prompt,_,_,_)``, and what `prompt` throws.
  @discardableResult
  public final nonisolated(nonsending) func respond(
    schema: GenerationSchema, includeSchemaInPrompt: Bool = true, options: GenerationOptions = GenerationOptions(),
    @PromptBuilder prompt: () throws -> Prompt
  ) async throws -> Response<GeneratedContent> {
    try await respond(to: prompt(), schema: schema, includeSchemaInPrompt: includeSchemaInPrompt, options: options)
  }

  /// Answers a prompt with a value of a type.
  ///
  /// - Parameters:
  ///   - prompt: What is asked.
  ///   - type: The type.
  ///   - includeSchemaInPrompt: Whether the model is shown the type's schema, which costs tokens and helps it.
  ///   - options: How tokens are chosen, and how many.
  /// - Throws: As ``respond(to:schema:includeSchemaInPrompt:options:)-(Prompt,_,_,_)``.
  @discardableResult
  public final nonisolated(nonsending) func respond<Content>(
    to prompt: Prompt, generating type: Content.Type = Content.self, includeSchemaInPrompt: Bool = true,
    options: GenerationOptions = GenerationOptions()
  ) async throws -> Response<Content> where Content: Generable {
    try await turn(Request(prompt, AnswerForm(type, isShown: includeSchemaInPrompt), options, .showing(schema: includeSchemaInPrompt)))
      .response(of: type)
  }

  /// Answers a prompt with a value of a type.
  ///
  /// - Parameters:
  ///   - prompt: What is asked.
  ///   - type: The type.
  ///   - includeSchemaInPrompt: Whether the model is shown the type's schema.
  ///   - options: How tokens are chosen, and how many.
  /// - Throws: As ``respond(to:schema:includeSchemaInPrompt:options:)-(Prompt,_,_,_)``.
  @discardableResult @_disfavoredOverload
  public final nonisolated(nonsending) func respond<Content>(
    to prompt: String, generating type: Content.Type = Content.self, includeSchemaInPrompt: Bool = true,
    options: GenerationOptions = GenerationOptions()
  ) async throws -> Response<Content> where Content: Generable {
    try await respond(to: Prompt(prompt), generating: type, includeSchemaInPrompt: includeSchemaInPrompt, options: options)
  }

  /// Answers a prompt with a value of a type.
  ///
  /// - Parameters:
  ///   - type: The type.
  ///   - includeSchemaInPrompt: Whether the model is shown the type's schema.
  ///   - options: How tokens are chosen, and how many.
  ///   - prompt: What is asked.
  /// - Throws: As ``respond(to:schema:includeSchemaInPrompt:options:)-(Prompt,_,_,_)``, and what `prompt` throws.
  @discardableResult
  public final nonisolated(nonsending) func respond<Content>(
    generating type: Content.Type = Content.self, includeSchemaInPrompt: Bool = true, options: GenerationOptions = GenerationOptions(),
    @PromptBuilder prompt: () throws -> Prompt
  ) async throws -> Response<Content> where Content: Generable {
    try await respond(to: prompt(), generating: type, includeSchemaInPrompt: includeSchemaInPrompt, options: options)
  }
}
