#if FoundationModels27
  public import Foundation

  /// Something that can be attached to a prompt or to instructions.
  public protocol AttachmentContent {}

  /// An image that can be attached.
  public struct ImageAttachmentContent: AttachmentContent, Sendable, Equatable {
    let image: Transcript.ImageAttachment
  }

  /// Something beside the words of a prompt.
  ///
  /// ```swift
  /// let answer = try await session.respond {
  ///   "Which plant is this?"
  ///   Attachment(imageURL: file).label("leaf")
  /// }
  /// ```
  ///
  /// Models that run here cannot see: ``LanguageModelError/unsupportedCapability(_:)`` is thrown for ``LanguageModelCapabilities/Capability/vision``. Executors
  /// of models that can are told the image in the transcript.
  public struct Attachment<Content> where Content: AttachmentContent {
    let content: Content
    private(set) var name: String?

    /// The same thing with a name by which answers can refer to it.
    ///
    /// - Parameter label: The name.
    /// - Returns: The thing.
    public func label(_ label: String) -> Attachment<Content> {
      var named = self
      named.name = label
      return named
    }
  }

  extension Attachment where Content == ImageAttachmentContent {
    /// An image in a file.
    ///
    /// - Parameters:
    ///   - imageURL: The address.
    ///   - orientation: The way in which the image has to be turned; nil for not at all.
    public init(imageURL: URL, orientation: CGImagePropertyOrientation? = nil) {
      content = ImageAttachmentContent(image: Transcript.ImageAttachment(imageURL: imageURL, orientation: orientation))
    }

    private var segment: Transcript.Segment {
      .attachment(Transcript.AttachmentSegment(content: .image(content.image), label: name))
    }
  }

  extension Attachment: PromptRepresentable, InstructionsRepresentable where Content == ImageAttachmentContent {
    /// A prompt of the image alone.
    public var promptRepresentation: Prompt { return Prompt(segments: [segment]) }

    /// Instructions of the image alone.
    public var instructionsRepresentation: Instructions { return Instructions(segments: [segment]) }
  }

  extension Attachment: Sendable where Content: Sendable {}
#endif
