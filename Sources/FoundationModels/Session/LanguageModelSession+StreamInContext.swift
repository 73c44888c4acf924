extension LanguageModelSession {
  /// Answers a prompt, as the answer is made, with text.
  ///
  /// - Parameters:
  ///   - prompt: What is asked.
  ///   - options: How tokens are chosen, and how many.
  ///   - contextOptions: What the model is shown.
  ///   - metadata: Values that the transcript keeps with the prompt.
  /// - Returns: The stream; failures come from its iteration.
  @_disfavoredOverload
  public final func streamResponse(
    to prompt: Prompt,
    options: GenerationOptions = GenerationOptions(),
    contextOptions: ContextOptions = ContextOptions(),
    metadata: [String: any ConvertibleToGeneratedContent] = [:]
  ) -> sending ResponseStream<String> {
    ResponseStream(stream(Request(prompt, .text, options, contextOptions, metadata)))
  }

  /// Answers a prompt, as the answer is made, with text.
  ///
  /// - Parameters:
  ///   - prompt: What is asked.
  ///   - options: How tokens are chosen, and how many.
  ///   - contextOptions: What the model is shown.
  ///   - metadata: Values that the transcript keeps with the prompt.
  /// - Returns: The stream; failures come from its iteration.
  @_disfavoredOverload
  public final func streamResponse(
    to prompt: String,
    options: GenerationOptions = GenerationOptions(),
    contextOptions: ContextOptions = ContextOptions(),
    metadata: [String: any ConvertibleToGeneratedContent] = [:]
  ) -> sending ResponseStream<String> {
    ResponseStream(stream(Request(Prompt(prompt), .text, options, contextOptions, metadata)))
  }

  /// Answers a prompt, as the answer is made, with text.
  ///
  /// - Parameters:
  ///   - options: How tokens are chosen, and how many.
  ///   - contextOptions: What the model is shown.
  ///   - metadata: Values that the transcript keeps with the prompt.
  ///   - prompt: What is asked.
  /// - Returns: The stream; failures come from its iteration.
  /// - Throws: What `prompt` throws.
  @_disfavoredOverload
  public final func streamResponse(
    options: GenerationOptions = GenerationOptions(),
    contextOptions: ContextOptions = ContextOptions(),
    metadata: [String: any ConvertibleToGeneratedContent] = [:],
    @PromptBuilder prompt: () throws -> Prompt
  ) rethrows -> sending ResponseStream<String> {
    try ResponseStream(stream(Request(prompt(), .text, options, contextOptions, metadata)))
  }

  /// Answers a prompt, as the answer is made, with a value of a schema.
  ///
  /// - Parameters:
  ///   - prompt: What is asked.
  ///   - schema: The schema.
  ///   - options: How tokens are chosen, and how many.
  ///   - contextOptions: What the model is shown.
  ///   - metadata: Values that the transcript keeps with the prompt.
  /// - Returns: The stream; failures come from its iteration.
  @_disfavoredOverload
  public final func streamResponse(
    to prompt: Prompt,
    schema: GenerationSchema,
    options: GenerationOptions = GenerationOptions(),
    contextOptions: ContextOptions = ContextOptions(includeSchemaInPrompt: true),
    metadata: [String: any ConvertibleToGeneratedContent] = [:]
  ) -> sending ResponseStream<GeneratedContent> {
    ResponseStream(stream(Request(prompt, .schema(schema, isShown: contextOptions.showsSchema), options, contextOptions, metadata)))
  }

  /// Answers a prompt, as the answer is made, with a value of a schema.
  ///
  /// - Parameters:
  ///   - prompt: What is asked.
  ///   - schema: The schema.
  ///   - options: How tokens are chosen, and how many.
  ///   - contextOptions: What the model is shown.
  ///   - metadata: Values that the transcript keeps with the prompt.
  /// - Returns: The stream; failures come from its iteration.
  @_disfavoredOverload
  public final func streamResponse(
    to prompt: String,
    schema: GenerationSchema,
    options: GenerationOptions = GenerationOptions(),
    contextOptions: ContextOptions = ContextOptions(includeSchemaInPrompt: true),
    metadata: [String: any ConvertibleToGeneratedContent] = [:]
  ) -> sending ResponseStream<GeneratedContent> {
    ResponseStream(stream(Request(Prompt(prompt), .schema(schema, isShown: contextOptions.showsSchema), options, contextOptions, metadata)))
  }

  /// Answers a prompt, as the answer is made, with a value of a schema.
  ///
  /// - Parameters:
  ///   - schema: The schema.
  ///   - options: How tokens are chosen, and how many.
  ///   - contextOptions: What the model is shown.
  ///   - metadata: Values that the transcript keeps with the prompt.
  ///   - prompt: What is asked.
  /// - Returns: The stream; failures come from its iteration.
  /// - Throws: What `prompt` throws.
  @_disfavoredOverload
  public final func streamResponse(
    schema: GenerationSchema,
    options: GenerationOptions = GenerationOptions(),
    contextOptions: ContextOptions = ContextOptions(includeSchemaInPrompt: true),
    metadata: [String: any ConvertibleToGeneratedContent] = [:],
    @PromptBuilder prompt: () throws -> Prompt
  ) rethrows -> sending ResponseStream<GeneratedContent> {
    try ResponseStream(stream(Request(prompt(), .schema(schema, isShown: contextOptions.showsSchema), options, contextOptions, metadata)))
  }

  /// Answers a prompt, as the answer is made, with a value of a type.
  ///
  /// - Parameters:
  ///   - prompt: What is asked.
  ///   - type: The type.
  ///   - options: How tokens are chosen, and how many.
  ///   - contextOptions: What the model is shown.
  ///   - metadata: Values that the transcript keeps with the prompt.
  /// - Returns: The stream; failures come from its iteration.
  @_disfavoredOverload
  public final func streamResponse<Content>(
    to prompt: Prompt,
    generating type: Content.Type = Content.self,
    options: GenerationOptions = GenerationOptions(),
    contextOptions: ContextOptions = ContextOptions(includeSchemaInPrompt: true),
    metadata: [String: any ConvertibleToGeneratedContent] = [:]
  ) -> sending ResponseStream<Content> where Content: Generable {
    ResponseStream(stream(Request(prompt, AnswerForm(type, isShown: contextOptions.showsSchema), options, contextOptions, metadata)))
  }

  /// Answers a prompt, as the answer is made, with a value of a type.
  ///
  /// - Parameters:
  ///   - prompt: What is asked.
  ///   - type: The type.
  ///   - options: How tokens are chosen, and how many.
  ///   - contextOptions: What the model is shown.
  ///   - metadata: Values that the transcript keeps with the prompt.
  /// - Returns: The stream; failures come from its iteration.
  @_disfavoredOverload
  public final func streamResponse<Content>(
    to prompt: String,
    generating type: Content.Type = Content.self,
    options: GenerationOptions = GenerationOptions(),
    contextOptions: ContextOptions = ContextOptions(includeSchemaInPrompt: true),
    metadata: [String: any ConvertibleToGeneratedContent] = [:]
  ) -> sending ResponseStream<Content> where Content: Generable {
    ResponseStream(
      stream(Request(Prompt(prompt), AnswerForm(type, isShown: contextOptions.showsSchema), options, contextOptions, metadata)))
  }

  /// Answers a prompt, as the answer is made, with a value of a type.
  ///
  /// - Parameters:
  ///   - type: The type.
  ///   - options: How tokens are chosen, and how many.
  ///   - contextOptions: What the model is shown.
  ///   - metadata: Values that the transcript keeps with the prompt.
  ///   - prompt: What is asked.
  /// - Returns: The stream; failures come from its iteration.
  /// - Throws: What `prompt` throws.
  @_disfavoredOverload
  public final func streamResponse<Content>(
    generating type: Content.Type = Content.self,
    options: GenerationOptions = GenerationOptions(),
    contextOptions: ContextOptions = ContextOptions(includeSchemaInPrompt: true),
    metadata: [String: any ConvertibleToGeneratedContent] = [:],
    @PromptBuilder prompt: () throws -> Prompt
  ) rethrows -> sending ResponseStream<Content> where Content: Generable {
    try ResponseStream(stream(Request(prompt(), AnswerForm(type, isShown: contextOptions.showsSchema), options, contextOptions, metadata)))
  }
}
