internal import Dibit
internal import DibitDataset
internal import DibitEvaluation
internal import DibitFailure
internal import DibitJSON
internal import DibitKernels
internal import DibitModelStore
internal import DibitTraining

extension PredictCommand {
  /// Returns what the rows of an output depend on, besides the texts.
  func identity(_ model: StoredModel, _ description: AdapterDescription, adapter manifest: JSONValue) -> RunIdentity {
    var options = JSONObject([
      ("adapter", manifest["digest"] ?? .null), ("labels", description.json["labels"] ?? .null),
      ("task", description.json["task"] ?? .null), ("threshold", threshold.map { .number($0) } ?? .null),
      ("tags", tags.map { .integer($0) } ?? .null), ("cut", .string(cut.rawValue)), ("format", .string(kind.rawValue)),
      ("scores", .bool(scores)), ("input-format", .string(input.format.rawValue)),
      ("text-column", input.textColumn.map { .string($0) } ?? .null), ("activations", .string(compute.activations.rawValue)),
      ("cache", .string(compute.cache.rawValue)),
    ])
    options["words"] = manifest[AdapterFacts.wordsMember]
    return RunIdentity(model: model.digest ?? "", data: "", options: options)
  }
}
