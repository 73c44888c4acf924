/// A seeded draw that keeps the proportions of the labels.
struct StratifiedDraw {
  private let rank: TextRank

  init(seed: UInt64) { rank = TextRank(seed: seed, purpose: "dataset.split") }

  /// A label's examples and how many of them to draw.
  private struct Stratum {
    let label: String
    var members: [Int] = []
    var quota = 0
    var remainder = 0
    var rank: UInt64 = 0
  }

  /// The indices of about `size` examples: fewer only where labels with one example cannot give any.
  func indices(of examples: [DatasetExample], size: Int) -> Set<Int> {
    var strata = strata(of: examples)
    let total = strata.reduce(0) { $0 + $1.members.count }
    guard total > 0 else { return [] }
    var left = size
    for index in strata.indices {
      let share = size * strata[index].members.count
      strata[index].quota = min(share / total, strata[index].members.count - 1)
      strata[index].remainder = share % total
      strata[index].rank = rank(Array(strata[index].label.utf8))
      left -= strata[index].quota
    }
    strata.sort { $0.remainder != $1.remainder ? $0.remainder > $1.remainder : $0.rank < $1.rank }
    // One round gives the remainders; further rounds only where a label could not give its share.
    var isGrowing = true
    while left > 0 && isGrowing {
      isGrowing = false
      for index in strata.indices where left > 0 && strata[index].quota < strata[index].members.count - 1 {
        strata[index].quota += 1
        left -= 1
        isGrowing = true
      }
    }
    var drawn: Set<Int> = []
    for stratum in strata {
      let ranked = stratum.members.map { (index: $0, rank: rank(examples[$0].digest.hexadecimal)) }
      // Members are in the order of paths and the sort is stable, so that equal ranks keep that order.
      drawn.formUnion(ranked.sorted { $0.rank < $1.rank }.prefix(stratum.quota).map(\.index))
    }
    return drawn
  }

  /// The labels with at least two examples, in the order of their bytes.
  private func strata(of examples: [DatasetExample]) -> [Stratum] {
    var members: [[UInt8]: [Int]] = [:]
    for (index, example) in examples.enumerated() {
      members[Array(example.stratum.utf8), default: []].append(index)
    }
    return members.filter { $0.value.count > 1 }
      .map { Stratum(label: String(decoding: $0.key, as: UTF8.self), members: $0.value) }
      .sorted { $0.label.precedesInBytes($1.label) }
  }
}
