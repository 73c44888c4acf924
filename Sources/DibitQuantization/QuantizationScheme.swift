package import DibitJSON
package import DibitTensor

/// How the tensors of a model are stored.
package struct QuantizationScheme: Equatable, Sendable {
  /// Bits of a weight in a linear layer: 2, 4, 16 (floats of the source's 16-bit type, BF16 for others) or 32.
  package var bits = 2
  /// Consecutive inputs that share a scale; nil for a whole row.
  package var group: Int? = 64
  /// Bits of the embedding and of an output head of its own: 4, 16 or 32.
  package var embeddingBits = 4

  /// 2 bits in groups of 64, embedding at 4 bits.
  package init() {}

  /// The group sizes that kernels support, apart from a whole row.
  package static let groups = [32, 64, 128]

  /// Whether linear layers lie on a grid.
  package var isQuantized: Bool { bits <= 4 }

  /// The format of a matrix with `columns` inputs; `bits` is ``bits`` or ``embeddingBits``, `source` the dtype it comes from.
  package func format(bits: Int, columns: Int, source: DType) -> WeightFormat {
    switch bits {
    case 32: .f32
    case 16: source == .f16 ? .f16 : .bf16
    default: .grid(bits: bits, group: group ?? columns)
    }
  }
}

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
    guard json["format"]?.string == Self.formatName else {
      throw .unsupported(key: "format", expected: "'\(Self.formatName)'", found: json["format"]?.serialized() ?? "nothing")
    }
    guard json["version"]?.int == Self.version else {
      throw .unsupported(key: "version", expected: "\(Self.version)", found: json["version"]?.serialized() ?? "nothing")
    }
    guard let bits = json["bits"]?.int, [2, 4, 16, 32].contains(bits) else {
      throw .unsupported(key: "bits", expected: "2, 4, 16 or 32", found: json["bits"]?.serialized() ?? "nothing")
    }
    guard let embeddingBits = json["embedding_bits"]?.int, [4, 16, 32].contains(embeddingBits) else {
      throw .unsupported(key: "embedding_bits", expected: "4, 16 or 32", found: json["embedding_bits"]?.serialized() ?? "nothing")
    }
    self.bits = bits
    self.embeddingBits = embeddingBits
    switch json["group_size"] {
    case .string("row"): group = nil
    case .integer(let size) where Self.groups.contains(size): group = size
    case let other: throw .unsupported(key: "group_size", expected: "32, 64, 128 or 'row'", found: other?.serialized() ?? "nothing")
    }
  }
}

/// Why a quantisation block cannot be used.
package enum QuantizationError: Error, Equatable, Sendable, CustomStringConvertible {
  case unsupported(key: String, expected: String, found: String)

  /// One sentence: which key, what was expected and found.
  package var description: String {
    switch self {
    case .unsupported(let key, let expected, let found): "config.json: 'quantization.\(key)': expected \(expected), found \(found)"
    }
  }
}
