internal import Glibc

/// A token and how likely the model took it to be.
package struct ScoredToken: Equatable, Sendable {
  /// The token.
  package let token: Int32
  /// The natural logarithm of the token's probability in the model's own distribution: the softmax of its logits over the whole vocabulary,
  /// before temperature, penalty, top-k and the like.
  package let logProbability: Double
  /// The most likely tokens at this position, the likeliest first, the lower id first among equals; as many as were asked for. They may hold
  /// the token itself. Their own alternatives are empty.
  package let alternatives: [ScoredToken]
}

/// Log-probabilities of rows of logits; keeps its memory from row to row.
struct LogSoftmax: Sendable {
  /// The largest logit of the last row.
  var largest: Float { LogitKey.logit(maxima.largest) }
  /// The first of the largest logits of the last row.
  func mostLikely(_ logits: Span<Float>) -> Int { maxima.first(of: logits) }

  private var maxima = BlockMaxima()
  private var ranks: [LogitRank] = []
  private var scratch: [LogitRank] = []

  /// `log Σ eˣ` of a row in nats; NaN where a logit is not a number or +∞.
  mutating func logSumExp(_ logits: Span<Float>) -> Double {
    maxima.scan(logits)
    guard maxima.isFinite else { return .nan }
    var sum = 0.0
    for first in stride(from: 0, to: logits.count, by: BlockMaxima.size) {
      let block = logits.extracting(first..<min(first + BlockMaxima.size, logits.count))
      sum += exponentialSum(block, largest: largest, scale: 1)
    }
    return Double(largest) + log(sum)
  }

  /// Scores a token of a row and lists the `alternatives` most likely ones; nil where the row has no softmax.
  mutating func score(_ logits: Span<Float>, token: Int32, alternatives count: Int) -> ScoredToken? {
    let normalizer = logSumExp(logits)
    guard normalizer.isFinite else { return nil }
    var alternatives: [ScoredToken] = []
    if count > 0 {
      ranks.removeAll(keepingCapacity: true)
      maxima.collect(logits, from: maxima.bound(forLargest: count, scratch: &scratch), into: &ranks)
      if ranks.count > count {
        let lowest = ranks.largest(count)
        ranks.removeAll { $0 < lowest }
      }
      ranks.sort(by: >)
      alternatives = ranks.map { ScoredToken(token: Int32($0.id), logProbability: Double($0.logit) - normalizer, alternatives: []) }
    }
    return ScoredToken(token: token, logProbability: Double(logits[Int(token)]) - normalizer, alternatives: alternatives)
  }

  /// `Σ p (log p - log q)` in nats of the softmaxes `p` of `a` and `q` of `b`, and whether both have the same most likely token.
  ///
  /// Rows of the same bits give 0 exactly. Rounding may bring other rows below zero by about 1e-7.
  static func divergence(_ a: Span<Float>, _ b: Span<Float>, _ left: inout LogSoftmax, _ right: inout LogSoftmax) -> (
    nats: Double, agrees: Bool
  ) {
    let (p, q) = (left.logSumExp(a), right.logSumExp(b))
    let shift = Float(p - q)
    var sum = 0.0
    for first in stride(from: 0, to: a.count, by: BlockMaxima.size) {
      let range = first..<min(first + BlockMaxima.size, a.count)
      sum += exponentialSum(a.extracting(range), largest: left.largest, minus: b.extracting(range), shift: shift)
    }
    return (nats: sum * exp(Double(left.largest) - p), agrees: left.mostLikely(a) == right.mostLikely(b))
  }
}
