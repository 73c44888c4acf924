/// Gathers the examples of a split from any reader; equal ones become one.
struct ExampleCollector {
  /// The examples so far, in the order in which they came first.
  private(set) var examples: [DatasetExample] = []
  private var indices: [TextDigest: Int] = [:]

  /// Adds an example; a repetition is merged with the one that is known, and reported.
  mutating func add(_ example: DatasetExample, report: inout ScanReport) {
    let index = examples.count
    // One look-up, not two, for the many that are new.
    let known = indices[example.digest, default: index]
    guard known < index else {
      indices[example.digest] = index
      examples.append(example)
      return
    }
    examples[known] = Self.merge(examples[known], with: example, report: &report)
  }

  /// The labels of both, at the location that comes first.
  private static func merge(_ known: DatasetExample, with other: DatasetExample, report: inout ScanReport) -> DatasetExample {
    let isRepeated = other.labels.allSatisfy { label in known.labels.contains { $0.hasSameBytes(as: label) } }
    if isRepeated || known.labels.count <= 1 {
      report.note(isRepeated ? .repeated : .multipleLabels, other.location, "same text as '\(known.location)'")
    }
    let first = other.isBefore(known) ? other : known
    guard case .labelled(let example) = first else { return first }
    return .labelled(
      LabelledExample(
        path: example.path, line: example.line, text: example.text,
        labels: isRepeated ? known.labels : (known.labels + other.labels).distinctByBytes(), digest: example.digest))
  }
}

extension ScanReport {
  /// Notes texts that lie in two splits, and labels that have no text in the training split although there is one.
  mutating func compare(_ splits: [SplitName: [DatasetExample]]) {
    let present = SplitName.allCases.filter { splits[$0]?.isEmpty == false }
    guard present.count > 1 else { return }
    noteLeakage(present.map { splits[$0] ?? [] })
    guard let train = splits[.train], !train.isEmpty else { return }
    let trained = Set(Dataset.labels(of: [train]).map { Array($0.utf8) })
    for label in Dataset.labels(of: Array(splits.values)) where !trained.contains(Array(label.utf8)) { note(.untrainedLabel, label) }
  }

  private mutating func noteLeakage(_ splits: [[DatasetExample]]) {
    var seen: [TextDigest: (split: Int, index: Int)] = [:]
    var noted: Set<TextDigest> = []
    for (number, examples) in splits.enumerated() {
      for (index, example) in examples.enumerated() {
        guard let first = seen[example.digest] else {
          seen[example.digest] = (number, index)
          continue
        }
        guard noted.insert(example.digest).inserted else { continue }
        note(.leakage, example.location, "same text as '\(splits[first.split][first.index].location)'")
      }
    }
  }
}
