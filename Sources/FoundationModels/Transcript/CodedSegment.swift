/// A segment as the JSON of a transcript has it: an object with a type.
struct CodedSegment {
  /// The segment.
  let segment: Transcript.Segment

  private enum CodingKeys: String, CodingKey { case type, id, text, structure }
  private enum StructureKeys: String, CodingKey { case source, content }
  private enum Kind: String { case text, structure }
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
    }
  }
}

extension CodedSegment: Decodable {
  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let name = try container.decode(String.self, forKey: .type)
    guard let kind = Kind(rawValue: name) else {
      throw DecodingError.dataCorruptedError(
        forKey: .type, in: container, debugDescription: "Expected a segment of the type 'text' or 'structure', found '\(name)'.")
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
    }
  }
}
