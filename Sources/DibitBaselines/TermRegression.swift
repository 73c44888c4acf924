internal import DibitTensor

/// Logistic regression on the words, pairs of words and runs of letters of a text, the rarer the weightier: what a user would try first.
///
/// A term that no training text has does not count.
package struct TermRegression: TextBaseline {
  /// The settings of a fit.
  package struct Setting: Equatable, Sendable {
    /// The terms; each kind has its own columns, which are scaled to length 1 by themselves.
    package let kinds: [TermKind]
    /// The weight of `½ ‖W‖²` beside the summed loss; scikit-learn's `1 / C`.
    package let penalty: Double

    /// These settings.
    package init(_ kinds: [TermKind], penalty: Double) { (self.kinds, self.penalty) = (kinds, penalty) }
  }

  /// The most weights of a fit, columns times labels: the search for them keeps some twenty vectors of this length.
  package static let weightLimit = 1 << 19

  /// The steps that a search remembers.
  static let memory = 5

  /// The setting of the fit.
  package let setting: Setting
  /// The number of steps that were taken.
  package var steps: Int { regression.steps }
  /// The number of different terms that count.
  package var columns: Int { blocks.reduce(0) { $0 + $1.weights.columns } }
  let blocks: [Block]
  let regression: LogisticRegression

  /// The terms of one kind.
  struct Block: Sendable {
    let numbers: TermNumbers
    let weights: TermWeights
  }

  /// Learns from `texts` and their `labels`, indices below `count`.
  ///
  /// - Parameters:
  ///   - tolerance: the fit ends when no component of the mean gradient is larger.
  ///   - weightLimit: the most columns times labels; beyond it the rarest terms are left out.
  /// - Complexity: O(steps · terms · labels) time.
  package init(
    texts: [String], labels: [Int], count: Int, setting: Setting, tolerance: Double = 1e-5, weightLimit: Int = Self.weightLimit
  ) {
    require(texts.count == labels.count, "TermRegression: \(texts.count) texts, \(labels.count) labels")
    self.init(setting.kinds.map { TermCounts(texts, $0) }, labels, count, setting, tolerance, weightLimit)
  }

  init(_ counts: [TermCounts], _ labels: [Int], _ count: Int, _ setting: Setting, _ tolerance: Double, _ weightLimit: Int) {
    let rows = TermRows(counts, texts: Array(labels.indices), limit: weightLimit / max(count, 1))
    var options = LogisticRegression.Options()
    (options.penalty, options.tolerance, options.memory) = (setting.penalty, tolerance, Self.memory)
    regression = LogisticRegression(rows: rows.rows(labels.indices), labels: labels, count: count, options: options)
    blocks = zip(counts, rows.weights).map { counts, weights in
      var numbers = counts.numbers
      numbers.keep(weights.has)
      return Block(numbers: numbers, weights: weights)
    }
    self.setting = setting
  }

  /// The logarithm of each label's probability.
  package func logProbabilities(_ text: String) -> [Double] {
    var rows = SparseRows(columns: columns)
    var first = 0
    for block in blocks {
      block.weights.append(TermCounts.counted(block.numbers.known(text)), to: &rows, from: first)
      first += block.weights.columns
    }
    rows.endRow()
    return regression.logProbabilities(rows.entries(0))
  }
}

/// The rows of features that some kinds of terms make together.
struct TermRows {
  /// The weights of each kind, whose columns come one behind the other.
  let weights: [TermWeights]
  private let counts: [TermCounts]

  /// Learns the weights of terms from some `texts`; `limit` is the most columns of all kinds.
  init(_ counts: [TermCounts], texts: [Int], limit: Int) {
    self.counts = counts
    weights = counts.map { TermWeights($0, texts: texts, limit: limit / counts.count) }
  }

  /// The rows of `texts`, in this order.
  func rows(_ texts: some Sequence<Int>) -> SparseRows {
    var rows = SparseRows(columns: weights.reduce(0) { $0 + $1.columns })
    for text in texts {
      var first = 0
      for (counts, weights) in zip(counts, weights) {
        weights.append(counts.entries(text), to: &rows, from: first)
        first += weights.columns
      }
      rows.endRow()
    }
    return rows
  }
}
