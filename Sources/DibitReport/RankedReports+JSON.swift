package import DibitJSON
internal import DibitStatistics

extension RankedReports {
  /// The version of the JSON form; it changes when a key changes its meaning, not when one is added.
  package static let schema = 1

  /// The ranking for machines; `docs/formats/report.md` says what each key means. Unknown values are left out.
  ///
  /// - Parameter unreadable: files that are no reports, and why.
  package func json(unreadable: [(file: String, reason: String)] = []) -> JSONValue {
    [
      "schema": .integer(Self.schema), "metric": .string(metric.rawValue),
      "groups": .array(groups.map(json)),
      "unreadable": .array(unreadable.map { ["file": .string($0.file), "error": .string($0.reason)] }),
    ]
  }

  private func json(_ group: Group) -> JSONValue {
    let report = reports[group.first].report
    var object = JSONObject()
    object["data"] = report.data.map { .string($0) }
    object["data_digest"] = report.digests.data.map { .string($0) }
    object["split"] = .string(report.split)
    object["examples"] = .integer(report.examples)
    object["labels"] = .array(report.labels.map { .string($0) })
    if report.isOpen { object["open"] = .bool(true) }
    object["reports"] = .integer(group.count)
    object["runs"] = .array(group.entries.map(json))
    object["history"] = .array(group.histories.map(json))
    return .object(object)
  }

  private func json(_ entry: Entry) -> JSONValue {
    let run = entry.run
    var object = JSONObject([
      (key: "rank", value: .integer(entry.rank)), (key: "name", value: .string(run.name)), (key: "kind", value: .string(run.kind.rawValue)),
      (key: "file", value: .string(reports[entry.report].file)), (key: "accuracy", value: .number(run.metrics.accuracy)),
    ])
    object["accuracy_ci95"] = run.accuracyInterval.map { ends($0) }
    object["macro_f1"] = .number(run.metrics.macroF1)
    object["macro_f1_ci95"] = run.macroF1Interval.map { ends($0) }
    object["log_loss"] = run.logLoss.map { .number($0) }
    object["may_be_noise"] = entry.mayBeNoise.map { .bool($0) }
    object["to_best"] = entry.toBest.map { comparison in
      let own = comparison.swapped
      return ["difference": .number(own.difference), "ci95": ends(own.interval), "p_value": .number(own.pValue)]
    }
    return .object(object)
  }

  private func json(_ history: RunHistory) -> JSONValue {
    let points: [JSONValue] = history.points.map { point in
      var object = JSONObject([
        (key: "file", value: .string(reports[point.report].file)), (key: "date", value: .string(point.date.iso)),
      ])
      object["value"] = point.value.map { .number($0) }
      object["change"] = point.change.map { .number($0) }
      return .object(object)
    }
    return ["name": .string(history.name), "kind": .string(history.kind.rawValue), "points": .array(points)]
  }

  private func ends(_ interval: ConfidenceInterval) -> JSONValue { [.number(interval.lower), .number(interval.upper)] }
}
