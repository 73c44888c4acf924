internal import DibitFailure
internal import DibitCheckpoint
internal import DibitFiles
package import DibitJSON
internal import DibitKernels
internal import DibitModel
internal import DibitTensor
internal import DibitTokenizer

/// Everything that can be checked of a model, a checkpoint or an adapter by itself: digests, shapes, numbers, tokenizer.
package struct StoreInspection: Sendable {
  /// The kind of thing that lies there.
  package enum Kind: String, Sendable {
    case model, checkpoint, adapter
  }

  /// One thing that was looked at.
  package struct Item: Sendable {
    /// The file's name, or the whole directory's where it is a matter of several files.
    package let file: String
    /// The thing that was looked at.
    package let what: String
    /// The finding, where it is right.
    package let detail: String
    /// The fault; nil where there is none.
    package let fault: ModelStoreError?
  }

  /// The path.
  package let path: String
  /// The kind of thing that lies there.
  package private(set) var kind = Kind.checkpoint
  /// In the order in which they were looked at.
  package private(set) var items: [Item] = []
  /// True where a digest there says which bytes the weights should be: without one, a changed byte may go unnoticed.
  package private(set) var hasDigest = false

  /// The first fault.
  package var fault: ModelStoreError? { items.lazy.compactMap(\.fault).first }

  /// For machines. `whole` is null where no fault was found and nothing could tell.
  package var json: JSONValue {
    [
      "path": .string(path), "kind": .string(kind.rawValue), "whole": fault == nil && !hasDigest ? .null : .bool(fault == nil),
      "checks": .array(
        items.map { item in
          [
            "file": .string(item.file), "check": .string(item.what), "ok": .bool(item.fault == nil),
            "detail": .string(item.fault.map { "\($0)" } ?? item.detail),
          ]
        }),
    ]
  }

  /// Looks at everything; `isStopped` ends it early. A fault in one thing keeps no other from being looked at.
  ///
  /// - Throws: ``ModelStoreError`` when there is nothing that could be looked at.
  package init(_ path: String, isStopped: () -> Bool = { false }) throws(ModelStoreError) {
    let path = StoreKind.owner(of: path) ?? path
    self.path = path
    let isGGUF = GGUFAdapter.recognises(path)
    let isAdapter = isGGUF || isRegularFile(path + "/" + StoreFile.adapterConfiguration)
    var manifest: JSONValue?
    if isRegularFile(path + "/" + StoreFile.manifest) {
      look(StoreFile.manifest, "format") { () throws(ModelStoreError) in
        let json = try readJSON(StoreFile.manifest, in: path)
        manifest = json
        return json["format"]?.string ?? "none of dibit's"
      }
    }
    if isAdapter {
      kind = .adapter
      if isGGUF { lookAtGGUFAdapter(isStopped) } else { lookAtAdapter(manifest, isStopped) }
    } else {
      try lookAtModel(manifest, isStopped)
    }
  }

  // MARK: Models

  private mutating func lookAtModel(_ manifest: JSONValue?, _ isStopped: () -> Bool) throws(ModelStoreError) {
    let isConverted = manifest?["format"]?.string == ModelFiles.format
    if isConverted { kind = .model }
    let path = path
    var weights: String?
    if let expected = manifest?["weights_sha256"]?.string {
      hasDigest = true
      look(StoreFile.weights, "SHA-256") { () throws(ModelStoreError) in
        try checkDigest(of: path + "/" + StoreFile.weights, expected)
        weights = expected
        return expected
      }
    }
    if isConverted, let weights {
      look(path, "SHA-256 of all that changes the output") { () throws(ModelStoreError) in
        let expected = manifest?["digest"]?.string ?? "nothing"
        let found = try ModelFiles.digest(of: path, weights: weights)
        guard found == expected else { throw .damagedFiles(path: path, expected: expected, found: found) }
        return expected
      }
    }
    var source: ModelSource?
    if items.allSatisfy({ $0.fault == nil }) {
      // What cannot be opened at all has nothing to look at.
      let opened = try ModelSource.open(path)
      source = opened
    } else {
      source = try? ModelSource.open(path)
    }
    guard let source else { return }
    // Only a manifest makes a model of converted weights: nothing else opens them.
    if source.scheme != nil, !isConverted {
      kind = .model
      look(StoreFile.manifest, "format") { () throws(ModelStoreError) in
        let found = try readJSON(StoreFile.manifest, in: path)["format"]
        throw .malformed(
          path: path + "/" + StoreFile.manifest, key: "format", expected: "'\(ModelFiles.format)'", found: found?.serialized() ?? "nothing")
      }
    }
    let files = source.checkpoint.filePaths
    let file = files.count == 1 ? Self.name(files[0]) : path
    // Files of these formats describe themselves.
    let describes = source.checkpoint.format == .gguf || source.checkpoint.format == .llama2c
    look(describes ? file : StoreFile.configuration, "shapes of tensors") { () throws(ModelStoreError) in
      let parameters = try source.weights().elementCount
      return "\(source.configuration.family.rawValue), \(parameters) parameters"
    }
    lookAtNumbers(source.checkpoint, file, isStopped)
    let size = source.configuration.vocabularySize
    look(TokenizerSource.file(of: path, vocabularySize: size).map(Self.name) ?? path, "tokenizer") { () throws(ModelStoreError) in
      let tokenizer = try TokenizerSource.open(path, vocabularySize: size).tokenizer
      guard tokenizer.vocabularyCount <= size else {
        throw .vocabulary(path: path, tokenizer: tokenizer.vocabularyCount, model: size)
      }
      return "\(tokenizer.vocabularyCount) tokens of \(size)" + (tokenizer.isFar(from: size) ? ": is it this model's?" : "")
    }
    look(ChatSource.file(of: path).map(Self.name) ?? path, "chat template") { () throws(ModelStoreError) in
      try ChatSource.open(path).template == nil ? "none" : "parsed"
    }
  }

  // MARK: Adapters

  private mutating func lookAtAdapter(_ manifest: JSONValue?, _ isStopped: () -> Bool) {
    let path = path
    let weights = (AdapterForm(path) ?? .peft).weights(of: path)
    let name = fileName(of: weights) ?? weights
    if let expected = manifest?["digest"]?.string {
      hasDigest = true
      look(name, "SHA-256") { () throws(ModelStoreError) in
        try checkDigest(of: weights, expected)
        return expected
      }
    }
    for (member, file) in [("training_texts", StoreFile.trainingTexts), (AdapterFacts.wordsMember, StoreFile.words)] {
      guard let expected = manifest?[member]?["sha256"]?.string else { continue }
      look(file, "SHA-256") { () throws(ModelStoreError) in
        try checkDigest(of: path + "/" + file, expected)
        return expected
      }
    }
    var source: AdapterSource?
    look(StoreFile.adapterConfiguration, "shapes of tensors") { () throws(ModelStoreError) in
      let opened = try AdapterSource.open(path)
      source = opened
      let layers = try opened.checkPairs()
      return "\(layers) adapted layers, rank \(opened.configuration.rank)"
    }
    if let source { lookAtNumbers(source.checkpoint, name, isStopped) }
  }

  /// A file for llama.cpp, which names no digest.
  private mutating func lookAtGGUFAdapter(_ isStopped: () -> Bool) {
    let path = path
    let name = fileName(of: path) ?? path
    var source: Checkpoint?
    look(name, "shapes of tensors") { () throws(ModelStoreError) in
      let rank = try GGUFAdapter.configuration(path)["r"]?.int ?? 0
      let opened = try rethrow(as: ModelStoreError.checkpoint, Checkpoint.open(path))
      source = opened
      return "\(try AdapterPairs(opened, path: path, rank: rank, ends: (".lora_a", ".lora_b")).check()) adapted layers, rank \(rank)"
    }
    if let source { lookAtNumbers(source, name, isStopped) }
  }

  // MARK: Parts

  /// A file without its directory.
  private static func name(_ path: String) -> String { fileName(of: path) ?? path }

  /// Elements that are looked at in one piece.
  private static let pieceElements = 1 << 20

  private mutating func lookAtNumbers(_ checkpoint: Checkpoint, _ file: String, _ isStopped: () -> Bool) {
    let path = path
    look(file, "finite numbers") { () throws(ModelStoreError) in
      var count = 0
      for name in checkpoint.tensorNames {
        guard let info = checkpoint.info(name), info.dtype.isFloat, info.count > 0 else { continue }
        let step = max(1, Self.pieceElements / info.columns)
        var piece = Matrix(rows: min(step, info.rows), columns: info.columns)
        for first in stride(from: 0, to: info.rows, by: step) {
          if isStopped() { return "stopped" }
          try rethrow(as: ModelStoreError.checkpoint, checkpoint.readRows(name, rows: first..<min(first + step, info.rows), into: &piece))
          if let bad = firstNonFinite(piece.span) { throw .notFinite(tensor: name, path: path, index: first * info.columns + bad) }
        }
        checkpoint.release(name)
        count += 1
      }
      return "\(count) tensors of floats"
    }
  }

  private mutating func look(_ file: String, _ what: String, _ body: () throws(ModelStoreError) -> String) {
    do throws(ModelStoreError) {
      items.append(Item(file: file, what: what, detail: try body(), fault: nil))
    } catch { items.append(Item(file: file, what: what, detail: "", fault: error)) }
  }
}

extension AdapterSource {
  /// Checks that every A has its B and both have the rank; returns the number of pairs.
  func checkPairs() throws(ModelStoreError) -> Int {
    try AdapterPairs(checkpoint, path: path, rank: configuration.rank, ends: (".lora_A.weight", ".lora_B.weight")).check()
  }
}

/// The matrices A `[R, in]` and B `[out, R]` of an adapter's layers, under names that differ in their ends.
private struct AdapterPairs {
  private let checkpoint: Checkpoint
  private let path: String
  private let rank: Int
  private let ends: (a: String, b: String)

  init(_ checkpoint: Checkpoint, path: String, rank: Int, ends: (a: String, b: String)) {
    (self.checkpoint, self.path, self.rank, self.ends) = (checkpoint, path, rank, ends)
  }

  /// Checks that every A has its B and both have the rank; returns the number of pairs.
  func check() throws(ModelStoreError) -> Int {
    var pairs = 0
    for name in checkpoint.tensorNames {
      if name.hasSuffix(ends.a) {
        try check(name, 0)
        try check(String(name.dropLast(ends.a.count)) + ends.b, 1)
        pairs += 1
      } else if name.hasSuffix(ends.b) {
        try check(String(name.dropLast(ends.b.count)) + ends.a, 0)
      }
    }
    return pairs
  }

  private func check(_ name: String, _ dimension: Int) throws(ModelStoreError) {
    let info = try rethrow(as: ModelStoreError.checkpoint, checkpoint.tensor(name))
    guard info.shape.count == 2, info.shape[dimension] == rank else {
      throw .tensor(name, path: path, expected: "a matrix of rank \(rank)", found: "\(info.shape)")
    }
  }
}
