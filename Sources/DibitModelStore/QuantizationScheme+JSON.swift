package import DibitJSON
package import DibitQuantization

extension QuantizationScheme {
  /// The key of config.json that holds the scheme.
  package static let key = "quantization"
  private static let formatName = "dibit-grid"
  private static let version = 2
  /// The version of models whose tensors differ in bits, which readers of the other one would not find.
  private static let mixedVersion = 3
  /// The version of models with grids of full range.
  private static let fullRangeVersion = 4
  /// The version of models with tensors of 3 bits, whose codes lie in another order.
  private static let threeBitVersion = 5
  /// The version of models that add a recovery to their weights.
  private static let recoveryVersion = 6
  /// The version of models with a trellis.
  private static let trellisVersion = 7

  /// The block of config.json that says how to read the tensors.
  package var json: JSONValue {
    var members = JSONObject([
      (key: "format", value: .string(Self.formatName)),
      (key: "version", value: .integer(version)),
      (key: "bits", value: .integer(bits)), (key: "group_size", value: group.map { .integer($0) } ?? "row"),
      (key: "embedding_bits", value: .integer(embeddingBits)),
    ])
    if version >= Self.fullRangeVersion { members["full_range"] = .bool(family != .symmetric) }
    if version >= Self.trellisVersion { members["trellis"] = .bool(family == .trellis) }
    if !tensorBits.isEmpty {
      members["tensor_bits"] = .object(
        JSONObject(tensorBits.sorted { $0.key < $1.key }.map { (key: $0.key, value: .integer($0.value)) }))
    }
    if let recovery {
      members["recovery"] = ["rank": .integer(recovery.rank), "bits": .integer(recovery.levels.bits)]
    }
    return .object(members)
  }

  /// The oldest version that has all that the scheme needs.
  private var version: Int {
    if family == .trellis { return Self.trellisVersion }
    if recovery != nil { return Self.recoveryVersion }
    if bits == GridLevels.three.bits || tensorBits.values.contains(GridLevels.three.bits) { return Self.threeBitVersion }
    return family == .fullRange ? Self.fullRangeVersion : tensorBits.isEmpty ? Self.version : Self.mixedVersion
  }

  /// Reads that block.
  package init(json: JSONValue) throws(QuantizationError) {
    func refuse(_ key: String, _ expected: String) -> QuantizationError {
      .unsupported(key: key, expected: expected, found: json[key]?.serialized() ?? "nothing")
    }
    guard json["format"]?.string == Self.formatName else { throw refuse("format", "'\(Self.formatName)'") }
    guard let version = json["version"]?.int, (Self.version...Self.trellisVersion).contains(version) else {
      throw refuse("version", "\(Self.version) to \(Self.trellisVersion)")
    }
    let bitChoices = version < Self.threeBitVersion ? Self.bitChoices : Self.tensorBitChoices
    guard let bits = json["bits"]?.int, bitChoices.contains(bits) else { throw refuse("bits", Self.words(bitChoices)) }
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
    recovery = try Self.recovery(json, isNeeded: version == Self.recoveryVersion)
    guard version > Self.version else { return }
    if version >= Self.fullRangeVersion {
      guard let isFullRange = json["full_range"]?.bool else { throw refuse("full_range", "true or false") }
      family = isFullRange ? .fullRange : .symmetric
      if version >= Self.trellisVersion {
        guard let isTrellis = json["trellis"]?.bool, isFullRange || !isTrellis else {
          throw refuse("trellis", "false, or true with full_range")
        }
        if isTrellis { family = .trellis }
      }
      if json["tensor_bits"] == nil { return }
    }
    guard let tensors = json["tensor_bits"]?.object else { throw refuse("tensor_bits", "an object of bits by tensor") }
    for (name, value) in tensors.members {
      let choices = grids.map(\.bits).filter { bitChoices.contains($0) }
      guard let bits = value.int, choices.contains(bits) else {
        throw .unsupported(key: "tensor_bits.\(name)", expected: Self.words(choices), found: value.serialized())
      }
      tensorBits[name] = bits
    }
  }
}

extension QuantizationScheme {
  /// The recovery that a block asks for, whatever its version; nil for none.
  private static func recovery(_ json: JSONValue, isNeeded: Bool) throws(QuantizationError) -> Recovery? {
    guard isNeeded || json["recovery"] != nil else { return nil }
    let block = json["recovery"] ?? .null
    guard let rank = block["rank"]?.int, Recovery.ranks.contains(rank) else {
      throw .unsupported(
        key: "recovery.rank", expected: "\(Recovery.ranks.lowerBound) to \(Recovery.ranks.upperBound)",
        found: block["rank"]?.serialized() ?? "nothing")
    }
    guard let bits = block["bits"]?.int, let recovery = Recovery(rank: rank, bits: bits) else {
      throw .unsupported(
        key: "recovery.bits", expected: words(Recovery.bitChoices), found: block["bits"]?.serialized() ?? "nothing")
    }
    return recovery
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
