internal import DibitDataset

/// Labels and their places.
struct Truths: Sendable {
  private let places: [[UInt8]: Int]
  private let count: Int

  init(_ labels: [String]) {
    count = labels.count
    places = Dictionary(zip(labels.map { Array($0.utf8) }, labels.indices), uniquingKeysWith: { first, _ in first })
  }

  /// The place of a label; nil for another text.
  func place(of label: String) -> Int? { places[Array(label.utf8)] }

  /// The places of those labels of an example that are known, in ascending order.
  func known(_ example: LabelledExample) -> [Int] { example.labels.compactMap { places[Array($0.utf8)] }.sorted() }

  /// The known labels of each example. Strings would compare equal that differ in their bytes.
  func places(of examples: [LabelledExample]) throws(EvaluationError) -> [[Int]] {
    var all: [[Int]] = []
    for example in examples {
      let found = known(example)
      guard !found.isEmpty else { throw .unknownLabels(example.labels, known: count) }
      all.append(found)
    }
    return all
  }
}
