internal import Foundation

extension LanguageModelSession {
  /// An answer of the model.
  public struct Response<Content> where Content: Generable {
    /// The answer as a value of the type that was asked for.
    public let content: Content
    /// The answer as the model made it.
    public let rawContent: GeneratedContent
    /// The entries that this turn added to the transcript: the prompt, calls of tools with what they gave, and the answer.
    public let transcriptEntries: ArraySlice<Transcript.Entry>
    /// The tokens that went in and out.
    public let usage: Usage
  }

  /// Tokens of a turn, or of a session.
  public struct Usage: Sendable, Equatable {
    /// Tokens that the model had before it, all rounds of tools together.
    public internal(set) var promptTokens = 0
    /// The number of these that went through the model: the others it had read before.
    public internal(set) var readTokens = 0
    /// Tokens that the model made, those of calls among them.
    public internal(set) var responseTokens = 0

    mutating func add(_ other: Usage) {
      promptTokens += other.promptTokens
      readTokens += other.readTokens
      responseTokens += other.responseTokens
    }
  }

  /// An answer as it was made, before it becomes a value of a type.
  struct RawResponse: Sendable {
    /// The words that the model made.
    var text: String
    var content: GeneratedContent
    var entries: ArraySlice<Transcript.Entry>
    var usage: Usage

    /// The answer as a value of a type.
    func response<Content: Generable>(of type: Content.Type) throws -> Response<Content> {
      do {
        return Response(content: try Content(content), rawContent: content, transcriptEntries: entries, usage: usage)
      } catch let error as GenerationError { throw error } catch {
        throw GenerationError.decodingFailure(
          .init(debugDescription: "\(error.localizedDescription) The model made: \(content.jsonString)"))
      }
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
