package import DibitDataset
package import DibitJSON
internal import DibitModelStore

/// The facts of an adapter's training that evaluation and prediction must know: kept in its manifest.
package struct AdapterDescription: Equatable, Sendable {
  /// The kind of examples that the adapter learnt from; only labelled texts have labels and an instruction.
  package var kind = DatasetExample.Kind.labelled
  /// The labels that are chosen among.
  package var labels: [String]
  /// The task in which it is asked.
  package var task: TaggingTask
  /// The seed of the automatic split.
  package var seed: UInt64
  /// The digest of the data.
  package var dataDigest: String
  /// The digest of the chat template that prompts were put into; nil where they were not.
  package var templateDigest: String?

  /// A description of known values.
  package init(
    kind: DatasetExample.Kind = .labelled, labels: [String], task: TaggingTask, seed: UInt64, dataDigest: String,
    templateDigest: String? = nil
  ) {
    self.kind = kind
    self.labels = labels
    self.task = task
    self.seed = seed
    self.dataDigest = dataDigest
    self.templateDigest = templateDigest
  }

  /// In what labels and instructions differ, so that answers cannot be compared; the most tokens of a text, and the form of the prompt that
  /// instruction and text are put into, may.
  package func differences(from other: AdapterDescription) -> [String] {
    var differences: [String] = []
    func list(_ names: [String]) -> String { names.prefix(5).map { "'\($0)'" }.joined(separator: ", ") + (names.count > 5 ? ", …" : "") }
    if labels != other.labels {
      let (own, others) = (labels.filter { !other.labels.contains($0) }, other.labels.filter { !labels.contains($0) })
      let parts = [own.isEmpty ? "" : "\(list(own)) only in the first", others.isEmpty ? "" : "\(list(others)) only in the second"]
      let some = parts.filter { !$0.isEmpty }.joined(separator: ", ")
      differences.append("labels (\(some.isEmpty ? "the same in another order" : some))")
    }
    if task.instruction != other.task.instruction {
      differences.append("instructions ('\(task.instruction)' and '\(other.task.instruction)')")
    }
    if task.key != other.task.key { differences.append("keys of the answer ('\(task.key)' and '\(other.task.key)')") }
    if task.template != other.task.template { differences.append("prompt templates") }
    return differences
  }

  /// The members of a manifest.
  package var json: JSONObject {
    JSONObject([
      (key: "labels", value: .array(labels.map { .string($0) })), (key: "task", value: .object(taskJSON)),
      (key: "seed", value: .string(String(seed))), (key: "data_sha256", value: .string(dataDigest)),
    ])
  }

  private var taskJSON: JSONObject {
    var members = JSONObject()
    if kind == .labelled {
      members["instruction"] = .string(task.instruction)
      members["key"] = .string(task.key)
      if task.allowsNone { members["none"] = true }
      if let form = task.form { members["form"] = .string(form.rawValue) }
      if let templateDigest { members["chat_template_sha256"] = .string(templateDigest) }
    } else {
      members["kind"] = .string(kind.rawValue)
    }
    members["max_tokens"] = .integer(task.maximumTokens)
    if let template = task.template { members["template"] = .string(template.text) }
    return members
  }

  /// Reads the manifest of the adapter at `path`; nil for one that tags no texts: it learnt from conversations, or comes from another tool.
  package static func ofTagger(_ manifest: JSONValue, of path: String) throws -> AdapterDescription? {
    guard let task = manifest["task"], task["kind"]?.string != DatasetExample.Kind.conversation.rawValue else { return nil }
    return try AdapterDescription(manifest: manifest, of: path)
  }

  /// Reads the manifest of the adapter at `path`.
  package init(adapter path: String) throws { try self.init(manifest: StoredAdapter.readManifest(path), of: path) }

  /// Reads the manifest, or its members, of the adapter at `path`.
  package init(manifest: JSONValue, of path: String) throws {
    func fault(_ key: String, _ expected: String) -> ModelStoreError {
      .malformed(path: path + "/" + StoreFile.manifest, key: key, expected: expected, found: manifest[key]?.kind ?? "nothing")
    }
    guard manifest["task"]?["kind"]?.string != DatasetExample.Kind.conversation.rawValue else {
      throw DibitError(.invalidData, "the adapter '\(path)' was trained on conversations and knows no labels", .generateInstead)
    }
    guard manifest["labels"] != nil || manifest["source"] == nil else {
      throw DibitError(.invalidData, "the adapter '\(path)' comes from another tool and says no labels", .nameLabels)
    }
    guard let labels = manifest["labels"]?.array?.compactMap(\.string), labels.count > 1 else { throw fault("labels", "a list of names") }
    guard let instruction = manifest["task"]?["instruction"]?.string, let key = manifest["task"]?["key"]?.string,
      let maximum = manifest["task"]?["max_tokens"]?.int, maximum > 0
    else { throw fault("task", "an object with instruction, key and max_tokens") }
    guard let seed = manifest["seed"]?.string.flatMap(UInt64.init) else { throw fault("seed", "a number in quotes") }
    guard let digest = manifest["data_sha256"]?.string else { throw fault("data_sha256", "a digest") }
    var task = TaggingTask()
    (task.instruction, task.key, task.maximumTokens) = (instruction, key, maximum)
    task.allowsNone = manifest["task"]?["none"]?.bool == true
    if let template = manifest["task"]?["template"] {
      guard let text = template.string else { throw fault("task", "a text as its template") }
      task.template = try PromptTemplate(text)
    }
    var templateDigest: String?
    // Adapters of before there were forms are asked as the vocabulary says.
    if let form = manifest["task"]?["form"] {
      templateDigest = manifest["task"]?["chat_template_sha256"]?.string
      guard let known = form.string.flatMap(PromptForm.init), known != .chat || templateDigest != nil else {
        throw fault("task", "'chat' with a digest of its template, 'turns' or 'plain' as its form")
      }
      task.form = known
    }
    self.init(labels: labels, task: task, seed: seed, dataDigest: digest, templateDigest: templateDigest)
  }
}
