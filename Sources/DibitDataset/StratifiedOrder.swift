/// An order of labelled texts in which every beginning has about the labels' shares of the whole: its beginnings are stratified draws, of
/// which a longer one holds every shorter one.
///
/// Of a label with k texts the i-th in a random order stands at (i - ½) / k of the whole, so that a beginning of m texts out of n holds
/// k m / n of them but for one. The order depends on the seed and on texts and labels alone.
package enum StratifiedOrder {
  /// The indices of `examples` in this order.
  package static func indices(of examples: [LabelledExample], seed: UInt64) -> [Int] {
    let textRank = TextRank(seed: seed, purpose: "dataset.order")
    let order = examples.orderOfTexts
    let ranks = order.map { textRank(examples[$0].digest.hexadecimal) }
    var members: [[UInt8]: [Int]] = [:]
    for index in order.indices { members[Array((examples[order[index]].labels.first ?? "").utf8), default: []].append(index) }
    var positions = [Double](repeating: 0, count: order.count)
    for indices in members.values {
      let drawn = indices.sorted { (ranks[$0], $0) < (ranks[$1], $1) }
      for (rank, index) in drawn.enumerated() { positions[index] = (Double(rank) + 0.5) / Double(drawn.count) }
    }
    return order.indices.sorted { (positions[$0], ranks[$0], $0) < (positions[$1], ranks[$1], $1) }.map { order[$0] }
  }
}
