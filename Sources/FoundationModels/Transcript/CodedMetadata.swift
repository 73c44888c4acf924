/// Values beside an entry as the JSON of a transcript has them: an object.
struct CodedMetadata {
  /// The values by their keys.
  let values: [String: GeneratedContent]
}

extension CodedMetadata: Encodable {
  func encode(to encoder: any Encoder) throws {
    let content = GeneratedContent(kind: .structure(properties: values, orderedKeys: values.keys.sorted()))
    try CodedContent(content: content).encode(to: encoder)
  }
}

extension CodedMetadata: Decodable {
  init(from decoder: any Decoder) throws {
    guard case .structure(let properties, _) = try CodedContent(from: decoder).content.kind else {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "Values beside an entry are an object."))
    }
    values = properties
  }
}

extension KeyedEncodingContainer {
  /// Encodes values beside an entry, where there are any.
  mutating func encode(metadata: [String: GeneratedContent], forKey key: Key) throws {
    if !metadata.isEmpty { try encode(CodedMetadata(values: metadata), forKey: key) }
  }
}

extension KeyedDecodingContainer {
  /// Decodes values beside an entry. How others write these is not known, so that what cannot be read is left out.
  func metadata(forKey key: Key) -> [String: GeneratedContent] {
    (try? decodeIfPresent(CodedMetadata.self, forKey: key))?.values ?? [:]
  }
}

extension [String: any ConvertibleToGeneratedContent] {
  /// The values as a transcript keeps them.
  var contents: [String: GeneratedContent] { mapValues { $0.generatedContent.withoutIDs } }
}
