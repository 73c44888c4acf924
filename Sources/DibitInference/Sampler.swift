internal import DibitTensor
internal import Glibc

/// How the next token is chosen.
public struct SamplingOptions: Equatable, Sendable {
  /// 0 takes the most likely token.
  public var temperature: Float = 0
  /// Keeps the k most likely tokens; 0 keeps all.
  public var topK = 0
  /// Keeps the most likely tokens whose probabilities reach p together.
  public var topP: Float = 1
  /// The seed of every draw.
  public var seed: UInt64 = 0

  /// The most likely token each time.
  public init() {}
}

/// Chooses tokens from logits; the same seed chooses the same tokens.
public struct Sampler: Sendable {
  private let options: SamplingOptions
  private var rng: SplitMix64

  /// A sampler that starts at its seed.
  public init(_ options: SamplingOptions) {
    self.options = options
    rng = SplitMix64(seed: options.seed, purpose: "sampler")
  }

  /// The next token; the lower id wins a tie.
  public mutating func next(_ logits: Span<Float>) -> Int32 {
    guard options.temperature > 0 else { return Self.largest(logits) }
    var candidates = logits.indices.map { (id: Int32($0), logit: logits[$0]) }
    if options.topK > 0 || options.topP < 1 { candidates.sort { $0.logit != $1.logit ? $0.logit > $1.logit : $0.id < $1.id } }
    if options.topK > 0 { candidates = Array(candidates.prefix(options.topK)) }
    let largest = candidates.map(\.logit).max() ?? 0
    var weights = candidates.map { exp(($0.logit - largest) / options.temperature) }
    var total = weights.reduce(0, +)
    if options.topP < 1 {
      var (kept, sum): (Int, Float) = (0, 0)
      while kept < weights.count, sum < options.topP * total {
        sum += weights[kept]
        kept += 1
      }
      weights = Array(weights.prefix(max(kept, 1)))
      total = weights.reduce(0, +)
    }
    var draw = rng.uniform() * total
    for (candidate, weight) in zip(candidates, weights) {
      draw -= weight
      if draw < 0 { return candidate.id }
    }
    return candidates[weights.count - 1].id
  }

  private static func largest(_ logits: Span<Float>) -> Int32 {
    var best = 0
    for index in logits.indices where logits[index] > logits[best] { best = index }
    return Int32(best)
  }
}
