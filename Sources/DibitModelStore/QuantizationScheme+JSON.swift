package import DibitJSON
package import DibitQuantization

extension QuantizationScheme {
  /// The key of config.json that holds the scheme.
  package static let key = "quantization"
  private static let formatName = "dibit-grid"
  private static let version = 2

  /// The block of config.json that says how to read the tensors.
  package var json: JSONValue {
    [
      "format": .string(Self.formatName), "version": .integer(Self.version), "bits": .integer(bits),
      "group_size": group.map { .integer($0) } ?? "row", "embedding_bits": .integer(embeddingBits),
    ]
  }

  /// Reads that block.
  package init(json: JSONValue) throws(QuantizationError) {
    func refuse(_ key: String, _ expected: String) -> QuantizationError {
      .unsupported(key: key, expected: expected, found: json[key]?.serialized() ?? "nothing")
    }
    guard json["format"]?.string == Self.formatName else { throw refuse("format", "'\(Self.formatName)'") }
    guard json["version"]?.int == Self.version else { throw refuse("version", "\(Self.version)") }
    guard let bits = json["bits"]?.int, Self.bitChoices.contains(bits) else { throw refuse("bits", Self.words(Self.bitChoices)) }
    guard let embeddingBits = json["embedding_bits"]?.int, Self.tableBitChoices.contains(embeddingBits) else {
      throw refuse("embedding_bits", Self.words(Self.tableBitChoices))
    }
    self.init()
    (self.bits, self.embeddingBits) = (bits, embeddingBits)
    switch json["group_size"] {
    case .string("row"): group = nil
    case .integer(let size) where Self.groups.contains(size): group = size
    default: throw refuse("group_size", "32, 64, 128 or 'row'")
    }
  }
}

/// The reasons for which a quantisation block cannot be used.
package enum QuantizationError: Error, Equatable, Sendable, CustomStringConvertible {
  case unsupported(key: String, expected: String, found: String)

  /// One sentence: which key, what was expected and found.
  package var description: String {
    switch self {
    case .unsupported(let key, let expected, let found): "config.json: 'quantization.\(key)': expected \(expected), found \(found)"
    }
  }
}
