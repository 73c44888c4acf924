internal import DibitDataset

/// Labels and their indices.
struct Truths: Sendable {
  private let table: [[UInt8]: Int]
  private let count: Int

  init(_ labels: [String]) {
    count = labels.count
    table = Dictionary(zip(labels.map { Array($0.utf8) }, labels.indices), uniquingKeysWith: { first, _ in first })
  }

  /// The index of a label; nil for another text.
  func index(of label: String) -> Int? { table[Array(label.utf8)] }

  /// The indices of those labels of an example that are known, in ascending order.
  func known(_ example: LabelledExample) -> [Int] { example.labels.compactMap { table[Array($0.utf8)] }.sorted() }

  /// The known labels of each example, none of one that has no labels. Strings would compare equal that differ in their bytes.
  func indices(of examples: [LabelledExample]) throws(EvaluationError) -> [[Int]] {
    var all: [[Int]] = []
    for example in examples {
      let found = known(example)
      guard !found.isEmpty || example.labels.isEmpty else { throw .unknownLabels(example.labels, known: count) }
      all.append(found)
    }
    return all
  }
}
