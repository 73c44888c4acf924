package import DibitConversion
package import DibitJSON
package import DibitKernels
package import DibitModelStore

/// Adapters to and from the forms of other tools, with what is known of them.
package enum AdapterExchange {
  /// Makes an adapter directory of an adapter of another tool.
  ///
  /// - Parameters:
  ///   - task: What it learnt to answer, where its files do not say it; nil where they do, or nobody knows.
  ///   - note: is told what a user should know of the prompt.
  /// - Returns: The number of adapted layers, and the manifest.
  package static func importAdapter(
    _ path: String, base: StoredModel, task: AdapterTask?, output: String, overwrites: Bool, on compute: Compute, note: (String) -> Void
  ) throws -> (layers: Int, manifest: JSONObject) {
    var facts = try AdapterFacts.read(path)
    if let task, facts.manifest["labels"] != .array(task.labels.map { .string($0) }), facts.leaveWords() { note(Self.noteOfWords(path)) }
    // What an adapter of ours says of its data is not replaced by nothing.
    for (key, value) in try task?.members(for: base, note: note).members ?? []
    where facts.manifest[key] == nil || !["seed", "data_sha256"].contains(key) { facts.manifest[key] = value }
    facts.card = try AdapterCard(base: base, facts: facts).text
    let layers = try AdapterConverter.importAdapter(
      path, base: base, facts: facts, output: output, overwrite: overwrites, on: compute)
    return (layers, facts.manifest)
  }

  /// Writes the sum of adapters of `base`, or one alone as it is, in the form of another tool.
  ///
  /// - Parameters:
  ///   - baseName: What it names as its base; nil for the name of the base's directory.
  ///   - note: is told which adapters have other labels than the first.
  /// - Returns: The number of adapted layers.
  package static func export(
    _ parts: [AdapterPart], base: StoredModel, format: AdapterFormat, baseName: String?, output: String, overwrites: Bool,
    on compute: Compute, note: (String) -> Void
  ) throws -> Int {
    var facts = try AdapterFacts(summing: parts, note: note)
    facts.baseName = baseName
    // A file of llama.cpp's has no room for it.
    if format == .gguf, facts.leaveWords() { note(Self.noteOfWords(parts[0].path)) }
    facts.card = try AdapterCard(base: base, facts: facts).text
    return try AdapterConverter.exportAdapter(
      parts, base: base, format: format, facts: facts, output: output, overwrite: overwrites, on: compute)
  }

  /// Returns what the README.md of a model says of the task of the adapters that are merged into it; nil without any.
  package static func mergedNote(_ parts: [AdapterPart], base: () throws -> StoredModel, note: (String) -> Void) throws -> String? {
    guard !parts.isEmpty else { return nil }
    var facts = try AdapterFacts(summing: parts, note: note)
    if facts.leaveWords() { note(noteOfWords(parts[0].path)) }
    return try "\n" + AdapterCard(base: base(), facts: facts).task
  }

  /// A line on what answers without the classifier of words that the adapter at `path` had.
  static func noteOfWords(_ path: String) -> String {
    "'\(path)' has a classifier of words beside it, which stays behind: answers are the model's alone"
  }
}
