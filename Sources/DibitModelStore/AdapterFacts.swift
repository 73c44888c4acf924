internal import DibitCheckpoint
internal import DibitFiles
package import DibitJSON

/// The facts that go with an adapter's matrices through every form of its files: what it answers, how it is asked, what it learnt from.
///
/// In directories these are a `manifest.json` and, where there are sketches of the texts that it learnt from or a classifier of words, a file with
/// them; PEFT and mlx-lm take no notice of any. In GGUF files they are the keys `dibit.manifest` and `dibit.training_texts`; words stay behind.
package struct AdapterFacts: Equatable, Sendable {
  /// The members of a manifest, without those that tell the files and the base from others.
  package var manifest: JSONObject
  /// The bytes of the sketches, for which the manifest vouches.
  package var trainingTexts: [UInt8]?
  /// The bytes of the classifier of words, for which the manifest vouches.
  package var words: [UInt8]?
  /// The README.md to be written beside the adapter; it is not read back.
  package var card: String?
  /// The base that PEFT is told to load; nil for the name of the base's directory.
  package var baseName: String?

  /// Facts to be written.
  package init(manifest: JSONObject = JSONObject(), trainingTexts: [UInt8]? = nil) {
    self.manifest = manifest
    self.trainingTexts = trainingTexts
  }

  /// The digest of the base that the adapter was made for; nil where its files do not say.
  package private(set) var baseDigest: String?

  private static let own = ["format", "version", "digest", "base_digest"]
  private static let sketches = "training_texts"
  /// The member of the classifier of words.
  package static let wordsMember = "words"

  /// Reads what lies beside or in an adapter of any form; nothing where another tool wrote it.
  package static func read(_ path: String) throws(ModelStoreError) -> AdapterFacts {
    if GGUFAdapter.recognises(path) { return try GGUFAdapter.facts(path) }
    guard isRegularFile(path + "/" + StoreFile.manifest), let json = try? readJSON(StoreFile.manifest, in: path),
      json["format"]?.string == StoredAdapter.format
    else { return AdapterFacts() }
    var facts = AdapterFacts(json)
    if facts.manifest[sketches]?["sha256"] != nil, isRegularFile(path + "/" + StoreFile.trainingTexts) {
      facts.trainingTexts = try readBytes(StoreFile.trainingTexts, in: path)
    }
    if facts.manifest[wordsMember]?["sha256"] != nil { facts.words = try readBytes(StoreFile.words, in: path) }
    return facts
  }

  /// Reads the facts of a whole manifest.
  init(_ json: JSONValue) {
    manifest = json.object ?? JSONObject()
    baseDigest = manifest["base_digest"]?.string
    for key in Self.own { manifest[key] = nil }
  }

  /// The members of a manifest that names the base by its digest.
  func members(base digest: String) -> JSONObject {
    var members = manifest
    members["base_digest"] = .string(digest)
    return members
  }

  /// Leaves the classifier of words behind, as what does not apply it must; true where there was one.
  package mutating func leaveWords() -> Bool {
    defer { (words, manifest[Self.wordsMember]) = (nil, nil) }
    return words != nil
  }

  /// Writes what is no manifest beside the adapter.
  func writeFiles(into directory: borrowing StagedDirectory) throws(FileError) {
    if let trainingTexts { try directory.write(trainingTexts, to: StoreFile.trainingTexts) }
    if let words { try directory.write(words, to: StoreFile.words) }
    if let card { try directory.write(card, to: StoreFile.card) }
  }
}
