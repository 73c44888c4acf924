internal import Dibit
internal import DibitCheckpoint
internal import DibitDataset
internal import DibitFiles
internal import DibitJSON
internal import DibitModelStore

extension AdapterPart {
  /// `DIRECTORY` or `DIRECTORY=WEIGHT`; a directory whose name has the sign in it is taken as it is.
  init(argument: String) throws {
    guard !isDirectory(argument), let sign = argument.lastIndex(of: "=") else {
      self.init(path: argument)
      return
    }
    let (path, number) = (String(argument[..<sign]), argument[argument.index(after: sign)...])
    guard !path.isEmpty, let weight = Double(number), abs(weight) <= 1e6 else {
      throw Failure(.usage, "--adapter: expected a directory, and behind '=' a weight from -1000000 to 1000000, found '\(argument)'")
    }
    self.init(path: path, weight: weight)
  }
}

extension AdapterFacts {
  /// Gathers the facts of the sum of adapters: labels and prompt of the first, the texts of all. Of one alone, all that it says.
  init(summing parts: [AdapterPart]) throws {
    for part in parts { _ = try StoredAdapter.readManifest(part.path) }
    let all = try parts.map { try AdapterFacts.read($0.path) }
    if parts.count == 1, parts[0].weight == 1 {
      self = all[0]
      return
    }
    self.init()
    for key in ["labels", "task", "seed", "data_sha256"] { manifest[key] = all[0].manifest[key] }
    for (part, facts) in zip(parts, all).dropFirst()
    where ["labels", "task"].contains(where: { facts.manifest[$0] != all[0].manifest[$0] }) {
      Terminal.write("note: '\(part.path)' has other labels or another prompt than '\(parts[0].path)'; the result has those of the first\n")
    }
    var adapters: [JSONValue] = []
    for part in parts {
      let digest = try StoredAdapter.readManifest(part.path)["digest"] ?? .null
      adapters.append(["path": .string(part.path), "digest": digest, "weight": .number(part.weight)])
    }
    manifest["source"] = ["adapters": .array(adapters)]
    var sketches = TextSketches([])
    for part in parts {
      // Of texts of which some are not known, none can be ruled out.
      guard let own = try TextSketches.ofAdapter(part.path, StoredAdapter.readManifest(part.path)) else { return }
      sketches.formUnion(own)
    }
    setTrainingTexts(sketches)
  }
}
