internal import Foundation

/// Values of a client that a transcript keeps with an entry.
struct TranscriptMetadata: Sendable {
  /// The values by their keys. Those that were read are what JSON has: texts, numbers, truth values, lists and objects of them.
  var values: [String: any Sendable & Codable & Equatable]
}

extension TranscriptMetadata: Equatable {
  static func == (left: TranscriptMetadata, right: TranscriptMetadata) -> Bool {
    func isEqual<Value: Equatable>(_ value: Value, _ other: any Equatable) -> Bool { other as? Value == value }
    return left.values.count == right.values.count
      && left.values.allSatisfy { key, value in right.values[key].map { isEqual(value, $0) } ?? false }
  }
}

extension TranscriptMetadata: Codable {
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    for (key, value) in values.sorted(by: { $0.key < $1.key }) { try container.encode(value, forKey: Key(stringValue: key)) }
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    values = [:]
    for key in container.allKeys { values[key.stringValue] = try container.decode(CodedValue.self, forKey: key).value }
  }

  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  /// A value of an unknown type, as the simplest type that it can be.
  private struct CodedValue: Decodable {
    let value: any Sendable & Codable & Equatable

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      value =
        if let flag = try? container.decode(Bool.self) { flag } else if let count = try? container.decode(Int.self) {
          count
        } else if let number = try? container.decode(Double.self) { number } else if let text = try? container.decode(String.self) {
          text
        } else { try container.decode(JSONCodable.self) }
    }
  }
}

/// A value of an unknown type.
enum JSONCodable: Sendable, Equatable {
  case null
  case bool(Bool)
  case number(Double)
  case text(String)
  case list([JSONCodable])
  case object([String: JSONCodable])
}

extension JSONCodable: Codable {
  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    self =
      if container.decodeNil() { .null } else if let flag = try? container.decode(Bool.self) {
        .bool(flag)
      } else if let number = try? container.decode(Double.self) { .number(number) } else if let text = try? container.decode(String.self) {
        .text(text)
      } else if let list = try? container.decode([JSONCodable].self) { .list(list) } else {
        .object(try container.decode([String: JSONCodable].self))
      }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let flag): try container.encode(flag)
    case .number(let number): try container.encode(number)
    case .text(let text): try container.encode(text)
    case .list(let list): try container.encode(list)
    case .object(let object): try container.encode(object)
    }
  }
}
