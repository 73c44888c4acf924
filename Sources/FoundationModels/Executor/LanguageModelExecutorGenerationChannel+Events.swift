public import Foundation

extension LanguageModelExecutorGenerationChannel {
  /// Values that somebody wants to keep with an entry.
  public struct Metadata: Sendable {
    /// The values by their keys.
    public var values: [String: GeneratedContent]
  }

  /// Tokens of a request so far.
  public struct Usage: Sendable {
    /// Tokens that the model had before it.
    public struct Input: Sendable {
      /// All of them.
      public var totalTokenCount: Int
      /// The number of these that the model had read before.
      public var cachedTokenCount: Int

      /// Counts of tokens.
      ///
      /// - Parameters:
      ///   - totalTokenCount: All of them.
      ///   - cachedTokenCount: The number of these that the model had read before.
      public init(totalTokenCount: Int, cachedTokenCount: Int) {
        self.totalTokenCount = totalTokenCount
        self.cachedTokenCount = cachedTokenCount
      }
    }

    /// Tokens that the model made.
    public struct Output: Sendable {
      /// All of them.
      public var totalTokenCount: Int
      /// The number of these that were thoughts.
      public var reasoningTokenCount: Int

      /// Counts of tokens.
      ///
      /// - Parameters:
      ///   - totalTokenCount: All of them.
      ///   - reasoningTokenCount: The number of these that were thoughts.
      public init(totalTokenCount: Int, reasoningTokenCount: Int) {
        self.totalTokenCount = totalTokenCount
        self.reasoningTokenCount = reasoningTokenCount
      }
    }

    /// Tokens that the model had before it.
    public var input: Input
    /// Tokens that the model made.
    public var output: Output
    /// Values that somebody wants to keep with the counts.
    public var metadata: [String: GeneratedContent]

    /// Counts of tokens.
    ///
    /// - Parameters:
    ///   - input: Tokens that the model had before it.
    ///   - output: Tokens that the model made.
    ///   - metadata: Values that somebody wants to keep with the counts.
    public init(input: Input, output: Output, metadata: [String: any ConvertibleToGeneratedContent] = [:]) {
      self.input = input
      self.output = output
      self.metadata = metadata.contents
    }
  }

  /// Text that goes on behind the text of a segment.
  public struct TextFragment: Sendable {
    /// The text.
    public var content: String
    /// The segment; nil for the last one.
    public var segmentID: String?
    /// The tokens of the text.
    public var tokenCount: Int
  }

  /// Text that a segment has instead of what it had.
  public struct TextSegmentReplacement: Sendable {
    /// The text.
    public var content: String
    /// The segment; nil for the last one.
    public var segmentID: String?
    /// The tokens of the text.
    public var tokenCount: Int
  }

  /// Something that makes sure that thoughts are those of the model.
  public struct ReasoningSignature: Sendable {
    /// The bytes.
    public var signature: Data
    /// The tokens of the thoughts that it signs, where no event told them.
    public var tokenCount: Int
  }

  /// A part of the answer.
  public struct Response: Sendable {
    /// Something that happens to an answer.
    public struct Action: Sendable {
      enum Operation: Sendable {
        /// A segment goes on.
        case appendText(TextFragment)
        /// A segment is another one than it was.
        case replaceTextSegment(TextSegmentReplacement)
        #if FoundationModels27
          /// A thing beside the words is there, in place of one of the same identifier where there is one.
          case addAttachmentSegment(Transcript.AttachmentSegment)
          /// A thing beside the words is taken back.
          case removeAttachmentSegment(id: String)
        #endif
        /// The answer has these values beside it.
        case updateMetadata(Metadata)
        /// The tokens of the step, all together so far.
        case updateUsage(Usage)
      }

      let operation: Operation
    }

    /// The identifier that the answer has in the transcript; nil for any.
    public var entryID: String?
    /// The thing that happens to the answer.
    public var action: Action
  }

  /// A part of the thoughts before the answer. Their tokens count; their text is in no answer. In the transcript they are with the trait
  /// `FoundationModels27` alone, as an entry of their own.
  public struct Reasoning: Sendable {
    /// Something that happens to thoughts.
    public struct Action: Sendable {
      enum Operation: Sendable {
        /// A segment goes on.
        case appendText(TextFragment)
        /// A segment is another one than it was.
        case replaceTextSegment(TextSegmentReplacement)
        /// The thoughts are signed.
        case updateSignature(ReasoningSignature)
        /// The thoughts have these values beside them.
        case updateMetadata(Metadata)
        /// The tokens of the step, all together so far.
        case updateUsage(Usage)
      }

      let operation: Operation
    }

    /// The identifier that the thoughts have in the transcript; nil for any.
    public var entryID: String?
    /// The thing that happens to the thoughts.
    public var action: Action
  }

  /// A part of calls of tools.
  public struct ToolCalls: Sendable {
    /// Something that happens to calls.
    public struct Action: Sendable {
      enum Operation: Sendable {
        /// Something happens to one call; the first time it begins.
        case toolCall(ToolCall)
        /// A call is taken back.
        case removeToolCall(id: String)
        /// The calls have these values beside them.
        case updateMetadata(Metadata)
        /// The tokens of the step, all together so far.
        case updateUsage(Usage)
      }

      let operation: Operation
    }

    /// Something that happens to one call.
    public struct ToolCall: Sendable {
      /// Something that happens to a call.
      public struct Action: Sendable {
        enum Operation: Sendable {
          /// The arguments go on.
          case appendArguments(ArgumentsFragment)
          /// The call has these values beside it.
          case updateMetadata(Metadata)
        }

        let operation: Operation
      }

      /// Text that goes on behind the JSON of arguments.
      public struct ArgumentsFragment: Sendable {
        /// The text.
        public var content: String
        /// The tokens of the text.
        public var tokenCount: Int
      }

      /// The identifier of the call.
      public var id: String
      /// The name of the tool.
      public var name: String
      /// The thing that happens to the call.
      public var action: Action
    }

    /// The identifier that the calls have in the transcript; nil for any.
    public var entryID: String?
    /// The thing that happens to the calls.
    public var action: Action
  }
}
