package import DibitDataset
internal import DibitFiles
package import DibitJSON
package import DibitModelStore

extension TextSketches {
  /// The sketches of an adapter's training texts, which its manifest vouches for; nil where it keeps none.
  package static func ofAdapter(_ path: String, _ manifest: JSONValue) throws -> TextSketches? {
    guard let digest = manifest["training_texts"]?["sha256"]?.string else { return nil }
    let bytes = try readBytes(StoreFile.trainingTexts, in: path)
    let file = path + "/" + StoreFile.trainingTexts
    let found = SHA256.digest(bytes)
    guard found == digest else {
      throw DibitError(
        .invalidData, "'\(file)' was changed: SHA-256 \(digest) expected from the manifest, \(found) found; train the adapter again")
    }
    guard let sketches = (try? JSONValue(parsing: bytes)).flatMap({ TextSketches(json: $0) }) else {
      throw DibitError(.invalidData, "'\(file)' holds no sketches of texts; train the adapter again")
    }
    return sketches
  }

  /// The sketches of all texts of several adapters; nil where one does not say its own: of texts of which some are not known, none can be
  /// ruled out.
  static func ofAdapters(_ adapters: [(path: String, manifest: JSONValue)]) throws -> TextSketches? {
    var all = TextSketches([])
    for (path, manifest) in adapters {
      guard let own = try ofAdapter(path, manifest) else { return nil }
      all.formUnion(own)
    }
    return all
  }
}

extension AdapterFacts {
  /// Keeps the sketches of the texts that an adapter learnt from.
  package mutating func setTrainingTexts(_ sketches: TextSketches) {
    let bytes = Array((sketches.json.serialized() + "\n").utf8)
    trainingTexts = bytes
    manifest["training_texts"] = ["count": .integer(sketches.count), "sha256": .string(SHA256.digest(bytes))]
  }
}
