internal import DibitBaselines
internal import DibitCheckpoint
internal import DibitEvaluation
internal import DibitFiles
internal import DibitJSON
internal import DibitModelStore
internal import DibitTensor

extension WordHead {
  private static let format = "dibit-words"

  /// The bytes of its file: for each kind of terms their hashes and weights, and the weights of the regression.
  fileprivate func fileBytes() throws -> [UInt8] {
    let parts = classifier.parts
    let labels = parts.weights.count / (classifier.columns + 1)
    // Wide elements first, so that all are aligned.
    let terms = parts.blocks.map { block -> SafetensorsFile.Content in
      (block.kind.rawValue + ".terms", .u64, [block.hashes.count], block.hashes.flatMap(\.littleEndianBytes))
    }
    let rarities = parts.blocks.map { block -> SafetensorsFile.Content in
      (block.kind.rawValue + ".rarity", .f32, [block.rarities.count], block.rarities.flatMap(\.bitPattern.littleEndianBytes))
    }
    let weights: SafetensorsFile.Content = (
      "weights", .f32, [classifier.columns + 1, labels], parts.weights.flatMap(\.bitPattern.littleEndianBytes)
    )
    return try SafetensorsFile.bytes(
      of: terms + rarities + [weights],
      metadata: [
        ("format", Self.format), ("terms", parts.blocks.map(\.kind.rawValue).joined(separator: ",")), ("penalty", "\(parts.penalty)"),
      ])
  }

  /// Reads a file of `labels` labels; nil for anything else.
  private static func parts(_ bytes: [UInt8], labels: Int) -> TermRegression.Parts? {
    guard let file = try? SafetensorsFile(Bytes(SharedBytes(bytes)), file: ""),
      file.metadata.contains(where: { $0.key == "format" && $0.value == format }),
      let kinds = file.metadata.first(where: { $0.key == "terms" })?.value.split(separator: ",").map({ TermKind(rawValue: String($0)) }),
      let penalty = file.metadata.first(where: { $0.key == "penalty" }).flatMap({ Double($0.value) }),
      let weights = values(file, "weights", .f32, UInt32.self)
    else { return nil }
    var blocks: [TermRegression.Parts.Block] = []
    for kind in kinds {
      guard let kind, let hashes = values(file, kind.rawValue + ".terms", .u64, UInt64.self),
        let rarities = values(file, kind.rawValue + ".rarity", .f32, UInt32.self)
      else { return nil }
      blocks.append(.init(kind, hashes: hashes, rarities: rarities.map { Float(bitPattern: $0) }))
    }
    return TermRegression.Parts(blocks: blocks, penalty: penalty, weights: weights.map { Float(bitPattern: $0) })
  }

  private static func values<Value: FixedWidthInteger & UnsignedInteger>(
    _ file: SafetensorsFile, _ name: String, _ dtype: DType, _ type: Value.Type
  ) -> [Value]? {
    guard let tensor = file.entry(name), tensor.dtype == dtype else { return nil }
    let stored = file.bytes(of: tensor)
    let bytes = stored.bytes
    let width = dtype.byteCount
    var values: [Value] = []
    for start in stride(from: 0, to: bytes.count, by: width) {
      var value: Value = 0
      // Little-endian: the last byte is the highest.
      for index in (start..<start + width).reversed() {
        value <<= 8
        value |= Value(bytes[index])
      }
      values.append(value)
    }
    return values
  }

  /// The classifier of words of an adapter with so many labels, which its manifest vouches for; nil where it has none.
  static func ofAdapter(_ path: String, _ manifest: JSONValue, labels: Int) throws -> WordHead? {
    guard let member = manifest[AdapterFacts.wordsMember] else { return nil }
    let file = path + "/" + StoreFile.words
    guard let digest = member["sha256"]?.string, let share = member["share"]?.double, AdapterTraining.Options.wordShares.contains(share)
    else {
      throw DibitError(
        .invalidData,
        "'\(path)/\(StoreFile.manifest)': expected 'sha256' and a 'share' from 0 to \(AdapterTraining.Options.wordShares.upperBound) under "
          + "'\(AdapterFacts.wordsMember)'; train the adapter again")
    }
    let bytes = try readBytes(StoreFile.words, in: path)
    let found = SHA256.digest(bytes)
    guard found == digest else {
      throw DibitError(
        .invalidData, "'\(file)' was changed: SHA-256 \(digest) expected from the manifest, \(found) found; train the adapter again")
    }
    guard let parts = parts(bytes, labels: labels), let classifier = TermRegression(parts, labels: labels) else {
      throw DibitError(.invalidData, "'\(file)' holds no classifier of words for \(labels) labels; train the adapter again")
    }
    return WordHead(classifier, share: share)
  }
}

extension AdapterFacts {
  /// Keeps the classifier of words that has a share in an adapter's answers.
  mutating func setWords(_ words: WordHead) throws {
    let bytes = try words.fileBytes()
    self.words = bytes
    manifest[Self.wordsMember] = [
      "share": .number(words.share), "terms": .integer(words.classifier.columns),
      "kinds": .array(words.classifier.setting.kinds.map { .string($0.rawValue) }), "sha256": .string(SHA256.digest(bytes)),
    ]
  }
}
