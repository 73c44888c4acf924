internal import DibitFiles
internal import DibitJSON
internal import DibitModelStore

/// The `metadata.json` of an adapter package (`.fmadapter`), with the members that Apple's packages have.
///
/// The matrices lie beside it as PEFT has them, and not in the form of Apple's runtime, which runs them over Apple's model alone.
struct AdapterPackage {
  /// The directory's name without its ending.
  private let name: String
  /// The identity of the base: the first 40 digits of its digest.
  private let signature: String
  private let rank: Int
  private let facts: AdapterFacts

  private static let ending = ".fmadapter"

  init(output: String, base: StoredModel, rank: Int, facts: AdapterFacts) {
    let name = fileName(of: output) ?? "adapter"
    self.name = name.hasSuffix(Self.ending) ? String(name.dropLast(Self.ending.count)) : name
    signature = String((base.digest ?? "").prefix(40))
    (self.rank, self.facts) = (rank, facts)
  }

  /// Writes the file, with the manifest of the adapter for its creator's members.
  func write(into directory: borrowing StagedDirectory) throws(FileError) {
    let metadata: JSONValue = [
      "adapterIdentifier": .string("fmadapter-\(name)-\(signature.prefix(7))"), "baseModelSignature": .string(signature),
      "loraRank": .integer(rank), "creatorDefined": .object(facts.manifest),
    ]
    try directory.write(metadata.serialized(pretty: true) + "\n", to: StoreFile.packageMetadata)
  }
}
