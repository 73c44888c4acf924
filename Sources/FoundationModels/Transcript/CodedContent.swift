internal import Foundation

/// Generated content as a JSON value inside of a document. Names of contents are not kept.
struct CodedContent {
  /// The content.
  let content: GeneratedContent

  /// The longest path to a value, with what lies around the content: deeper documents are refused.
  private static let pathLimit = 144

  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }
}

extension CodedContent: Encodable {
  func encode(to encoder: any Encoder) throws {
    switch content.kind {
    case .null:
      var container = encoder.singleValueContainer()
      try container.encodeNil()
    case .bool(let value):
      var container = encoder.singleValueContainer()
      try container.encode(value)
    case .number(let value):
      var container = encoder.singleValueContainer()
      if let integer = content.integer {
        try container.encode(integer)
      } else if content.literal != nil, let decimal = content.decimal {
        try container.encode(decimal)
      } else if value.isFinite {
        try container.encode(value)
      } else {
        // As in the content's own JSON.
        try container.encodeNil()
      }
    case .string(let value):
      var container = encoder.singleValueContainer()
      try container.encode(value)
    case .array(let elements):
      var container = encoder.unkeyedContainer()
      for element in elements { try container.encode(CodedContent(content: element)) }
    case .structure(let properties, let orderedKeys):
      var container = encoder.container(keyedBy: Key.self)
      for key in GeneratedContent.keys(of: properties, ordered: orderedKeys) {
        try container.encodeIfPresent(properties[key].map(CodedContent.init), forKey: Key(stringValue: key))
      }
    }
  }
}

extension CodedContent: Decodable {
  init(from decoder: any Decoder) throws {
    guard decoder.codingPath.count <= Self.pathLimit else {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "The content is nested too deeply."))
    }
    if let single = try? decoder.singleValueContainer(), let scalar = Self.scalar(in: single) {
      content = scalar
    } else if var container = try? decoder.unkeyedContainer() {
      var elements: [GeneratedContent] = []
      while !container.isAtEnd { elements.append(try container.decode(CodedContent.self).content) }
      content = GeneratedContent(kind: .array(elements))
    } else {
      let container = try decoder.container(keyedBy: Key.self)
      let keys = container.allKeys.sorted { $0.stringValue < $1.stringValue }
      var properties: [String: GeneratedContent] = [:]
      for key in keys { properties[key.stringValue] = try container.decode(CodedContent.self, forKey: key).content }
      content = GeneratedContent(kind: .structure(properties: properties, orderedKeys: keys.map(\.stringValue)))
    }
  }

  private static func scalar(in container: any SingleValueDecodingContainer) -> GeneratedContent? {
    if container.decodeNil() { return GeneratedContent(kind: .null) }
    if let value = try? container.decode(String.self) { return GeneratedContent(kind: .string(value)) }
    if let value = try? container.decode(Bool.self) { return GeneratedContent(kind: .bool(value)) }
    if let value = try? container.decode(Int.self) { return GeneratedContent(integer: value) }
    guard let value = try? container.decode(Double.self) else { return nil }
    if value != 0, let decimal = try? container.decode(Decimal.self), !decimal.isNaN { return GeneratedContent(decimal: decimal) }
    return GeneratedContent(kind: .number(value))
  }
}

extension GeneratedContent {
  /// The same value without names, so that content which is read twice is equal.
  var withoutIDs: GeneratedContent {
    let kind: Kind =
      switch self.kind {
      case .array(let elements): .array(elements.map(\.withoutIDs))
      case .structure(let properties, let orderedKeys):
        .structure(properties: properties.mapValues(\.withoutIDs), orderedKeys: orderedKeys)
      default: self.kind
      }
    return GeneratedContent(kind: kind, id: nil, isComplete: isComplete, literal: literal)
  }
}
