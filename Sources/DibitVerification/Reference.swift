internal import DibitFailure
internal import DibitCheckpoint
internal import DibitModel

/// The tensors that an independent implementation computed, and the batch that it computed them on.
struct Reference {
  let path: String
  let checkpoint: Checkpoint
  /// `sequences` x `columns` token ids, row by row.
  let tokens: [Int32]
  /// For each token the next one's label, -1 where the loss does not look; nil without labels.
  let targets: [Int32]?
  let sequences: Int
  let columns: Int

  init(path: String, for configuration: ModelConfiguration) throws(VerificationError) {
    self.path = path
    checkpoint = try rethrow(as: VerificationError.checkpoint, Checkpoint.open(path))
    guard let info = checkpoint.info("input_ids") else { throw .missing(tensor: "input_ids", reference: path) }
    guard info.shape.count == 2, info.count > 0, info.count <= 1 << 24 else {
      throw .shape(tensor: "input_ids", reference: path, expected: "[sequences, tokens]", found: info.shape)
    }
    (sequences, columns) = (info.shape[0], info.shape[1])
    guard columns <= configuration.contextLength else {
      throw .tooLong(reference: path, tokens: columns, context: configuration.contextLength)
    }
    tokens = try Self.ids("input_ids", checkpoint, info.shape, path, configuration.vocabularySize, masked: false)
    guard checkpoint.info("labels") != nil else {
      targets = nil
      return
    }
    let labels = try Self.ids("labels", checkpoint, info.shape, path, configuration.vocabularySize, masked: true)
    // Labels are aligned with the tokens: position t is judged by label t + 1.
    var shifted = [Int32](repeating: -1, count: labels.count)
    for i in labels.indices where i % columns < columns - 1 { shifted[i] = labels[i + 1] }
    guard shifted.contains(where: { $0 >= 0 }) else { throw .nothingLabelled(reference: path) }
    targets = shifted
  }

  /// Token ids; with `masked`, negative ones become -1.
  private static func ids(
    _ name: String, _ checkpoint: Checkpoint, _ shape: [Int], _ path: String, _ vocabulary: Int, masked: Bool
  ) throws(VerificationError) -> [Int32] {
    var ids: [Int32] = []
    for (index, value) in try values(name, checkpoint, shape, path).enumerated() {
      if masked, value < 0 {
        ids.append(-1)
        continue
      }
      guard value >= 0, value < Float(vocabulary), value == value.rounded() else {
        throw .tokenOutside(tensor: name, index: index, token: value, vocabulary: vocabulary)
      }
      ids.append(Int32(value))
    }
    return ids
  }

  /// A tensor of the reference, which must have this shape.
  func values(_ name: String, _ shape: [Int]) throws(VerificationError) -> [Float] {
    try Self.values(name, checkpoint, shape, path)
  }

  private static func values(_ name: String, _ checkpoint: Checkpoint, _ shape: [Int], _ path: String) throws(VerificationError) -> [Float]
  {
    guard let info = checkpoint.info(name) else { throw .missing(tensor: name, reference: path) }
    guard info.shape == shape else { throw .shape(tensor: name, reference: path, expected: "\(shape)", found: info.shape) }
    return try values(name, checkpoint, path)
  }

  /// A tensor of the reference, whatever its shape.
  func values(_ name: String) throws(VerificationError) -> [Float] { try Self.values(name, checkpoint, path) }

  private static func values(_ name: String, _ checkpoint: Checkpoint, _ path: String) throws(VerificationError) -> [Float] {
    let values: [Float]
    values = try rethrow(as: VerificationError.checkpoint, checkpoint.readVector(name))
    if let bad = values.firstIndex(where: { !$0.isFinite }) {
      throw .notFinite(tensor: name, reference: path, index: bad, found: values[bad])
    }
    return values
  }

  /// A scalar of the reference, or nil where it has none.
  func scalar(_ name: String) throws(VerificationError) -> Double? {
    guard let info = checkpoint.info(name) else { return nil }
    guard info.count == 1 else { throw .shape(tensor: name, reference: path, expected: "[]", found: info.shape) }
    return Double(try values(name)[0])
  }

  /// The names that begin with `prefix`, without it.
  func names(_ prefix: String) -> [String] {
    checkpoint.tensorNames.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
  }
}
