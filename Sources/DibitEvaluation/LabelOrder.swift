package import DibitDataset
package import DibitInference
package import DibitKernels
internal import DibitTensor
internal import Glibc

/// The dependence of the answer on the order in which the prompt lists the labels.
///
/// The instruction names them where it says ``TaggingTask/labelsPlaceholder``. The texts are scored under several orders, drawn with a seed.
package struct LabelOrderBias: Equatable, Sendable {
  /// The orders, as indices among the labels.
  package let orders: [[Int]]
  /// Texts that were scored under all orders.
  package let texts: Int
  /// The share of pairs of orders in which a text has the same most likely label, averaged over texts: 1 where the order does not matter.
  package let agreement: Double
  /// Half the sum of the absolute differences of a text's probabilities from their mean over orders (the total variation distance),
  /// averaged over texts and orders: 0 where the order does not matter.
  package let variation: Double
  /// For each position in the list, the mean over texts and orders of the probability of the label that stands there, over the mean
  /// probability of that same label in all orders: above 1 where a position is preferred.
  package let preference: [Double]

  /// Scores `texts` under `count` orders, from 2 on; the first is that of `labels`. Orders may repeat where labels are few.
  ///
  /// - Throws: ``EvaluationError/noLabelList`` when the task's instruction does not list the labels. A text that cannot be scored
  ///   under each order does not count.
  package static func measure(
    _ texts: [String], labels: [String], task: TokenizedTask, model: MeasuredModel, orders count: Int = 6, seed: UInt64 = 0,
    options: TaggingOptions = TaggingOptions(), on compute: Compute
  ) throws(EvaluationError) -> LabelOrderBias {
    guard task.task.instruction.contains(TaggingTask.labelsPlaceholder) else { throw .noLabelList }
    guard !texts.isEmpty else { throw .noExamples }
    var rng = SplitMix64(seed: seed, purpose: "evaluation.label-order")
    var orders: [[Int]] = []
    var probabilities: [[[Double]?]] = []  // by order, text, label
    for index in 0..<max(2, count) {
      var order = Array(labels.indices)
      if index > 0 { rng.shuffle(&order) }
      orders.append(order)
      let listed = task.task.listing(order.map { labels[$0] })
      let subject = EvaluationSubject(name: "order \(index)", model: model, task: task.replacing(listed))
      var tagger = try BatchTagger(labels: labels, subject: subject, options: options, on: compute)
      probabilities.append(tagger.predict(texts).map { (try? $0.get())?.logProbabilities.map { exp($0) } })
    }
    let scored = texts.indices.filter { text in probabilities.allSatisfy { $0[text] != nil } }
    return LabelOrderBias(orders: orders, probabilities: probabilities.map { rows in scored.compactMap { rows[$0] } })
  }

  /// Measures the bias of probabilities, by order, text and label.
  init(orders: [[Int]], probabilities: [[[Double]]]) {
    self.orders = orders
    texts = probabilities.first?.count ?? 0
    let (count, labels) = (orders.count, orders.first?.count ?? 0)
    var (same, distance) = (0.0, 0.0)
    var (atPosition, expected) = ([Double](repeating: 0, count: labels), [Double](repeating: 0, count: labels))
    for text in 0..<texts {
      let rows = probabilities.map { $0[text] }
      let best = rows.map { LabelScores.best($0) }
      var pairs = 0
      for a in 0..<count { for b in 0..<a where best[a] == best[b] { pairs += 1 } }
      same += Double(pairs) / Double(max(1, count * (count - 1) / 2))
      let mean = (0..<labels).map { label in rows.reduce(0) { $0 + $1[label] } / Double(count) }
      for (order, row) in zip(orders, rows) {
        distance += zip(row, mean).reduce(0) { $0 + abs($1.0 - $1.1) } / 2
        for (position, label) in order.enumerated() {
          atPosition[position] += row[label]
          expected[position] += mean[label]
        }
      }
    }
    agreement = texts > 0 ? same / Double(texts) : 1
    variation = texts > 0 ? distance / Double(texts * count) : 0
    preference = zip(atPosition, expected).map { $1 > 0 ? $0 / $1 : 1 }
  }
}
