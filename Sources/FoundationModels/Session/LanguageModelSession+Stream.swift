extension LanguageModelSession {
  /// Answers a prompt, as the answer is made, with text.
  ///
  /// - Parameters:
  ///   - prompt: What is asked.
  ///   - options: How tokens are chosen, and how many.
  /// - Returns: The stream; failures come from its iteration.
  public final func streamResponse(
    to prompt: Prompt, options: GenerationOptions = GenerationOptions()
  ) -> sending ResponseStream<String> {
    ResponseStream(stream(Request(prompt, .text, options)))
  }

  /// Answers a prompt, as the answer is made, with text.
  ///
  /// - Parameters:
  ///   - prompt: What is asked.
  ///   - options: How tokens are chosen, and how many.
  /// - Returns: The stream; failures come from its iteration.
  @_disfavoredOverload
  public final func streamResponse(
    to prompt: String, options: GenerationOptions = GenerationOptions()
  ) -> sending ResponseStream<String> {
    streamResponse(to: Prompt(prompt), options: options)
  }

  /// Answers a prompt, as the answer is made, with text.
  ///
  /// - Parameters:
  ///   - options: How tokens are chosen, and how many.
  ///   - prompt: What is asked.
  /// - Returns: The stream; failures come from its iteration.
  /// - Throws: What `prompt` throws.
  public final func streamResponse(
    options: GenerationOptions = GenerationOptions(), @PromptBuilder prompt: () throws -> Prompt
  ) rethrows -> sending ResponseStream<String> {
    try streamResponse(to: prompt(), options: options)
  }

  /// Answers a prompt, as the answer is made, with a value of a schema.
  ///
  /// - Parameters:
  ///   - prompt: What is asked.
  ///   - schema: The schema, which the answer satisfies whatever the model makes of the prompt.
  ///   - includeSchemaInPrompt: Whether the model is shown the schema, which costs tokens and helps it.
  ///   - options: How tokens are chosen, and how many.
  /// - Returns: The stream; failures come from its iteration.
  public final func streamResponse(
    to prompt: Prompt, schema: GenerationSchema, includeSchemaInPrompt: Bool = true, options: GenerationOptions = GenerationOptions()
  ) -> sending ResponseStream<GeneratedContent> {
    ResponseStream(
      stream(Request(prompt, .schema(schema, isShown: includeSchemaInPrompt), options, .showing(schema: includeSchemaInPrompt))))
  }

  /// Answers a prompt, as the answer is made, with a value of a schema.
  ///
  /// - Parameters:
  ///   - prompt: What is asked.
  ///   - schema: The schema.
  ///   - includeSchemaInPrompt: Whether the model is shown the schema.
  ///   - options: How tokens are chosen, and how many.
  /// - Returns: The stream; failures come from its iteration.
  @_disfavoredOverload
  public final func streamResponse(
    to prompt: String, schema: GenerationSchema, includeSchemaInPrompt: Bool = true, options: GenerationOptions = GenerationOptions()
  ) -> sending ResponseStream<GeneratedContent> {
    streamResponse(to: Prompt(prompt), schema: schema, includeSchemaInPrompt: includeSchemaInPrompt, options: options)
  }

  /// Answers a prompt, as the answer is made, with a value of a schema.
  ///
  /// - Parameters:
  ///   - schema: The schema.
  ///   - includeSchemaInPrompt: Whether the model is shown the schema.
  ///   - options: How tokens are chosen, and how many.
  ///   - prompt: What is asked.
  /// - Returns: The stream; failures come from its iteration.
  /// - Throws: What `prompt` throws.
  public final func streamResponse(
    schema: GenerationSchema, includeSchemaInPrompt: Bool = true, options: GenerationOptions = GenerationOptions(),
    @PromptBuilder prompt: () throws -> Prompt
  ) rethrows -> sending ResponseStream<GeneratedContent> {
    try streamResponse(to: prompt(), schema: schema, includeSchemaInPrompt: includeSchemaInPrompt, options: options)
  }

  /// Answers a prompt, as the answer is made, with a value of a type.
  ///
  /// - Parameters:
  ///   - prompt: What is asked.
  ///   - type: The type.
  ///   - includeSchemaInPrompt: Whether the model is shown the type's schema, which costs tokens and helps it.
  ///   - options: How tokens are chosen, and how many.
  /// - Returns: The stream; failures come from its iteration.
  public final func streamResponse<Content>(
    to prompt: Prompt, generating type: Content.Type = Content.self, includeSchemaInPrompt: Bool = true,
    options: GenerationOptions = GenerationOptions()
  ) -> sending ResponseStream<Content> where Content: Generable {
    ResponseStream(
      stream(Request(prompt, AnswerForm(type, isShown: includeSchemaInPrompt), options, .showing(schema: includeSchemaInPrompt))))
  }

  /// Answers a prompt, as the answer is made, with a value of a type.
  ///
  /// - Parameters:
  ///   - prompt: What is asked.
  ///   - type: The type.
  ///   - includeSchemaInPrompt: Whether the model is shown the type's schema.
  ///   - options: How tokens are chosen, and how many.
  /// - Returns: The stream; failures come from its iteration.
  @_disfavoredOverload
  public final func streamResponse<Content>(
    to prompt: String, generating type: Content.Type = Content.self, includeSchemaInPrompt: Bool = true,
    options: GenerationOptions = GenerationOptions()
  ) -> sending ResponseStream<Content> where Content: Generable {
    streamResponse(to: Prompt(prompt), generating: type, includeSchemaInPrompt: includeSchemaInPrompt, options: options)
  }

  /// Answers a prompt, as the answer is made, with a value of a type.
  ///
  /// - Parameters:
  ///   - type: The type.
  ///   - includeSchemaInPrompt: Whether the model is shown the type's schema.
  ///   - options: How tokens are chosen, and how many.
  ///   - prompt: What is asked.
  /// - Returns: The stream; failures come from its iteration.
  /// - Throws: What `prompt` throws.
  public final func streamResponse<Content>(
    generating type: Content.Type = Content.self, includeSchemaInPrompt: Bool = true, options: GenerationOptions = GenerationOptions(),
    @PromptBuilder prompt: () throws -> Prompt
  ) rethrows -> sending ResponseStream<Content> where Content: Generable {
    try streamResponse(to: prompt(), generating: type, includeSchemaInPrompt: includeSchemaInPrompt, options: options)
  }
}
