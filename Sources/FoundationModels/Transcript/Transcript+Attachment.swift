#if FoundationModels27
  public import Foundation

  extension Transcript {
    /// Something beside the words that is a part of an entry.
    public struct AttachmentSegment: Sendable, Identifiable, Equatable {
      /// The identifier.
      public var id: String
      /// The thing.
      public var content: Attachment
      /// A name by which answers can refer to it; see ``ImageReference``.
      public var label: String?

      /// A thing with its name.
      ///
      /// - Parameters:
      ///   - id: The identifier.
      ///   - content: The thing.
      ///   - label: A name by which answers can refer to it.
      public init(id: String = UUID().uuidString, content: Attachment, label: String? = nil) {
        self.id = id
        self.content = content
        self.label = label
      }
    }

    /// The things that can be attached.
    public enum Attachment: Sendable, Equatable {
      /// An image.
      case image(ImageAttachment)
    }

    /// An image: the address of its file. Nothing is read until somebody who can see asks for it.
    public struct ImageAttachment: Sendable, Equatable {
      /// The address. It is never nil here: images of other frameworks, which have none, do not exist on Linux.
      public let url: URL?
      /// The way in which the image has to be turned to be seen as it was meant.
      public let orientation: CGImagePropertyOrientation

      /// An image in a file.
      ///
      /// - Parameters:
      ///   - imageURL: The address.
      ///   - orientation: The way in which the image has to be turned; nil for not at all.
      public init(imageURL: URL, orientation: CGImagePropertyOrientation? = nil) {
        url = imageURL
        self.orientation = orientation ?? .up
      }
    }
  }

  extension Transcript.AttachmentSegment: CustomStringConvertible {
    /// The name and the address, on one line.
    public var description: String {
      let address =
        switch content {
        case .image(let image): image.url?.absoluteString ?? ""
        }
      return "image \(label.map { "'\($0)' " } ?? "")\(address)".onOneLine
    }
  }

  /// The ways in which an image can have to be turned, by the numbers of TIFF and Exif. Apple's systems have it in another framework.
  public enum CGImagePropertyOrientation: UInt32, Sendable {
    /// As it is.
    case up = 1
    /// Mirrored, left and right.
    case upMirrored
    /// Turned by half.
    case down
    /// Mirrored, top and bottom.
    case downMirrored
    /// Mirrored, and turned by a quarter against the clock.
    case leftMirrored
    /// Turned by a quarter with the clock.
    case right
    /// Mirrored, and turned by a quarter with the clock.
    case rightMirrored
    /// Turned by a quarter against the clock.
    case left
  }
#endif
