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
  func identity(_ model: StoredModel, _ description: AdapterDescription, adapter digest: String?) -> RunIdentity {
    RunIdentity(
      model: model.digest ?? "", data: "",
      options: JSONObject([
        ("adapter", digest.map { .string($0) } ?? .null), ("labels", description.json["labels"] ?? .null),
        ("task", description.json["task"] ?? .null), ("threshold", threshold.map { .number($0) } ?? .null),
        ("tags", tags.map { .integer($0) } ?? .null), ("cut", .string(cut.rawValue)), ("format", .string(kind.rawValue)),
        ("scores", .bool(scores)), ("input-format", .string(input.format.rawValue)),
        ("text-column", input.textColumn.map { .string($0) } ?? .null), ("activations", .string(compute.activations.rawValue)),
        ("cache", .string(compute.cache.rawValue)),
      ]))
  }
}

extension RunIdentity.Difference {
  /// The failure to go on behind what another job wrote into `output`.
  func failure(of output: String) -> Failure {
    let advice = "give the same to go on, or pass --overwrite instead of --resume to begin anew"
    return Failure(.badData, "'\(output)' was begun \(difference): \(advice)")
  }

  private var difference: String {
    switch self {
    case .model: return "with another model"
    case .data: return "with other data"
    case .option("adapter", let was, let found): return "with another adapter (\(Self.digest(was)), not \(Self.digest(found)))"
    case .option("labels", _, _): return "with other labels"
    case .option("task", _, _): return "with another prompt"
    case .option("scores", let was, _): return was == "true" ? "with --scores" : "without --scores"
    case .option(let key, let was, let found):
      guard Self.isSet(was) else { return "without --\(key), not with \(Self.plain(found))" }
      return "with --\(key) \(Self.plain(was))" + (Self.isSet(found) ? ", not \(Self.plain(found))" : "")
    }
  }

  private static func isSet(_ value: String) -> Bool { value != "null" && value != RunIdentity.notSet }

  /// A value without the quotes of JSON, and with those of a message where it needs some.
  private static func plain(_ value: String) -> String {
    guard let text = (try? JSONValue(parsing: value))?.string else { return value }
    return text.allSatisfy { $0.isLetter || $0.isNumber } ? text : quoted(text)
  }

  private static func digest(_ value: String) -> String { String(plain(value).prefix(12)) }
}
