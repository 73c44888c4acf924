internal import DibitTensor

/// The header of a llama2.c file: the size of a Llama model.
package struct Llama2CParameters: Equatable, Sendable {
  /// The layout of the file: 0 for the form without signature, 1 for floats after a header of 256 bytes, 2 for 8-bit groups.
  package let version: Int
  /// The channels.
  package let dimension: Int
  /// The channels of the feed-forward layers.
  package let hiddenDimension: Int
  /// The number of blocks.
  package let layerCount: Int
  /// The query heads.
  package let headCount: Int
  /// The key and value heads.
  package let keyValueHeadCount: Int
  /// The number of tokens.
  package let vocabularySize: Int
  /// The longest context, in tokens.
  package let sequenceLength: Int
  /// True where the output layer is the embedding.
  package let sharesClassifier: Bool
  /// The weights under one scale in version 2; 0 in the others.
  package let groupSize: Int

  /// The size of a head; even.
  package var headSize: Int { dimension / headCount }

  /// The signature of versions 1 and 2: "ak42", read as a number.
  static let signature: UInt32 = 0x616B_3432

  /// The fields of version 0, its seven numbers in their order; the others keep them 8 bytes later.
  private static let fields: [(name: String, limit: Int)] = [
    ("dim", 1 << 20), ("hidden_dim", 1 << 22), ("n_layers", 1 << 12), ("n_heads", 1 << 16), ("n_kv_heads", 1 << 16),
    ("vocab_size", 1 << 24), ("max_seq_len", 1 << 24),
  ]

  /// Reads and checks the header.
  ///
  /// The limits of the numbers keep every size below 2^60 bytes, so that the sums of ``Llama2CLayout`` cannot overflow.
  init(_ bytes: Bytes) throws(Llama2CFault) {
    guard bytes.count >= 28 else { throw .tooShort(expectedBytes: 28, foundBytes: bytes.count) }
    let isSigned = Self.number(bytes, 0) == Int(Self.signature)
    version = isSigned ? Self.number(bytes, 4) : 0
    if isSigned {
      guard version == 1 || version == 2 else { throw .version(found: version) }
      guard bytes.count >= 256 else { throw .tooShort(expectedBytes: 256, foundBytes: bytes.count) }
    }
    let begin = isSigned ? 8 : 0
    var values: [Int] = []
    var shares = true
    for (index, field) in Self.fields.enumerated() {
      var value = Self.number(bytes, begin + index * 4)
      if !isSigned, index == 5, value < 0 {
        shares = false
        value = -value
      }
      guard (1...field.limit).contains(value) else {
        throw .parameter(name: field.name, offset: begin + index * 4, expected: "from 1 to \(field.limit)", found: value)
      }
      values.append(value)
    }
    (dimension, hiddenDimension, layerCount, headCount) = (values[0], values[1], values[2], values[3])
    (keyValueHeadCount, vocabularySize, sequenceLength) = (values[4], values[5], values[6])
    guard dimension % (2 * headCount) == 0 else {
      throw .parameter(name: "n_heads", offset: begin + 12, expected: "whose double divides dim \(dimension)", found: headCount)
    }
    guard headCount % keyValueHeadCount == 0 else {
      throw .parameter(name: "n_kv_heads", offset: begin + 16, expected: "that divides n_heads \(headCount)", found: keyValueHeadCount)
    }
    if isSigned {
      guard bytes[36] <= 1 else { throw .sharedClassifier(offset: 36, found: bytes[36]) }
      shares = bytes[36] == 1
    }
    sharesClassifier = shares
    groupSize = version == 2 ? Self.number(bytes, 37) : 0
    if version == 2 {
      // The rows are read one by one, so a group must not go on in the next row.
      guard groupSize > 0, dimension % groupSize == 0, hiddenDimension % groupSize == 0 else {
        throw .parameter(
          name: "group size", offset: 37, expected: "that divides dim \(dimension) and hidden_dim \(hiddenDimension)", found: groupSize)
      }
    }
    if isSigned, let padding = (version == 2 ? 41..<256 : 37..<256).first(where: { bytes[$0] != 0 }) {
      throw .padding(offset: padding, found: bytes[padding])
    }
  }

  private static func number(_ bytes: Bytes, _ offset: Int) -> Int {
    Int(Int32(truncatingIfNeeded: (0..<4).reversed().reduce(0) { $0 << 8 | Int(bytes[offset + $1]) }))
  }

  // MARK: As strings beside the tensors

  /// The numbers as a checkpoint's metadata.
  var metadata: [(key: String, value: String)] {
    [
      ("version", version), ("dim", dimension), ("hidden_dim", hiddenDimension), ("n_layers", layerCount), ("n_heads", headCount),
      ("n_kv_heads", keyValueHeadCount), ("vocab_size", vocabularySize), ("max_seq_len", sequenceLength),
      ("shared_classifier", sharesClassifier ? 1 : 0), ("group_size", groupSize),
    ].map { (key: "llama2.c." + $0.0, value: "\($0.1)") }
  }

  /// The numbers that an opened file gives as ``Checkpoint/metadata``, or nil when the checkpoint is of another format.
  package init?(metadata: [(key: String, value: String)]) {
    func number(_ key: String) -> Int? { metadata.first { $0.key == "llama2.c." + key }.flatMap { Int($0.value) } }
    guard let version = number("version"), let dimension = number("dim"), let hiddenDimension = number("hidden_dim"),
      let layerCount = number("n_layers"), let headCount = number("n_heads"), headCount > 0,
      let keyValueHeadCount = number("n_kv_heads"), let vocabularySize = number("vocab_size"),
      let sequenceLength = number("max_seq_len"), let shared = number("shared_classifier"), let groupSize = number("group_size")
    else { return nil }
    (self.version, self.dimension, self.hiddenDimension, self.layerCount) = (version, dimension, hiddenDimension, layerCount)
    (self.headCount, self.keyValueHeadCount, self.vocabularySize) = (headCount, keyValueHeadCount, vocabularySize)
    (self.sequenceLength, self.sharesClassifier, self.groupSize) = (sequenceLength, shared == 1, groupSize)
  }
}
