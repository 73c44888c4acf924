internal import DibitKernels
internal import DibitModel
internal import DibitTensor
internal import Synchronization

#if canImport(Glibc)
  internal import Glibc
#endif

/// The divergences of a model's predictions that changes of single linear layers cause, those of all layers by one pass there and back.
///
/// To second order a divergence is half the variance of what the change adds to the logarithm of the probability of labels that are drawn from
/// the predictions themselves: the quadratic form of the Fisher information. What it adds over a text is `Σ g · x ΔWᵀ`, where `x` are the inputs
/// of the layer and `g` the gradients by its outputs.
///
/// Source: Amari, "Natural Gradient Works Efficiently in Learning" (Neural Computation 10, 1998).
final class ChangeScores: LinearObserver {
  private let weights: DecoderWeights
  private let changed: [Int: Weight]
  private let compute: Compute

  private struct Sums {
    /// The rows of each text of the pass.
    var texts: [Range<Int>] = []
    /// Tokens of all passes.
    var tokens = 0
    /// The sums over texts of their divergences, by parameter.
    var divergences: [Int: Double] = [:]
  }

  private let sums = Mutex(Sums())

  /// Scores of linear layers of `weights` in whose place others come, by parameter.
  init(of weights: DecoderWeights, changedTo changed: [Int: Weight], on compute: Compute) {
    (self.weights, self.changed, self.compute) = (weights, changed, compute)
  }

  /// The divergence that each change causes, in nats for each token, by parameter.
  var divergences: [Int: Double] { sums.withLock { sums in sums.divergences.mapValues { $0 / Double(max(sums.tokens, 1)) } } }

  /// Adds texts, those of a batch together; false where `progress`, told how many batches are done, stopped it.
  func add(_ batches: [[[Int32]]], _ configuration: ModelConfiguration, progress: (_ done: Int) -> Bool) -> Bool {
    var gradients = DrawnGradients(configuration, weights, batches, on: compute)
    gradients.observe(with: self)
    for (index, batch) in batches.enumerated() {
      begin(batch)
      gradients.run(batch)
      guard progress(index + 1) else { return false }
    }
    return true
  }

  private func begin(_ batch: [[Int32]]) {
    sums.withLock { sums in
      sums.texts = []
      for text in batch {
        let first = sums.texts.last?.upperBound ?? 0
        sums.texts.append(first..<first + text.count)
        sums.tokens += text.count
      }
    }
  }

  func observe(layer: Int, kind: LinearKind, input: borrowing Matrix, gradient: borrowing Matrix) {
    guard let parameter = weights.linear(kind, layer), let changed = changed[parameter.index] else { return }
    var change = Matrix(rows: input.rows, columns: gradient.columns)
    Linear.forward(input, weight: changed.subtracting(parameter.weight, on: compute), into: &change, on: compute)
    var divergence = 0.0
    for rows in sums.withLock(\.texts) {
      let added = change.sumOfProducts(with: gradient, rows: rows, on: compute)
      divergence += Self.divergence(added, tokens: rows.count)
    }
    sums.withLock { $0.divergences[parameter.index, default: 0] += divergence }
  }

  /// Half of the square where that is small, for the tokens of a text. Far beyond a nat for each the second order says nothing any more, and one
  /// text in a hundred would drown all others.
  static func divergence(_ added: Double, tokens: Int) -> Double {
    let count = Double(max(tokens, 1))
    return count * log1p(added * added / 2 / count)
  }
}
