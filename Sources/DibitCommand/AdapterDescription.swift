internal import DibitDataset
internal import DibitJSON
internal import DibitModelStore

/// What evaluation and prediction must know of how an adapter was trained: kept in its manifest.
struct AdapterDescription: Equatable {
  /// What the adapter learnt from; only labelled texts have labels and an instruction.
  var kind = DatasetExample.Kind.labelled
  var labels: [String]
  var task: TaggingTask
  /// The seed of the automatic split.
  var seed: UInt64
  var dataDigest: String

  init(kind: DatasetExample.Kind = .labelled, labels: [String], task: TaggingTask, seed: UInt64, dataDigest: String) {
    self.kind = kind
    self.labels = labels
    self.task = task
    self.seed = seed
    self.dataDigest = dataDigest
  }

  /// The members of a manifest.
  var json: JSONObject {
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
    } else {
      members["kind"] = .string(kind.rawValue)
    }
    members["max_tokens"] = .integer(task.maximumTokens)
    if let template = task.template { members["template"] = .string(template.text) }
    return members
  }

  /// Reads the manifest of the adapter at `path`; nil for one that tags no texts: it learnt from conversations, or comes from another tool.
  static func ofTagger(_ path: String) throws -> AdapterDescription? {
    let task = try StoredAdapter.readManifest(path)["task"]
    guard let task, task["kind"]?.string != DatasetExample.Kind.conversation.rawValue else { return nil }
    return try AdapterDescription(adapter: path)
  }

  /// Reads the manifest of the adapter at `path`.
  init(adapter path: String) throws {
    let manifest = try StoredAdapter.readManifest(path)
    func fault(_ key: String, _ expected: String) -> ModelStoreError {
      .malformed(path: path + "/" + StoreFile.manifest, key: key, expected: expected, found: manifest[key]?.kind ?? "nothing")
    }
    guard manifest["task"]?["kind"]?.string != DatasetExample.Kind.conversation.rawValue else {
      throw Failure(.badData, "the adapter '\(path)' was trained on conversations and knows no labels: use it with 'dibit generate'")
    }
    guard let labels = manifest["labels"]?.array?.compactMap(\.string), labels.count > 1 else { throw fault("labels", "a list of names") }
    guard let instruction = manifest["task"]?["instruction"]?.string, let key = manifest["task"]?["key"]?.string,
      let maximum = manifest["task"]?["max_tokens"]?.int, maximum > 0
    else { throw fault("task", "an object with instruction, key and max_tokens") }
    guard let seed = manifest["seed"]?.string.flatMap(UInt64.init) else { throw fault("seed", "a number in quotes") }
    guard let digest = manifest["data_sha256"]?.string else { throw fault("data_sha256", "a digest") }
    var task = TaggingTask()
    (task.instruction, task.key, task.maximumTokens) = (instruction, key, maximum)
    if let template = manifest["task"]?["template"] {
      guard let text = template.string else { throw fault("task", "a text as its template") }
      task.template = try PromptTemplate(text)
    }
    self.init(labels: labels, task: task, seed: seed, dataDigest: digest)
  }
}
