#if FoundationModels27
  internal import Foundation
#endif

/// A segment as the JSON of a transcript has it: an object with a type.
struct CodedSegment {
  /// The segment.
  let segment: Transcript.Segment

  private enum CodingKeys: String, CodingKey {
    case type, id, text, structure
    #if FoundationModels27
      case attachment
    #endif
  }
  private enum StructureKeys: String, CodingKey { case source, content }
  private enum Kind: String, CaseIterable {
    case text, structure
    #if FoundationModels27
      case attachment
    #endif
  }
  #if FoundationModels27
    private enum AttachmentKeys: String, CodingKey { case imageURL, orientation, label }
  #endif
}

extension CodedSegment: Encodable {
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(segment.id, forKey: .id)
    switch segment {
    case .text(let segment):
      try container.encode(Kind.text.rawValue, forKey: .type)
      try container.encode(segment.content, forKey: .text)
    case .structure(let segment):
      try container.encode(Kind.structure.rawValue, forKey: .type)
      var structure = container.nestedContainer(keyedBy: StructureKeys.self, forKey: .structure)
      try structure.encode(segment.source, forKey: .source)
      try structure.encode(CodedContent(content: segment.content), forKey: .content)
    #if FoundationModels27
      case .attachment(let segment):
        try container.encode(Kind.attachment.rawValue, forKey: .type)
        var attachment = container.nestedContainer(keyedBy: AttachmentKeys.self, forKey: .attachment)
        switch segment.content {
        case .image(let image):
          try attachment.encode(image.url, forKey: .imageURL)
          if image.orientation != .up { try attachment.encode(image.orientation.rawValue, forKey: .orientation) }
        }
        try attachment.encodeIfPresent(segment.label, forKey: .label)
    #endif
    }
  }
}

extension CodedSegment: Decodable {
  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let name = try container.decode(String.self, forKey: .type)
    guard let kind = Kind(rawValue: name) else {
      throw DecodingError.dataCorruptedError(
        forKey: .type, in: container, debugDescription: "Expected a segment of the type \(alternatives(Kind.self)), found '\(name)'.")
    }
    let id = try container.decode(String.self, forKey: .id)
    switch kind {
    case .text:
      segment = .text(Transcript.TextSegment(id: id, content: try container.decode(String.self, forKey: .text)))
    case .structure:
      let structure = try container.nestedContainer(keyedBy: StructureKeys.self, forKey: .structure)
      segment = .structure(
        Transcript.StructuredSegment(
          id: id, source: try structure.decode(String.self, forKey: .source),
          content: try structure.decode(CodedContent.self, forKey: .content).content))
    #if FoundationModels27
      case .attachment: segment = .attachment(try Self.attachment(id: id, in: container))
    #endif
    }
  }

  #if FoundationModels27
    private static func attachment(id: String, in container: KeyedDecodingContainer<CodingKeys>) throws -> Transcript.AttachmentSegment {
      let attachment = try container.nestedContainer(keyedBy: AttachmentKeys.self, forKey: .attachment)
      let number = try attachment.decodeIfPresent(UInt32.self, forKey: .orientation) ?? CGImagePropertyOrientation.up.rawValue
      guard let orientation = CGImagePropertyOrientation(rawValue: number) else {
        throw DecodingError.dataCorruptedError(
          forKey: .orientation, in: attachment, debugDescription: "Expected an orientation from 1 to 8, found \(number).")
      }
      let image = Transcript.ImageAttachment(imageURL: try attachment.decode(URL.self, forKey: .imageURL), orientation: orientation)
      return Transcript.AttachmentSegment(
        id: id, content: .image(image), label: try attachment.decodeIfPresent(String.self, forKey: .label))
    }
  #endif
}
