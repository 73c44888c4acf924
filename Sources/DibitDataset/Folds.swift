internal import DibitTensor

/// Labelled texts in folds for cross-validation: every text lies in one fold, and is judged by what was trained on the others.
///
/// Folds are stratified by first label, and texts that say nearly the same (``NearDuplicates``) stay together, or a fold would be asked
/// about texts that training has seen. Of texts that are all different, the folds' sizes, and their counts of each label, differ by one at
/// most. The draw depends on the seed and on texts and labels alone, not on paths or the order of the examples.
/// Source: Kohavi, "A study of cross-validation and bootstrap for accuracy estimation and model selection" (1995), for stratification.
package struct Folds: Equatable, Sendable {
  /// The number of folds.
  package let count: Int
  /// The fold of each example, from 0.
  package let assignments: [Int]
  /// Examples that stay together, as indices in ascending order; at least two in each group.
  package let groups: [[Int]]

  /// Draws `count` folds, at least two, of `examples`.
  ///
  /// - Throws: ``DatasetError/tooFewTexts(texts:groups:folds:)`` where a fold would stay empty.
  package init(_ examples: [LabelledExample], count: Int, seed: UInt64) throws(DatasetError) {
    require(count > 1, "Folds: \(count) folds")
    let units = Self.units(examples)
    guard units.count >= count else { throw .tooFewTexts(texts: examples.count, groups: units.count, folds: count) }
    var assignments = [Int](repeating: 0, count: examples.count)
    var totals = [Int](repeating: 0, count: count)
    var counts: [[UInt8]: [Int]] = [:]
    for unit in Self.ranked(units, examples, seed) {
      var tally: [[UInt8]: Int] = [:]
      for index in unit { tally[Self.stratum(examples[index]), default: 0] += 1 }
      let load = (0..<count).map { fold in tally.reduce(0) { $0 + $1.value * (counts[$1.key]?[fold] ?? 0) } }
      // The fold with the fewest texts of these labels, among equals the smallest: an empty one always comes first.
      let fold = (0..<count).min { (load[$0], totals[$0]) < (load[$1], totals[$1]) } ?? 0
      for index in unit { assignments[index] = fold }
      for (label, texts) in tally { counts[label, default: [Int](repeating: 0, count: count)][fold] += texts }
      totals[fold] += unit.count
    }
    (self.count, self.assignments) = (count, assignments)
    groups = units.filter { $0.count > 1 }.map { $0.sorted() }.sorted { $0[0] < $1[0] }
  }

  /// The examples of a fold, in ascending order.
  package func indices(in fold: Int) -> [Int] { assignments.indices.filter { assignments[$0] == fold } }

  /// The examples of all other folds, in ascending order.
  package func indices(outside fold: Int) -> [Int] { assignments.indices.filter { assignments[$0] != fold } }

  /// Returns the examples that stay together, each unit in the order of texts.
  private static func units(_ examples: [LabelledExample]) -> [[Int]] {
    let order = examples.orderOfTexts
    // Which groups are found depends on the order in which texts are looked at.
    let found = NearDuplicates(count: order.count) { examples[order[$0]].text }
    var owners = Array(order.indices)
    for group in found.groups { for index in group { owners[index] = group[0] } }
    // Texts without words have no runs to compare, but may be the same.
    for index in owners.indices.dropFirst() where examples[order[index]].digest == examples[order[index - 1]].digest {
      let (kept, joined) = (owners[index - 1], owners[index])
      if kept != joined { for other in owners.indices where owners[other] == joined { owners[other] = kept } }
    }
    var units: [Int: [Int]] = [:]
    for index in owners.indices { units[owners[index], default: []].append(order[index]) }
    return units.sorted { $0.key < $1.key }.map(\.value)
  }

  /// The units in the order in which they are dealt out: large ones first, which later ones make up for, then label by label at random.
  private static func ranked(_ units: [[Int]], _ examples: [LabelledExample], _ seed: UInt64) -> [[Int]] {
    let rank = TextRank(seed: seed, purpose: "dataset.folds")
    let keys = units.map { unit in
      (size: unit.count, label: stratum(examples[unit[0]]), rank: rank(examples[unit[0]].digest.hexadecimal))
    }
    let order = units.indices.sorted { left, right in
      let (a, b) = (keys[left], keys[right])
      if a.size != b.size { return a.size > b.size }
      if a.label != b.label { return a.label.lexicographicallyPrecedes(b.label) }
      return (a.rank, left) < (b.rank, right)
    }
    return order.map { units[$0] }
  }

  private static func stratum(_ example: LabelledExample) -> [UInt8] { Array((example.labels.first ?? "").utf8) }
}
