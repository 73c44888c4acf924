internal import DibitTensor
internal import RealModule

/// Multinomial logistic regression on dense features: the usual probe of what a model's frozen embeddings already tell.
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
  private let weights: [Double]
  private let labels: Int
  private let shift: [Double]
  private let scale: [Double]

  /// Learns from `features`, rows of one length, and their `labels`, indices below `count`.
  ///
  /// - Complexity: O(steps · rows · columns · labels) time.
  package init(features: [[Float]], labels: [Int], count: Int, options: Options = Options()) {
    let columns = features.first?.count ?? 0
    require(
      features.count == labels.count && features.allSatisfy { $0.count == columns }
        && options.penalty > 0
        && labels.allSatisfy { $0 >= 0 && $0 < count },
      "LogisticRegression: \(features.count) rows of \(columns), \(labels.count) labels below \(count), penalty \(options.penalty)"
    )
    (shift, scale) = Self.standardization(features, columns, options.standardizes)
    self.labels = count
    var rows: [Double] = []
    rows.reserveCapacity(features.count * columns)
    for row in features {
      for column in 0..<columns {
        rows.append((Double(row[column]) - shift[column]) * scale[column])
      }
    }
    let problem = Problem(
      rows: rows, truths: labels, columns: columns, labels: count, penalty: options.penalty)
    let start = [Double](repeating: 0, count: (columns + 1) * count)
    let fit = LBFGS.minimize(
      from: start, steps: options.steps,
      tolerance: options.tolerance * Double(max(features.count, 1)), problem.loss)
    (weights, steps, converged) = (fit.point, fit.steps, fit.converged)
  }

  /// The logarithm of each label's probability.
  package func logProbabilities(_ features: [Float]) -> [Double] {
    require(
      features.count == shift.count,
      "LogisticRegression: \(features.count) features, \(shift.count) known")
    var scores = Array(weights[(shift.count * labels)...])
    for column in shift.indices {
      let value = (Double(features[column]) - shift[column]) * scale[column]
      for label in 0..<labels { scores[label] += value * weights[column * labels + label] }
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
    let rows: [Double]
    let truths: [Int]
    let columns: Int
    let labels: Int
    let penalty: Double

    func loss(_ weights: [Double], _ gradient: inout [Double]) -> Double {
      let (columns, labels) = (columns, labels)
      var loss = 0.0
      for index in 0..<columns * labels {
        gradient[index] = penalty * weights[index]
        loss += 0.5 * penalty * weights[index] * weights[index]
      }
      for label in 0..<labels { gradient[columns * labels + label] = 0 }
      var scores = [Double](repeating: 0, count: labels)
      for (index, truth) in truths.enumerated() {
        for label in 0..<labels { scores[label] = weights[columns * labels + label] }
        for column in 0..<columns {
          let value = rows[index * columns + column]
          Self.add(value, weights.span, from: column * labels, to: &scores)
        }
        let largest = scores.max() ?? 0
        var total = 0.0
        for label in 0..<labels { total += .exp(scores[label] - largest) }
        loss += largest + .log(total) - scores[truth]
        // From here on the scores are the gradient by them: probability less truth.
        for label in 0..<labels {
          scores[label] = .exp(scores[label] - largest) / total - (label == truth ? 1 : 0)
        }
        for column in 0..<columns {
          Self.add(
            rows[index * columns + column], scores.span, to: &gradient, from: column * labels)
        }
        for label in 0..<labels { gradient[columns * labels + label] += scores[label] }
      }
      return loss
    }

    /// `to[l] += factor · values[from + l]`.
    @inline(__always)
    private static func add(_ factor: Double, _ values: Span<Double>, from: Int, to: inout [Double]) {
      let part = values.extracting(from..<from + to.count)
      var target = to.mutableSpan
      for label in part.indices { target[label] += factor * part[label] }
    }

    /// `to[from + l] += factor · values[l]`.
    @inline(__always)
    private static func add(_ factor: Double, _ values: Span<Double>, to: inout [Double], from: Int) {
      var target = to.mutableSpan
      for label in values.indices { target[from + label] += factor * values[label] }
    }
  }
}
