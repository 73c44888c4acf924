/// The findings of a look at all of a dataset, beyond what reading it noticed.
package struct DatasetSurvey: Equatable, Sendable {
  /// The number of occurrences of a label in each split.
  package struct LabelCount: Equatable, Sendable {
    /// The label.
    package let label: String
    /// Texts that carry it, in the order of `SplitName.allCases`.
    package fileprivate(set) var counts: [Int]

    /// Texts that carry it in all splits.
    package var total: Int { counts.reduce(0, +) }
  }

  /// Texts that say nearly the same.
  package struct NearGroup: Equatable, Sendable {
    /// The locations of their texts.
    package let locations: [String]
    /// True where they lie in more than one split.
    package let crossesSplits: Bool
    /// True where they carry different labels.
    package let hasDifferentLabels: Bool
  }

  /// The labels in the order of their bytes.
  package let labels: [LabelCount]
  /// Labels that differ in nothing but case, spaces, hyphens and underscores.
  package let similarLabels: [[String]]
  /// Texts with more than one label.
  package let multipleLabels: Int
  /// Texts to which no label applies.
  package let withoutLabels: Int
  /// Lengths in Unicode scalars; nil for no texts.
  package let characters: LengthSummary?
  /// Groups of nearly equal texts, but for those that are equal.
  package let nearDuplicates: [NearGroup]

  /// Looks at a dataset; `nearDuplicates` is the part that takes long.
  package init(_ dataset: Dataset, findingNearDuplicates: Bool = true) {
    var (counts, indices): ([LabelCount], [[UInt8]: Int]) = ([], [:])
    for (index, label) in dataset.labels.enumerated() {
      counts.append(LabelCount(label: label, counts: SplitName.allCases.map { _ in 0 }))
      indices[Array(label.utf8)] = index
    }
    var (lengths, multiple): ([Int], Int) = ([], 0)
    for (number, split) in SplitName.allCases.enumerated() {
      for example in dataset[split] {
        for label in example.labels { if let index = indices[Array(label.utf8)] { counts[index].counts[number] += 1 } }
        if example.labels.count > 1 { multiple += 1 }
        lengths.append(example.text.unicodeScalars.count)
      }
    }
    labels = counts
    multipleLabels = multiple
    withoutLabels = SplitName.allCases.reduce(0) { $0 + dataset.unlabelledCount($1) }
    characters = LengthSummary(lengths)
    similarLabels = Self.similar(dataset.labels)
    nearDuplicates = findingNearDuplicates ? Self.nearDuplicates(dataset) : []
  }

  private static func similar(_ labels: [String]) -> [[String]] {
    var groups: [String: [String]] = [:]
    for label in labels {
      groups[label.lowercased().filter { !$0.isWhitespace && $0 != "-" && $0 != "_" }, default: []].append(label)
    }
    return groups.values.filter { $0.count > 1 }.sorted { $0[0].precedesInBytes($1[0]) }
  }

  private static func nearDuplicates(_ dataset: Dataset) -> [NearGroup] {
    let ends = [dataset.train.count, dataset.train.count + dataset.validation.count]
    func example(_ index: Int) -> (split: Int, example: DatasetExample) {
      if index < ends[0] { return (0, dataset.train[index]) }
      return index < ends[1] ? (1, dataset.validation[index - ends[0]]) : (2, dataset.test[index - ends[1]])
    }
    // Equal texts of two splits are a finding of their own: only the first is searched. Within a split there are none.
    var seen: Set<TextDigest> = []
    let hasSplits = SplitName.allCases.count { !dataset[$0].isEmpty } > 1
    let count = ends[1] + dataset.test.count
    let isRepeated = hasSplits ? (0..<count).map { !seen.insert(example($0).example.digest).inserted } : []
    let found = NearDuplicates(count: count) { isRepeated.isEmpty || !isRepeated[$0] ? example($0).example.text : nil }
    return found.groups.map { group in
      let members = group.map(example)
      return NearGroup(
        locations: members.map(\.example.location), crossesSplits: members.contains { $0.split != members[0].split },
        hasDifferentLabels: members.contains { !$0.example.labels.hasSameBytes(as: members[0].example.labels) })
    }
  }
}
