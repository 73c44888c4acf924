package import DibitJSON
package import DibitReport

/// The answers of a run of an ``EvaluationStudy`` to all examples, and the reasons for which some have none. They can be kept in a file, so
/// that a stopped evaluation goes on behind it.
package struct ScoredRun: Equatable, Sendable {
  /// The answers; examples without an answer have empty rows.
  package var outcomes: RunOutcomes
  /// The reasons for which examples have no answer, by their index.
  package var failures: [Int: String] = [:]
  /// Examples whose text was cut.
  package var truncated = 0

  /// A run that answered all.
  package init(_ outcomes: RunOutcomes, failures: [Int: String] = [:], truncated: Int = 0) {
    (self.outcomes, self.failures, self.truncated) = (outcomes, failures, truncated)
  }

  /// Everything, times included.
  package var json: JSONObject {
    var object = JSONObject([
      ("name", .string(outcomes.name)), ("kind", .string(outcomes.kind.rawValue)), ("truncated", .integer(truncated)),
      ("failures", .object(JSONObject(failures.sorted { $0.key < $1.key }.map { (key: "\($0.key)", value: .string($0.value)) }))),
      ("has_probabilities", .bool(outcomes.hasProbabilities)), ("seconds", .number(outcomes.seconds)),
      ("latencies", .array(outcomes.latencies.map { .number($0) })),
      // JSON has no infinity: null is the logarithm of 0.
      ("log_probabilities", .array(outcomes.logProbabilities.map { .array($0.map { $0 == -.infinity ? .null : .number($0) }) })),
      ("inclusion", .array(outcomes.inclusion.map { .array($0.map { .number($0) }) })),
    ])
    object["tags"] = outcomes.tags.map { .array($0.map { .array($0.sorted().map { .integer($0) }) }) }
    object["tokens"] = outcomes.tokens.map { .integer($0) }
    object["memory_bytes"] = outcomes.memoryBytes.map { .integer($0) }
    object["unparsable_share"] = outcomes.unparsableShare.map { .number($0) }
    object["content_loss"] = outcomes.contentLoss.map { .number($0) }
    object["few_shot"] = outcomes.shots?.json
    return object
  }

  /// Reads what ``json`` wrote; nil for anything else, or where it is not about `examples` texts and up to `labels` labels.
  package init?(_ json: JSONValue, labels: Int, examples: Int) {
    guard let name = json["name"]?.string, let kind = json["kind"]?.string.flatMap(ReportedRun.Kind.init),
      let truncated = json["truncated"]?.int, let failures = json["failures"]?.object,
      let hasProbabilities = json["has_probabilities"]?.bool, let seconds = json["seconds"]?.double,
      let latencies = json["latencies"]?.array, let rows = json["log_probabilities"]?.array, let inclusion = json["inclusion"]?.array
    else { return nil }
    self.truncated = truncated
    for member in failures.members {
      guard let index = Int(member.key), (0..<examples).contains(index), let reason = member.value.string else { return nil }
      self.failures[index] = reason
    }
    let values = rows.map { ($0.array ?? []).compactMap { $0.isNull ? -.infinity : $0.double } }
    outcomes = RunOutcomes(name: name, kind: kind, logProbabilities: values, seconds: seconds)
    outcomes.hasProbabilities = hasProbabilities
    outcomes.latencies = latencies.compactMap(\.double)
    outcomes.inclusion = inclusion.map { ($0.array ?? []).compactMap(\.double) }
    outcomes.tags = json["tags"]?.array.map { $0.map { Set(($0.array ?? []).compactMap(\.int)) } }
    (outcomes.tokens, outcomes.memoryBytes) = (json["tokens"]?.int, json["memory_bytes"]?.int)
    (outcomes.unparsableShare, outcomes.contentLoss) = (json["unparsable_share"]?.double, json["content_loss"]?.double)
    if let shots = json["few_shot"] {
      guard let known = ReportedRun.Shots(json: shots) else { return nil }
      outcomes.shots = known
    }
    let known = self.failures
    guard values.count == examples, values.indices.allSatisfy({ values[$0].count == labels || values[$0].isEmpty && known[$0] != nil }),
      outcomes.inclusion.isEmpty || outcomes.inclusion.count == examples,
      outcomes.inclusion.allSatisfy({ $0.isEmpty || $0.count == labels }),
      outcomes.tags.map({ sets in sets.count == examples && sets.allSatisfy { set in set.allSatisfy { 0 <= $0 && $0 < labels } } }) ?? true
    else { return nil }
  }
}
