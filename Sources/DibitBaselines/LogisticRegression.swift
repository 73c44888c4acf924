internal import DibitTensor
internal import RealModule

/// Multinomial logistic regression: on embeddings the usual probe of what a frozen model already tells, on words what a user would try first.
///
/// Minimises `Σ -log p(label | row) + ½ penalty ‖W‖²` by L-BFGS; intercepts are not penalised. Same data, same weights: no random start.
package struct LogisticRegression: FeatureBaseline, Equatable {
  /// The settings of a fit.
  package struct Options: Equatable, Sendable {
    /// The weight of `½ ‖W‖²` beside the summed loss; scikit-learn's `1 / C`. Positive.
    package var penalty = 1.0
    /// True to shift each column to mean 0 and scale it to variance 1 first, so that the penalty treats all alike.
    package var standardizes = true
    /// The most steps.
    package var steps = 500
    /// Steps that are remembered; each takes the memory of two vectors of weights.
    package var memory = 10
    /// The fit ends when no component of the mean gradient is larger.
    package var tolerance = 1e-6

    /// The usual settings.
    package init() {}
  }

  /// The number of steps that were taken.
  package let steps: Int
  /// True where the gradient fell below the tolerance.
  package let converged: Bool
  /// `weights[column * labels + label]`; the row behind the last column holds the intercepts.
  let weights: [Double]
  private let labels: Int
  private let shift: [Double]
  private let scale: [Double]

  /// Learns from `features`, rows of one length, and their `labels`, indices below `count`.
  ///
  /// - Complexity: O(steps · rows · columns · labels) time.
  package init(features: [[Float]], labels: [Int], count: Int, options: Options = Options()) {
    let columns = features.first?.count ?? 0
    require(
      features.count == labels.count && features.allSatisfy { $0.count == columns },
      "LogisticRegression: \(features.count) rows of \(columns), \(labels.count) labels")
    let (shift, scale) = Self.standardization(features, columns, options.standardizes)
    var rows = SparseRows(columns: columns)
    for row in features {
      for column in 0..<columns { rows.append((Double(row[column]) - shift[column]) * scale[column], at: column) }
      rows.endRow()
    }
    self.init(rows, shift, scale, labels, count, options, from: nil)
  }

  /// Learns from `rows`, as they are, and their `labels`, indices below `count`; a `start` of as many columns and labels that is near saves
  /// steps.
  ///
  /// - Complexity: O(steps · (entries + rows + columns) · labels) time.
  init(rows: SparseRows, labels: [Int], count: Int, options: Options, from start: LogisticRegression? = nil) {
    require(rows.count == labels.count, "LogisticRegression: \(rows.count) rows, \(labels.count) labels")
    self.init(rows, [], [], labels, count, options, from: start)
  }

  /// A fit that was made before: `weights` as the property of that name, of rows as they are.
  init(weights: [Double], labels: Int) {
    require(labels > 0 && weights.count % labels == 0, "LogisticRegression: \(weights.count) weights of \(labels) labels")
    (self.weights, self.labels, steps, converged) = (weights, labels, 0, true)
    (shift, scale) = ([], [])
  }

  private init(
    _ rows: SparseRows, _ shift: [Double], _ scale: [Double], _ truths: [Int], _ count: Int, _ options: Options,
    from start: LogisticRegression?
  ) {
    require(
      options.penalty > 0 && truths.allSatisfy { $0 >= 0 && $0 < count },
      "LogisticRegression: labels below \(count), penalty \(options.penalty)")
    let problem = Problem(rows, truths: truths, labels: count, penalty: options.penalty)
    let start = start?.weights ?? [Double](repeating: 0, count: (rows.columns + 1) * count)
    require(start.count == (rows.columns + 1) * count, "LogisticRegression: a start of \(start.count) weights for \(rows.columns) columns")
    let fit = LBFGS.minimize(
      from: start, steps: options.steps, memory: options.memory, tolerance: options.tolerance * Double(max(rows.count, 1)), problem.loss)
    (weights, steps, converged) = (fit.point, fit.steps, fit.converged)
    (self.shift, self.scale, labels) = (shift, scale, count)
  }

  /// The logarithm of each label's probability.
  package func logProbabilities(_ features: [Float]) -> [Double] {
    require(
      features.count == shift.count,
      "LogisticRegression: \(features.count) features, \(shift.count) known")
    return logProbabilities(shift.indices.lazy.map { (Int32($0), (Double(features[$0]) - shift[$0]) * scale[$0]) })
  }

  /// The logarithm of each label's probability, by the columns of a row that are not zero.
  func logProbabilities(_ entries: some Sequence<(Int32, Double)>) -> [Double] {
    var scores = Array(weights[(weights.count - labels)...])
    for (column, value) in entries {
      for label in 0..<labels { scores[label] += value * weights[Int(column) * labels + label] }
    }
    return normalized(scores)
  }

  /// Returns the shift that is taken off each column, and the factor that it is then multiplied by. A column that never changes is left as
  /// it is.
  private static func standardization(_ features: [[Float]], _ columns: Int, _ wanted: Bool) -> (
    shift: [Double], scale: [Double]
  ) {
    var (shift, scale) = (
      [Double](repeating: 0, count: columns), [Double](repeating: 1, count: columns)
    )
    guard wanted, !features.isEmpty else { return (shift, scale) }
    let n = Double(features.count)
    for row in features { for column in 0..<columns { shift[column] += Double(row[column]) / n } }
    var variance = [Double](repeating: 0, count: columns)
    for row in features {
      for column in 0..<columns {
        let distance = Double(row[column]) - shift[column]
        variance[column] += distance * distance / n
      }
    }
    for column in 0..<columns where variance[column] > 0 {
      scale[column] = 1 / .sqrt(variance[column])
    }
    return (shift, scale)
  }

  /// The loss and its gradient. The inner loops run over labels, side by side in memory, so that they need no sum across lanes.
  private struct Problem {
    let rows: SparseRows
    /// The entries by their column, where the gradient is a sum over rows.
    let columns: SparseRows
    let truths: [Int]
    let labels: Int
    let penalty: Double

    init(_ rows: SparseRows, truths: [Int], labels: Int, penalty: Double) {
      (self.rows, columns, self.truths, self.labels, self.penalty) = (rows, rows.transposed(), truths, labels, penalty)
    }

    func loss(_ weights: [Double], _ gradient: inout [Double]) -> Double {
      let (intercepts, labels) = (rows.columns * labels, labels)
      var loss = 0.0
      for index in 0..<intercepts { loss += 0.5 * penalty * weights[index] * weights[index] }
      for label in 0..<labels { gradient[intercepts + label] = 0 }
      // `errors[row * labels + label]`: the gradient by the scores, probability less truth.
      var errors: [Double] = []
      errors.reserveCapacity(truths.count * labels)
      var sums = [Double](repeating: 0, count: labels)
      for (row, truth) in truths.enumerated() {
        for label in 0..<labels { sums[label] = weights[intercepts + label] }
        rows.addProducts(row, weights.span, to: &sums)
        let (largest, score) = (sums.max() ?? 0, sums[truth])
        var total = 0.0
        for label in 0..<labels {
          sums[label] = .exp(sums[label] - largest)
          total += sums[label]
        }
        loss += largest + .log(total) - score
        for label in 0..<labels {
          let error = sums[label] / total - (label == truth ? 1 : 0)
          errors.append(error)
          gradient[intercepts + label] += error
        }
      }
      for column in 0..<rows.columns {
        for label in 0..<labels { sums[label] = penalty * weights[column * labels + label] }
        columns.addProducts(column, errors.span, to: &sums)
        for label in 0..<labels { gradient[column * labels + label] = sums[label] }
      }
      return loss
    }
  }
}
