extension LanguageModelSession {
  /// Answers a prompt with text.
  ///
  /// - Parameters:
  ///   - prompt: What is asked.
  ///   - options: How tokens are chosen, and how many.
  ///   - contextOptions: What the model is shown.
  ///   - metadata: Values that the transcript keeps with the prompt.
  /// - Throws: As ``respond(to:options:)-(Prompt,_)``; ``LanguageModelError/unsupportedCapability(_:)``.
  @discardableResult @_disfavoredOverload
  public final nonisolated(nonsending) func respond(
    to prompt: Prompt,
    options: GenerationOptions = GenerationOptions(),
    contextOptions: ContextOptions = ContextOptions(),
    metadata: [String: any ConvertibleToGeneratedContent] = [:]
  ) async throws -> Response<String> {
    try await turn(Request(prompt, .text, options, contextOptions, metadata)).response(of: String.self)
  }

  /// Answers a prompt with text.
  ///
  /// - Parameters:
  ///   - prompt: What is asked.
  ///   - options: How tokens are chosen, and how many.
  ///   - contextOptions: What the model is shown.
  ///   - metadata: Values that the transcript keeps with the prompt.
  /// - Throws: As ``respond(to:options:)-(Prompt,_)``; ``LanguageModelError/unsupportedCapability(_:)``.
  @discardableResult @_disfavoredOverload
  public final nonisolated(nonsending) func respond(
    to prompt: String,
    options: GenerationOptions = GenerationOptions(),
    contextOptions: ContextOptions = ContextOptions(),
    metadata: [String: any ConvertibleToGeneratedContent] = [:]
  ) async throws -> Response<String> {
    try await turn(Request(Prompt(prompt), .text, options, contextOptions, metadata)).response(of: String.self)
  }

  /// Answers a prompt with text.
  ///
  /// - Parameters:
  ///   - options: How tokens are chosen, and how many.
  ///   - contextOptions: What the model is shown.
  ///   - metadata: Values that the transcript keeps with the prompt.
  ///   - prompt: What is asked.
  /// - Throws: As ``respond(to:options:)-(Prompt,_)``, and what `prompt` throws; ``LanguageModelError/unsupportedCapability(_:)``.
  @discardableResult @_disfavoredOverload
  public final nonisolated(nonsending) func respond(
    options: GenerationOptions = GenerationOptions(),
    contextOptions: ContextOptions = ContextOptions(),
    metadata: [String: any ConvertibleToGeneratedContent] = [:],
    @PromptBuilder prompt: () throws -> Prompt
  ) async throws -> Response<String> {
    try await turn(Request(prompt(), .text, options, contextOptions, metadata)).response(of: String.self)
  }

  /// Answers a prompt with a value of a schema.
  ///
  /// - Parameters:
  ///   - prompt: What is asked.
  ///   - schema: The schema.
  ///   - options: How tokens are chosen, and how many.
  ///   - contextOptions: What the model is shown.
  ///   - metadata: Values that the transcript keeps with the prompt.
  /// - Throws: As ``respond(to:options:)-(Prompt,_)``; ``LanguageModelError/unsupportedCapability(_:)``.
  @discardableResult @_disfavoredOverload
  public final nonisolated(nonsending) func respond(
    to prompt: Prompt,
    schema: GenerationSchema,
    options: GenerationOptions = GenerationOptions(),
    contextOptions: ContextOptions = ContextOptions(includeSchemaInPrompt: true),
    metadata: [String: any ConvertibleToGeneratedContent] = [:]
  ) async throws -> Response<GeneratedContent> {
    try await turn(Request(prompt, .schema(schema, isShown: contextOptions.showsSchema), options, contextOptions, metadata)).response(
      of: GeneratedContent.self)
  }

  /// Answers a prompt with a value of a schema.
  ///
  /// - Parameters:
  ///   - prompt: What is asked.
  ///   - schema: The schema.
  ///   - options: How tokens are chosen, and how many.
  ///   - contextOptions: What the model is shown.
  ///   - metadata: Values that the transcript keeps with the prompt.
  /// - Throws: As ``respond(to:options:)-(Prompt,_)``; ``LanguageModelError/unsupportedCapability(_:)``.
  @discardableResult @_disfavoredOverload
  public final nonisolated(nonsending) func respond(
    to prompt: String,
    schema: GenerationSchema,
    options: GenerationOptions = GenerationOptions(),
    contextOptions: ContextOptions = ContextOptions(includeSchemaInPrompt: true),
    metadata: [String: any ConvertibleToGeneratedContent] = [:]
  ) async throws -> Response<GeneratedContent> {
    try await turn(Request(Prompt(prompt), .schema(schema, isShown: contextOptions.showsSchema), options, contextOptions, metadata))
      .response(of: GeneratedContent.self)
  }

  /// Answers a prompt with a value of a schema.
  ///
  /// - Parameters:
  ///   - schema: The schema.
  ///   - options: How tokens are chosen, and how many.
  ///   - contextOptions: What the model is shown.
  ///   - metadata: Values that the transcript keeps with the prompt.
  ///   - prompt: What is asked.
  /// - Throws: As ``respond(to:options:)-(Prompt,_)``, and what `prompt` throws; ``LanguageModelError/unsupportedCapability(_:)``.
  @discardableResult @_disfavoredOverload
  public final nonisolated(nonsending) func respond(
    schema: GenerationSchema,
    options: GenerationOptions = GenerationOptions(),
    contextOptions: ContextOptions = ContextOptions(includeSchemaInPrompt: true),
    metadata: [String: any ConvertibleToGeneratedContent] = [:],
    @PromptBuilder prompt: () throws -> Prompt
  ) async throws -> Response<GeneratedContent> {
    try await turn(Request(prompt(), .schema(schema, isShown: contextOptions.showsSchema), options, contextOptions, metadata)).response(
      of: GeneratedContent.self)
  }

  /// Answers a prompt with a value of a type.
  ///
  /// - Parameters:
  ///   - prompt: What is asked.
  ///   - type: The type.
  ///   - options: How tokens are chosen, and how many.
  ///   - contextOptions: What the model is shown.
  ///   - metadata: Values that the transcript keeps with the prompt.
  /// - Throws: As ``respond(to:options:)-(Prompt,_)``; ``LanguageModelError/unsupportedCapability(_:)``.
  @discardableResult @_disfavoredOverload
  public final nonisolated(nonsending) func respond<Content>(
    to prompt: Prompt,
    generating type: Content.Type = Content.self,
    options: GenerationOptions = GenerationOptions(),
    contextOptions: ContextOptions = ContextOptions(includeSchemaInPrompt: true),
    metadata: [String: any ConvertibleToGeneratedContent] = [:]
  ) async throws -> Response<Content> where Content: Generable {
    try await turn(Request(prompt, AnswerForm(type, isShown: contextOptions.showsSchema), options, contextOptions, metadata)).response(
      of: Content.self)
  }

  /// Answers a prompt with a value of a type.
  ///
  /// - Parameters:
  ///   - prompt: What is asked.
  ///   - type: The type.
  ///   - options: How tokens are chosen, and how many.
  ///   - contextOptions: What the model is shown.
  ///   - metadata: Values that the transcript keeps with the prompt.
  /// - Throws: As ``respond(to:options:)-(Prompt,_)``; ``LanguageModelError/unsupportedCapability(_:)``.
  @discardableResult @_disfavoredOverload
  public final nonisolated(nonsending) func respond<Content>(
    to prompt: String,
    generating type: Content.Type = Content.self,
    options: GenerationOptions = GenerationOptions(),
    contextOptions: ContextOptions = ContextOptions(includeSchemaInPrompt: true),
    metadata: [String: any ConvertibleToGeneratedContent] = [:]
  ) async throws -> Response<Content> where Content: Generable {
    try await turn(Request(Prompt(prompt), AnswerForm(type, isShown: contextOptions.showsSchema), options, contextOptions, metadata))
      .response(of: Content.self)
  }

  /// Answers a prompt with a value of a type.
  ///
  /// - Parameters:
  ///   - type: The type.
  ///   - options: How tokens are chosen, and how many.
  ///   - contextOptions: What the model is shown.
  ///   - metadata: Values that the transcript keeps with the prompt.
  ///   - prompt: What is asked.
  /// - Throws: As ``respond(to:options:)-(Prompt,_)``, and what `prompt` throws; ``LanguageModelError/unsupportedCapability(_:)``.
  @discardableResult @_disfavoredOverload
  public final nonisolated(nonsending) func respond<Content>(
    generating type: Content.Type = Content.self,
    options: GenerationOptions = GenerationOptions(),
    contextOptions: ContextOptions = ContextOptions(includeSchemaInPrompt: true),
    metadata: [String: any ConvertibleToGeneratedContent] = [:],
    @PromptBuilder prompt: () throws -> Prompt
  ) async throws -> Response<Content> where Content: Generable {
    try await turn(Request(prompt(), AnswerForm(type, isShown: contextOptions.showsSchema), options, contextOptions, metadata)).response(
      of: Content.self)
  }
}
