package import DibitJSON
package import DibitReport
package import DibitTraining

/// The findings of a trial: all that a report needs of it. Kept in a file, so that a stopped job can go on behind it.
package struct TrialOutcome: Equatable, Sendable {
  /// Texts that were learnt.
  package var training: Int
  /// Texts that training watched.
  package var validation: Int
  /// Texts that were asked about.
  package var heldOut: Int
  /// Steps that were done.
  package var steps: Int
  /// The step whose parameters were kept.
  package var keptStep: Int
  /// The reason for which training ended.
  package var end: TrainingResult.End
  /// Texts that were asked about and cut to fit.
  package var truncated = 0
  /// The true labels of each text that was asked about.
  package var truths: [[Int]] = []
  /// The answers about them; times are not kept.
  package var runs: [RunOutcomes] = []

  /// Makes the outcome of a training on so many texts, before anything was asked.
  init(training: Int, validation: Int, heldOut: Int, _ result: TrainingResult) {
    (self.training, self.validation, self.heldOut) = (training, validation, heldOut)
    (steps, keptStep, end) = (result.steps, result.keptStep, result.end)
  }

  /// The run of this name, which every outcome has that was made with it.
  package func run(_ name: String) -> RunOutcomes? { runs.first { $0.name == name } }

  /// Neither times nor rates: the same seed gives the same bytes.
  package var json: JSONObject {
    JSONObject([
      ("training_texts", .integer(training)), ("validation_texts", .integer(validation)), ("held_out_texts", .integer(heldOut)),
      ("steps", .integer(steps)), ("kept_step", .integer(keptStep)), ("end", .string(end.rawValue)), ("truncated", .integer(truncated)),
      ("truths", .array(truths.map { .array($0.map { .integer($0) }) })),
      (
        "runs",
        .array(
          runs.map { run in
            [
              "name": .string(run.name), "kind": .string(run.kind.rawValue),
              // JSON has no infinity: null is the logarithm of 0.
              "log_probabilities": .array(run.logProbabilities.map { .array($0.map { $0 == -.infinity ? .null : .number($0) }) }),
            ]
          })
      ),
    ])
  }

  /// Reads what ``json`` wrote; nil for anything else, or where a row has not one number for each of `labels`.
  package init?(_ json: JSONValue, labels: Int) {
    guard let training = json["training_texts"]?.int, let validation = json["validation_texts"]?.int,
      let heldOut = json["held_out_texts"]?.int, let steps = json["steps"]?.int, let keptStep = json["kept_step"]?.int,
      let end = json["end"]?.string.flatMap(TrainingResult.End.init), let truncated = json["truncated"]?.int,
      let truths = json["truths"]?.array, let runs = json["runs"]?.array
    else { return nil }
    (self.training, self.validation, self.heldOut) = (training, validation, heldOut)
    (self.steps, self.keptStep, self.end, self.truncated) = (steps, keptStep, end, truncated)
    self.truths = truths.map { ($0.array ?? []).compactMap(\.int).filter { (0..<labels).contains($0) } }
    for run in runs {
      guard let name = run["name"]?.string, let kind = run["kind"]?.string.flatMap(ReportedRun.Kind.init),
        let rows = run["log_probabilities"]?.array
      else { return nil }
      let values = rows.map { ($0.array ?? []).compactMap { $0.isNull ? -.infinity : $0.double } }
      guard values.count == heldOut, values.allSatisfy({ $0.count == labels }) else { return nil }
      self.runs.append(RunOutcomes(name: name, kind: kind, logProbabilities: values, seconds: 0))
    }
    guard self.truths.count == heldOut, self.truths.allSatisfy({ !$0.isEmpty }), self.runs.contains(where: { $0.kind == .adapter }),
      // A file from before there was this baseline cannot stand beside others.
      run(AdapterTrial.regression) != nil
    else { return nil }
  }
}
