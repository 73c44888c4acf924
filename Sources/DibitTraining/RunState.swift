internal import DibitJSON

/// All of a run that is neither parameter nor option: it goes into a checkpoint, and a run that takes it up again does not know it was
/// stopped.
struct RunState: Equatable, Sendable {
  /// Steps that were done.
  var step = 0
  /// Tokens that went through the model.
  var tokens = 0
  /// The position at which the next step begins.
  var dataPosition = DataPosition(epoch: 0, position: 0, generator: 0)
  /// The sum of the losses since the last epoch or validation, and their number.
  var lossSum: Float = 0
  var lossCount = 0
  /// The last validation.
  var validation: LossCurve.Validation?
  /// The best one by content loss.
  var best: LossCurve.Validation?
  /// Validations since the best one.
  var validationsWithoutGain = 0
  var watchdog = Watchdog()
  var curve = LossCurve()
  /// Bytes of the event log that belong to the steps so far.
  var eventBytes = 0

  init() {}
}

extension RunState {
  /// The state as JSON; every number comes back bit by bit.
  var json: JSONValue {
    [
      "step": .integer(step), "tokens": .integer(tokens), "epoch": .integer(dataPosition.epoch),
      "position": .integer(dataPosition.position),
      // JSON numbers lose bits above 2^53.
      "generator": .string(String(dataPosition.generator)), "loss_sum": JSONValue(lossSum), "loss_count": .integer(lossCount),
      "validation": validation.map(Self.json) ?? .null, "best": best.map(Self.json) ?? .null,
      "validations_without_gain": .integer(validationsWithoutGain), "recent_losses": .array(watchdog.recent.map { JSONValue($0) }),
      "suspicious_steps": .integer(watchdog.suspicious), "curve_stride": .integer(curve.stride), "curve_filled": .integer(curve.filled),
      "curve": .array(curve.points.flatMap { [JSONValue($0.loss), JSONValue($0.contentLoss)] }),
      "validations": .array(curve.validations.map(Self.json)), "event_bytes": .integer(eventBytes),
    ]
  }

  private static func json(_ validation: LossCurve.Validation) -> JSONValue {
    [.integer(validation.step), JSONValue(validation.loss), JSONValue(validation.contentLoss)]
  }

  /// Reads what ``json`` wrote; nil when a member is missing, of another type or out of range.
  init?(_ json: JSONValue) {
    func count(_ key: String) -> Int? { json[key]?.int.flatMap { $0 >= 0 ? $0 : nil } }
    func float(_ value: JSONValue?) -> Float? { value?.double.map { Float($0) } }
    func validation(_ value: JSONValue?) -> LossCurve.Validation? {
      guard let parts = value?.array, parts.count == 3, let step = parts[0].int, step >= 0, let loss = float(parts[1]),
        let content = float(parts[2])
      else { return nil }
      return LossCurve.Validation(step: step, loss: loss, contentLoss: content)
    }
    func optional(_ key: String) -> LossCurve.Validation?? {
      guard let value = json[key] else { return nil }
      return value.isNull ? .some(nil) : validation(value).map { .some($0) }
    }
    func all<Element>(_ key: String, _ element: (JSONValue) -> Element?) -> [Element]? {
      guard let list = json[key]?.array else { return nil }
      let elements = list.compactMap(element)
      return elements.count == list.count ? elements : nil
    }
    guard let step = count("step"), let tokens = count("tokens"), let epoch = count("epoch"), let position = count("position"),
      let generator = json["generator"]?.string.flatMap(UInt64.init), let lossSum = float(json["loss_sum"]),
      let lossCount = count("loss_count"), let last = optional("validation"), let best = optional("best"),
      let withoutGain = count("validations_without_gain"), let recent = all("recent_losses", { float($0) }),
      let suspicious = count("suspicious_steps"), let stride = count("curve_stride"), stride > 0, let filled = count("curve_filled"),
      filled <= stride, let points = all("curve", { float($0) }), points.count % 2 == 0, points.count / 2 <= LossCurve.capacity,
      let validations = all("validations", { validation($0) }), let eventBytes = count("event_bytes")
    else { return nil }
    (self.step, self.tokens, self.lossSum, self.lossCount) = (step, tokens, lossSum, lossCount)
    dataPosition = DataPosition(epoch: epoch, position: position, generator: generator)
    (self.validation, self.best, validationsWithoutGain) = (last, best, withoutGain)
    watchdog = Watchdog(recent: recent, suspicious: suspicious)
    (curve.stride, curve.filled, curve.validations) = (stride, filled, validations)
    curve.points = Swift.stride(from: 0, to: points.count, by: 2).map { LossCurve.Point(loss: points[$0], contentLoss: points[$0 + 1]) }
    self.eventBytes = eventBytes
  }
}

extension RunState {
  /// Begins another mean of losses: after each validation or epoch.
  mutating func beginMean() { (lossSum, lossCount) = (0, 0) }

  /// Counts a step that was done.
  mutating func add(loss: Float, contentLoss: Float, tokens count: Int) {
    step += 1
    tokens += count
    (lossSum, lossCount) = (lossSum + loss, lossCount + 1)
    curve.add(loss: loss, contentLoss: contentLoss)
  }

  /// The mean loss of the last steps.
  var meanLoss: Float { lossSum / Float(max(lossCount, 1)) }

  /// Takes in a validation after the last step; true when its content loss is the lowest so far.
  mutating func addValidation(loss: Float, contentLoss: Float) -> Bool {
    let found = LossCurve.Validation(step: step, loss: loss, contentLoss: contentLoss)
    validation = found
    curve.addValidation(loss: loss, contentLoss: contentLoss)
    let isBest = best.map { contentLoss < $0.contentLoss } ?? true
    if isBest { best = found }
    validationsWithoutGain = isBest ? 0 : validationsWithoutGain + 1
    return isBest
  }

  /// Returns the reason for which the run ends here; nil when it goes on.
  func isOver(_ schedule: Schedule, _ options: OptimizationOptions) -> TrainingResult.End? {
    if step >= schedule.totalSteps { return .completed }
    return options.patience > 0 && validationsWithoutGain >= options.patience ? .stoppedEarly : nil
  }
}
