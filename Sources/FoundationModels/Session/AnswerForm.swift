extension LanguageModelSession {
  /// A request as it was made.
  struct Request: Sendable {
    let prompt: Prompt
    let form: AnswerForm
    let options: GenerationOptions
    let contextOptions: ContextOptions
    let metadata: [String: GeneratedContent]

    init(
      _ prompt: Prompt, _ form: AnswerForm, _ options: GenerationOptions, _ contextOptions: ContextOptions = ContextOptions(),
      _ metadata: [String: any ConvertibleToGeneratedContent] = [:]
    ) {
      (self.prompt, self.form, self.options, self.contextOptions) = (prompt, form, options, contextOptions)
      self.metadata = metadata.contents
    }

    /// The prompt as the transcript keeps it. A format in it is one that the model is shown.
    var entry: Transcript.Prompt {
      let format = form.isShown ? form.schema.map { Transcript.ResponseFormat(name: form.name, schema: $0) } : nil
      return Transcript.Prompt(
        metadata: metadata, segments: prompt.segments, options: options, responseFormat: format, contextOptions: contextOptions)
    }
  }

  /// The form of an answer.
  struct AnswerForm: Sendable {
    /// The schema that it satisfies; nil for text.
    var schema: GenerationSchema?
    /// The name of its type.
    var name = "String"
    /// True where the model is shown the schema.
    var isShown = false
    /// Fails for an answer that is no value of the type.
    var check: @Sendable (GeneratedContent) throws -> Void = { _ in }

    static let text = AnswerForm()

    static func schema(_ schema: GenerationSchema, isShown: Bool) -> AnswerForm {
      AnswerForm(schema: schema, name: schema.name, isShown: isShown)
    }

    /// The form of a type: text for `String`.
    init<Content: Generable>(_ type: Content.Type, isShown: Bool) {
      guard type != String.self else { return }
      schema = Content.generationSchema
      name = String(describing: type)
      self.isShown = isShown
      check = { _ = try Content($0) }
    }

    private init(schema: GenerationSchema? = nil, name: String = "String", isShown: Bool = false) {
      (self.schema, self.name, self.isShown) = (schema, name, isShown)
    }

    /// The answer as content: text, or what its JSON says.
    func content(_ text: String, id: GenerationID) throws -> GeneratedContent {
      guard schema != nil else { return GeneratedContent(text, id: id) }
      var streamed = StreamedContent(id: id)
      let content = try streamed.update(text)
      try check(content)
      return content
    }
  }
}

extension ContextOptions {
  /// The options of requests that say no more than this.
  static func showing(schema isShown: Bool) -> Self { Self(includeSchemaInPrompt: isShown ? nil : false) }

  /// True where the model is shown the schema.
  var showsSchema: Bool { includeSchemaInPrompt ?? true }
}
