package import DibitJSON

extension TrainingEvent {
  /// The event as one object: `schema`, `event`, what belongs to its kind, and under `measured` all that differs from run to run.
  package var json: JSONObject {
    var members: [(key: String, value: JSONValue)] = [(key: "schema", value: .integer(Self.schema))]
    func add(_ name: String, _ values: [(key: String, value: JSONValue)]) {
      members.append((key: "event", value: .string(name)))
      members += values
    }
    switch kind {
    case .start(let start):
      add(
        "start",
        [
          ("mode", .string(start.mode.rawValue)), ("total_steps", .integer(start.totalSteps)), ("parameters", .integer(start.parameters)),
          ("examples", .integer(start.examples)), ("validation_examples", .integer(start.validationExamples)),
        ])
    case .step(let step):
      add(
        "step",
        [
          ("step", .integer(step.step)), ("total_steps", .integer(step.totalSteps)), ("epoch", .integer(step.epoch)),
          ("tokens", .integer(step.tokens)), ("loss", JSONValue(step.loss)), ("content_loss", JSONValue(step.contentLoss)),
          ("learning_rate", JSONValue(step.learningRate)), ("gradient_norm", JSONValue(step.gradientNorm)),
        ])
    case .validation(let validation):
      add(
        "validation",
        [
          ("step", .integer(validation.step)), ("epoch", .integer(validation.epoch)), ("loss", JSONValue(validation.loss)),
          ("content_loss", JSONValue(validation.contentLoss)), ("best", .bool(validation.isBest)),
        ])
    case .checkpoint(let checkpoint): add("checkpoint", [("step", .integer(checkpoint.step)), ("bytes", .integer(checkpoint.bytes))])
    case .end(let end):
      add("end", [("step", .integer(end.step)), ("reason", .string(end.reason.rawValue)), ("kept_step", .integer(end.keptStep))])
    }
    members.append((key: "measured", value: measured.json))
    return JSONObject(members)
  }
}

extension TrainingEvent.Measured {
  fileprivate var json: JSONValue {
    [
      "time": Self.rounded(time), "seconds": Self.rounded(seconds), "tokens_per_second": Self.rounded(tokensPerSecond),
      "memory_bytes": memoryBytes.map { .integer($0) } ?? .null, "seconds_left": Self.rounded(secondsLeft),
    ]
  }

  /// Milliseconds are enough.
  private static func rounded(_ value: Double) -> JSONValue { .number((value * 1000).rounded() / 1000) }
}

extension JSONValue {
  /// The float with as few digits as tell it from its neighbours.
  init(_ value: Float) { self = .number(Double("\(value)") ?? .nan) }
}
