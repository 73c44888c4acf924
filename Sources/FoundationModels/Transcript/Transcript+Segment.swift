public import Foundation

extension Transcript {
  /// A part of an entry.
  public enum Segment: Sendable, Identifiable, Equatable {
    /// Text.
    case text(TextSegment)
    /// A value with a structure.
    case structure(StructuredSegment)
    #if FoundationModels27
      /// Something beside the words, such as an image.
      case attachment(AttachmentSegment)
    #endif

    /// The identifier of what the segment holds.
    public var id: String {
      switch self {
      case .text(let segment): segment.id
      case .structure(let segment): segment.id
      #if FoundationModels27
        case .attachment(let segment): segment.id
      #endif
      }
    }
  }

  /// A text that is a part of an entry.
  public struct TextSegment: Sendable, Identifiable, Equatable {
    /// The identifier.
    public var id: String
    /// The text.
    public var content: String

    /// A text.
    ///
    /// - Parameters:
    ///   - id: The identifier.
    ///   - content: The text.
    public init(id: String = UUID().uuidString, content: String) {
      self.id = id
      self.content = content
    }
  }

  /// A value with a structure that is a part of an entry.
  public struct StructuredSegment: Sendable, Identifiable, Equatable {
    /// The identifier.
    public var id: String
    /// The name of the type, or of the schema, that the value was made by.
    public var source: String
    /// The value.
    public var content: GeneratedContent

    /// A value.
    ///
    /// - Parameters:
    ///   - id: The identifier.
    ///   - source: The name of the type of the value.
    ///   - content: The value.
    public init(id: String = UUID().uuidString, source: String, content: GeneratedContent) {
      self.id = id
      self.source = source
      self.content = content
    }

    /// A value, by the newer name of its source.
    ///
    /// - Parameters:
    ///   - id: The identifier.
    ///   - schemaName: The name of the schema of the value.
    ///   - content: The value.
    public init(id: String = UUID().uuidString, schemaName: String, content: GeneratedContent) {
      self.init(id: id, source: schemaName, content: content)
    }

    /// The name of the schema that the value was made by: another name of ``source``.
    public var schemaName: String {
      get { source }
      set { source = newValue }
    }
  }
}
