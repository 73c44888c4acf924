internal import DibitDataset
internal import DibitFailure
internal import DibitJSON

/// The output of `dibit dataset`.
struct DatasetReport {
  let path: String
  let dataset: Dataset
  let split: SplitSummary
  let survey: DatasetSurvey
  var readSeconds = 0.0
  var surveySeconds = 0.0
  /// Nil without a tokenizer.
  var tokens: TokenLengths?
  /// The reasons for which examples cannot be learnt.
  var unfit: [String] = []
  var preview: [TokenPreview] = []

  private static let shownEntries = 5
  private static let shownLabels = 40

  private var count: Int { split.train + split.validation + split.test }

  // MARK: For people

  var lines: [String] {
    var lines = [dataset.kind.counted(count) + (dataset.kind == .labelled ? ", " + counted(dataset.labels.count, "label") : "")]
    let automatic = split.automatic.contains(.validation) ? " (held out of training by itself)" : ""
    lines.append("  \(grouped(split.train)) training, \(grouped(split.validation)) validation\(automatic), \(grouped(split.test)) test")
    if survey.multipleLabels > 0 { lines.append("  \(grouped(survey.multipleLabels)) with more than one label") }
    if survey.withoutLabels > 0 { lines.append("  \(grouped(survey.withoutLabels)) with no label") }
    if split.train == 0 { lines.append("note: nothing can be trained: there are no \(dataset.kind.plural) of the training split") }
    if split.validation == 0, Dataset.automaticValidationSize(trainingCount: split.train) > 0 {
      lines.append("note: nothing is held out of training: no label has two texts")
    }
    lines += labelLines + lengthLines + findingLines + nearLines
    for example in preview { lines += Self.lines(example) }
    return lines
  }

  private var labelLines: [String] {
    guard !survey.labels.isEmpty else { return [] }
    let sorted = survey.labels.sorted { $0.total > $1.total }
    let (most, least) = (sorted[0], sorted[sorted.count - 1])
    var lines = ["", "Labels: '\(most.label)' has \(counted(most.total)), '\(least.label)' has \(grouped(least.total))"]
    let rows = sorted.prefix(Self.shownLabels).map { label in ["  " + label.label] + label.counts.map { grouped($0) } }
    lines += table([["  label", "train", "validation", "test"]] + rows)
    if sorted.count > Self.shownLabels { lines.append("  and \(grouped(sorted.count - Self.shownLabels)) more; --json lists them all") }
    for group in survey.similarLabels {
      lines.append("note: labels that look like one: " + group.map { "'\($0)'" }.joined(separator: ", "))
    }
    return lines
  }

  private var lengthLines: [String] {
    var lines: [String] = []
    if let characters = survey.characters { lines += [""] + Self.lines("Length in characters", characters) }
    guard let tokens else { return lines }
    if let summary = LengthSummary(tokens.lengths) {
      lines += [""] + Self.lines("Length in tokens, with prompt and answer", summary)
      lines.append(
        "  \(counted(summary.total, "token")), \(grouped(tokens.learnt)) of them learnt, \(grouped(tokens.content)) of those content")
    } else {
      lines += ["", "note: none of the \(dataset.kind.plural) can be learnt"]
    }
    if tokens.truncated > 0 {
      lines.append("note: \(counted(tokens.truncated)) cut to fit, losing \(counted(tokens.truncatedTokens, "token")) in all")
    }
    for fault in unfit.prefix(Self.shownEntries) { lines.append("note: \(fault)") }
    if unfit.count > Self.shownEntries { lines.append("note: and \(grouped(unfit.count - Self.shownEntries)) more that cannot be learnt") }
    return lines
  }

  private static func lines(_ title: String, _ summary: LengthSummary) -> [String] {
    let largest = summary.classes.map(\.count).max() ?? 1
    let numbers = table(
      summary.classes.map { ["  ", grouped($0.bounds.lowerBound), "to \(grouped($0.bounds.upperBound))", grouped($0.count)] })
    return [
      "\(title): shortest \(grouped(summary.minimum)), half up to \(grouped(summary.median)), 90 % up to \(grouped(summary.ninetieth)), "
        + "99 % up to \(grouped(summary.ninetyNinth)), longest \(grouped(summary.maximum))"
    ]
      + zip(numbers, summary.classes).map { line, length in
        line + "  " + String(repeating: "#", count: (length.count * 40 + largest - 1) / largest)
      }
  }

  private var findingLines: [String] {
    var lines: [String] = []
    for kind in dataset.report.kinds {
      let finding = dataset.report[kind]
      lines.append("note: \(kind.explained(finding.count))")
      for entry in finding.entries.prefix(Self.shownEntries) {
        lines.append("  \(entry.path)" + (entry.detail.isEmpty ? "" : ": \(Advice.options(in: entry.detail))"))
      }
    }
    return lines.isEmpty ? [] : [""] + lines
  }

  private var nearLines: [String] {
    let groups = survey.nearDuplicates
    guard !groups.isEmpty else { return [] }
    let crossing = groups.count { $0.crossesSplits }
    let different = groups.count { $0.hasDifferentLabels }
    var lines = [
      "",
      "note: \(counted(groups.reduce(0) { $0 + $1.locations.count })) in \(counted(groups.count, "group")) say nearly the same; "
        + "groups in more than one split: \(crossing), with different labels: \(different)",
    ]
    for group in groups.prefix(Self.shownEntries) {
      let more = group.locations.count > 4 ? " and \(group.locations.count - 4) more" : ""
      let marks = [group.crossesSplits ? "in several splits" : nil, group.hasDifferentLabels ? "different labels" : nil].compactMap { $0 }
      lines.append(
        "  " + group.locations.prefix(4).joined(separator: ", ") + more + (marks.isEmpty ? "" : " (\(marks.joined(separator: ", ")))"))
    }
    return lines
  }

  private static func lines(_ preview: TokenPreview) -> [String] {
    let count = preview.runs.reduce(0) { $0 + $1.tokens.count }
    let lost = preview.truncatedTokens > 0 ? ", \(preview.truncatedTokens) cut off" : ""
    return ["", "\(preview.location): \(counted(count, "token"))\(lost)"]
      + preview.runs.map { run in
        let mark =
          switch run.role {
          case .given: "  not learnt  "
          case .scaffolding: "+ scaffolding "
          case .content: "* content     "
          }
        return mark + run.tokens.joined(separator: "|")
      }
  }

  // MARK: For machines

  var json: JSONValue {
    var members: [(key: String, value: JSONValue)] = [
      (key: "schema", value: 1), (key: "kind", value: .string(dataset.kind.rawValue)), (key: "digest", value: .string(dataset.digest)),
      (
        key: "split",
        value: [
          "train": .integer(split.train), "validation": .integer(split.validation), "test": .integer(split.test),
          "automatic": .array(split.automatic.map { .string($0.rawValue) }),
        ]
      ),
      (
        key: "labels",
        value: .array(
          survey.labels.map { label in
            let counts = zip(SplitName.allCases, label.counts).map { (key: $0.rawValue, value: JSONValue.integer($1)) }
            return .object(JSONObject([(key: "label", value: .string(label.label))] + counts))
          })
      ), (key: "similar_labels", value: .array(survey.similarLabels.map { .array($0.map { .string($0) }) })),
      (key: "multiple_labels", value: .integer(survey.multipleLabels)),
      (key: "without_labels", value: .integer(survey.withoutLabels)),
      (key: "characters", value: survey.characters.map(Self.json) ?? .null),
      (key: "tokens", value: tokenJSON), (key: "findings", value: findingJSON),
      (
        key: "near_duplicates",
        value: .array(
          survey.nearDuplicates.map { group in
            [
              "places": .array(group.locations.map { .string($0) }), "crosses_splits": .bool(group.crossesSplits),
              "different_labels": .bool(group.hasDifferentLabels),
            ]
          })
      ),
    ]
    if !preview.isEmpty { members.append((key: "preview", value: .array(preview.map(Self.json)))) }
    members.append((key: "seconds", value: ["read": .number(readSeconds), "survey": .number(surveySeconds)]))
    return .object(JSONObject(members))
  }

  private var tokenJSON: JSONValue {
    guard let tokens else { return .null }
    return [
      "lengths": LengthSummary(tokens.lengths).map(Self.json) ?? .null, "learnt": .integer(tokens.learnt),
      "content": .integer(tokens.content), "truncated_examples": .integer(tokens.truncated),
      "truncated_tokens": .integer(tokens.truncatedTokens), "unfit": .array(unfit.map { .string($0) }),
    ]
  }

  private var findingJSON: JSONValue {
    .object(
      JSONObject(
        dataset.report.kinds.map { kind in
          let finding = dataset.report[kind]
          let entries: JSONValue = .array(
            finding.entries.map { ["place": .string($0.path), "detail": .string(Advice.options(in: $0.detail))] })
          return (key: kind.rawValue, value: ["count": .integer(finding.count), "first": entries])
        }))
  }

  private static func json(_ summary: LengthSummary) -> JSONValue {
    [
      "total": .integer(summary.total), "minimum": .integer(summary.minimum), "median": .integer(summary.median),
      "p90": .integer(summary.ninetieth), "p99": .integer(summary.ninetyNinth), "maximum": .integer(summary.maximum),
      "histogram": .array(
        summary.classes.map {
          ["from": .integer($0.bounds.lowerBound), "to": .integer($0.bounds.upperBound), "count": .integer($0.count)]
        }),
    ]
  }

  private static func json(_ preview: TokenPreview) -> JSONValue {
    let runs: [JSONValue] = preview.runs.map { run in
      let role =
        switch run.role {
        case .given: "given"
        case .scaffolding: "scaffolding"
        case .content: "content"
        }
      return [
        "role": .string(role), "ids": .array(run.ids.map { .integer(Int($0)) }), "tokens": .array(run.tokens.map { .string($0) }),
      ]
    }
    return ["place": .string(preview.location), "truncated_tokens": .integer(preview.truncatedTokens), "runs": .array(runs)]
  }
}
