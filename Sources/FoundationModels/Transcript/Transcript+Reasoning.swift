#if FoundationModels27
  public import Foundation

  extension Transcript {
    /// Thoughts of a model before it answers or calls tools.
    ///
    /// Models that run here have none. Those of others tell them by ``LanguageModelExecutorGenerationChannel/Reasoning``.
    public struct Reasoning: Sendable, Identifiable, Equatable {
      /// The identifier.
      public var id: String
      /// The parts, in order.
      public var segments: [Segment]
      /// Bytes by which the model knows that the thoughts are its own; nil where nobody signed them.
      public var signature: Data?
      /// Values of whoever made them.
      public var metadata: [String: GeneratedContent]

      /// Thoughts.
      ///
      /// - Parameters:
      ///   - id: The identifier.
      ///   - metadata: Values of whoever made them.
      ///   - segments: The parts, in order.
      ///   - signature: Bytes by which the model knows that the thoughts are its own.
      public init(
        id: String = UUID().uuidString, metadata: [String: any ConvertibleToGeneratedContent] = [:], segments: [Segment],
        signature: Data? = nil
      ) {
        self.id = id
        self.segments = segments
        self.signature = signature
        self.metadata = metadata.contents
      }
    }
  }

  extension Transcript.Reasoning: CustomStringConvertible {
    /// The text on one line.
    public var description: String { "Reasoning: \(segments.text)".onOneLine }
  }
#endif
