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
      } catch { throw SessionFailure.decoding(content.jsonString, error) }
    }
  }
}

extension LanguageModelSession.Response: Sendable where Content: Sendable {}
