internal import DibitBaselines
internal import DibitCheckpoint
internal import DibitEvaluation
internal import DibitFiles
internal import DibitJSON
internal import DibitModelStore
internal import DibitTensor

extension WordHead {
  private static let format = "dibit-words"
  private static let (weights, bayesTerms, bayesWeights) = ("weights", "bayes.terms", "bayes.weights")

  /// The bytes of its file: for each kind of terms their hashes and weights, the weights of the regression, and of naive Bayes words and weights.
  fileprivate func fileBytes() throws -> [UInt8] {
    let (parts, bayes) = (classifier.regression.parts, classifier.bayes?.parts)
    let labels = parts.weights.count / (classifier.regression.columns + 1)
    // Wide elements first, so that all are aligned.
    let terms = parts.blocks.map { block -> SafetensorsFile.Content in
      (block.kind.rawValue + ".terms", .u64, [block.hashes.count], block.hashes.flatMap(\.littleEndianBytes))
    }
    let rarities = parts.blocks.map { block -> SafetensorsFile.Content in
      (block.kind.rawValue + ".rarity", .f32, [block.rarities.count], block.rarities.flatMap(\.bitPattern.littleEndianBytes))
    }
    func weights(_ name: String, _ values: [Float]) -> SafetensorsFile.Content {
      (name, .f32, [values.count / labels, labels], values.flatMap(\.bitPattern.littleEndianBytes))
    }
    let words = bayes.map { [(Self.bayesTerms, DType.u64, [$0.hashes.count], $0.hashes.flatMap(\.littleEndianBytes))] } ?? []
    return try SafetensorsFile.bytes(
      of: terms + words + rarities + [weights(Self.weights, parts.weights)]
        + (bayes.map { [weights(Self.bayesWeights, $0.weights)] } ?? []),
      metadata: [
        ("format", Self.format), ("terms", parts.blocks.map(\.kind.rawValue).joined(separator: ",")), ("penalty", "\(parts.penalty)"),
      ])
  }

  /// Reads the classifier of `labels` labels; nil for anything else.
  private static func classifier(_ bytes: [UInt8], labels: Int) -> TermPool? {
    guard let file = try? SafetensorsFile(Bytes(SharedBytes(bytes)), file: ""), let parts = parts(file),
      let regression = TermRegression(parts, labels: labels)
    else { return nil }
    guard file.entry(bayesTerms) != nil || file.entry(bayesWeights) != nil else { return TermPool(regression, nil) }
    guard let hashes = values(file, bayesTerms, .u64, UInt64.self), let weights = values(file, bayesWeights, .f32, UInt32.self),
      let bayes = NaiveBayes(.init(hashes: hashes, weights: weights.map { Float(bitPattern: $0) }), labels: labels)
    else { return nil }
    return TermPool(regression, bayes)
  }

  private static func parts(_ file: SafetensorsFile) -> TermRegression.Parts? {
    guard file.metadata.contains(where: { $0.key == "format" && $0.value == format }),
      let kinds = file.metadata.first(where: { $0.key == "terms" })?.value.split(separator: ",").map({ TermKind(rawValue: String($0)) }),
      let penalty = file.metadata.first(where: { $0.key == "penalty" }).flatMap({ Double($0.value) }),
      let weights = values(file, weights, .f32, UInt32.self)
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
    guard let classifier = classifier(bytes, labels: labels) else {
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
      "share": .number(words.share), "terms": .integer(words.classifier.regression.columns),
      "kinds": .array(words.classifier.regression.setting.kinds.map { .string($0.rawValue) }),
      "naive_bayes_terms": words.classifier.bayes.map { .integer($0.vocabularyCount) } ?? .null, "sha256": .string(SHA256.digest(bytes)),
    ]
  }
}
