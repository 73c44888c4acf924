#if FoundationModels27
  internal import Foundation

  extension Transcript {
    /// A part of an entry of a client's own kind, which executors of the client's own know how to read.
    ///
    /// Models that run here read the JSON of the content. A transcript that was read from JSON has such a segment with the same content and
    /// identifier, and not of the client's type, of which the JSON says nothing.
    public protocol CustomSegment: InstructionsRepresentable, PromptRepresentable, CustomStringConvertible, Equatable, Identifiable,
      Sendable
    {
      /// The type of the content.
      associatedtype Content: Decodable, Encodable, Equatable, Sendable
      /// The identifier.
      var id: String { get }
      /// The content.
      var content: Content { get }
    }
  }

  extension Transcript.CustomSegment {
    /// A prompt of this segment.
    public var promptRepresentation: Prompt { return Prompt(segments: [.custom(self)]) }

    /// Instructions of this segment.
    public var instructionsRepresentation: Instructions { return Instructions(segments: [.custom(self)]) }

    /// The name of the type and the JSON of the content, on one line.
    public var description: String { "\(type(of: self)) \(json)".onOneLine }

    /// Compares segments of any kinds.
    ///
    /// - Parameter other: Another segment.
    /// - Returns: True if both are of one type and equal.
    public func isEqual(to other: some Transcript.CustomSegment) -> Bool { other as? Self == self }

    /// The JSON of the content; empty where it has none.
    var json: String {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      return (try? encoder.encode(content)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
  }

  /// A segment of a client's own kind that came from JSON.
  struct ReadCustomSegment: Transcript.CustomSegment {
    let id: String
    let content: JSONCodable

    /// The JSON of the content, on one line.
    var description: String { json.onOneLine }
  }
#endif
