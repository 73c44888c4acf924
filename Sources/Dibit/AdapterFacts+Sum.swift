internal import DibitDataset
internal import DibitJSON
package import DibitModelStore

extension AdapterFacts {
  /// Gathers the facts of the sum of adapters: labels and prompt of the first, the texts of all. Of one alone, all that it says.
  ///
  /// - Parameter note: is told which adapters have other labels or another prompt.
  package init(summing parts: [AdapterPart], note: (String) -> Void) throws {
    let manifests = try parts.map { try StoredAdapter.readManifest($0.path) }
    let all = try parts.map { try AdapterFacts.read($0.path) }
    if parts.count == 1, parts[0].weight == 1 {
      self = all[0]
      return
    }
    self.init(manifest: Self.sharedByParts(.object(all[0].manifest)))
    for (part, facts) in zip(parts, all) where facts.words != nil { note(AdapterExchange.noteOfWords(part.path)) }
    for (part, facts) in zip(parts, all).dropFirst()
    where ["labels", "task"].contains(where: { facts.manifest[$0] != all[0].manifest[$0] }) {
      note("'\(part.path)' has other labels or another prompt than '\(parts[0].path)'; the result has those of the first")
    }
    manifest["source"] = [
      "adapters": .array(
        zip(parts, manifests).map { part, manifest in
          ["path": .string(part.path), "digest": manifest["digest"] ?? .null, "weight": .number(part.weight)]
        })
    ]
    if let sketches = try TextSketches.ofAdapters(zip(parts, manifests).map { ($0.path, $1) }) { setTrainingTexts(sketches) }
  }

  /// The members that a sum has of its first part.
  static func sharedByParts(_ manifest: JSONValue) -> JSONObject {
    JSONObject(["labels", "task", "seed", "data_sha256"].compactMap { key in manifest[key].map { (key: key, value: $0) } })
  }
}
