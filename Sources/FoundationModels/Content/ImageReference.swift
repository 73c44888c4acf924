#if FoundationModels27
  /// The name of an image of the transcript, as a model says it.
  ///
  /// ```swift
  /// let best = try await session.respond(to: "Which picture is the sharpest?", generating: ImageReference.self).content
  /// let image = best.resolved(in: session.transcript)
  /// ```
  public struct ImageReference: Sendable, Equatable {
    /// The name, as ``Attachment/label(_:)`` gave it.
    public let attachmentLabel: String

    /// Finds the image.
    ///
    /// - Parameter entries: The transcript that has it, or some of its entries.
    /// - Returns: The last image of that name; nil where there is none.
    public func resolved(in entries: some Sequence<Transcript.Entry>) -> Transcript.ImageAttachment? {
      for entry in entries.reversed() {
        for case .attachment(let segment) in entry.segments.reversed() where segment.label == attachmentLabel {
          switch segment.content {
          case .image(let image): return image
          }
        }
      }
      return nil
    }
  }

  extension ImageReference: Generable {
    /// A reference that is being made.
    public struct PartiallyGenerated: Identifiable, ConvertibleFromGeneratedContent, Equatable {
      /// An identifier that stays the same while it is made.
      public var id: GenerationID
      /// The name so far.
      public var attachmentLabel: String.PartiallyGenerated?

      /// Reads what there is of a reference.
      ///
      /// - Parameter content: The content.
      /// - Throws: An error for what is no object.
      public init(_ content: GeneratedContent) throws {
        id = content.id ?? GenerationID()
        attachmentLabel = try content.value(forProperty: "attachmentLabel")
      }
    }

    /// An object with the name.
    public static var generationSchema: GenerationSchema {
      GenerationSchema(
        type: Self.self, properties: [.init(name: "attachmentLabel", description: "The label of an image", type: String.self)])
    }

    /// Reads a reference.
    ///
    /// - Parameter content: The content.
    /// - Throws: An error for what is no reference.
    public init(_ content: GeneratedContent) throws { attachmentLabel = try content.value(forProperty: "attachmentLabel") }

    /// An object with the name.
    public var generatedContent: GeneratedContent { GeneratedContent(properties: ["attachmentLabel": attachmentLabel]) }
  }
#endif
