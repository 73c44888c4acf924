package import DibitKernels

#if canImport(Glibc)
  internal import Glibc
#endif

/// The frequencies of a rotary position embedding: those of RoFormer, or one of the ways to stretch them over a longer context.
package struct RotaryEmbedding: Equatable, Sendable {
  /// The method by which frequencies are stretched.
  package enum Scaling: Equatable, Sendable {
    /// Not at all.
    case none
    /// Positions are divided by `factor` (Chen et al., "Position interpolation", 2023).
    case linear(factor: Double)
    /// Slow frequencies are divided by `factor`, fast ones stay, those between are blended (Llama 3.1).
    case llama3(factor: Double, lowFrequencyFactor: Double, highFrequencyFactor: Double, originalContext: Double)
    /// The same with a ramp over the number of rotations (Peng et al., "YaRN", 2023).
    case yarn(factor: Double, fast: Double, slow: Double, originalContext: Double, truncates: Bool)
    /// Each frequency is divided by a factor of its own (Ding et al., "LongRoPE", 2024).
    case longRoPE(factors: [Double])
  }

  /// The base of the frequencies.
  package var theta: Double
  /// The elements of a head that rotate, from its first. An odd number rotates one more, as in transformers.
  package var dimensions: Int
  /// The choice of those that rotate together.
  package var pairing = RoPE.Pairing.half
  /// The method by which frequencies are stretched.
  package var scaling = Scaling.none
  /// The factor of queries and keys while they rotate.
  package var attentionFactor = 1.0

  /// The pairs that rotate.
  package var pairs: Int { (dimensions + 1) / 2 }

  /// One number for each pair, in radians per position.
  package var frequencies: [Double] {
    let plain = RoPE.frequencies(headSize: dimensions, theta: theta)
    switch scaling {
    case .none: return plain
    case .linear(let factor): return plain.map { $0 / factor }
    case .longRoPE(let factors): return zip(plain, factors).map { $0 / $1 }
    case .llama3(let factor, let lowFrequencyFactor, let highFrequencyFactor, let context):
      return plain.map { frequency in
        let wavelength = 2 * Double.pi / frequency
        if wavelength < context / highFrequencyFactor { return frequency }
        if wavelength > context / lowFrequencyFactor { return frequency / factor }
        let share = (context / wavelength - lowFrequencyFactor) / (highFrequencyFactor - lowFrequencyFactor)
        return (1 - share) * frequency / factor + share * frequency
      }
    case .yarn(let factor, let fast, let slow, let context, let truncates):
      let (low, high) = yarnRange(fast, slow, context, truncates)
      return plain.enumerated().map { pair, frequency in
        let ramp = min(max((Double(pair) - low) / (high - low), 0), 1)
        return frequency / factor * ramp + frequency * (1 - ramp)
      }
    }
  }

  /// The pairs between which YaRN blends: those that rotate `fast` and `slow` times in the original context.
  private func yarnRange(_ fast: Double, _ slow: Double, _ context: Double, _ truncates: Bool) -> (low: Double, high: Double) {
    func pair(_ rotations: Double) -> Double { Double(dimensions) * log(context / (rotations * 2 * .pi)) / (2 * log(theta)) }
    var (low, high) = (pair(fast), pair(slow))
    if truncates { (low, high) = (low.rounded(.down), high.rounded(.up)) }
    (low, high) = (max(low, 0), min(high, Double(dimensions - 1)))
    return (low, low == high ? high + 0.001 : high)
  }

  /// The factor that YaRN derives from how far it stretches.
  static func yarnAttentionFactor(_ factor: Double, scale: Double = 1) -> Double { factor <= 1 ? 1 : 0.1 * scale * log(factor) + 1 }

  /// The factor that LongRoPE derives from how far it stretches.
  static func longRoPEAttentionFactor(_ factor: Double, originalContext: Double) -> Double {
    factor <= 1 ? 1 : (1 + log(factor) / log(originalContext)).squareRoot()
  }

  /// The op, for heads of `headSize` elements.
  func makeRoPE(headSize: Int) -> RoPE {
    RoPE(frequencies: frequencies, pairing: pairing, headSize: headSize, factor: attentionFactor)
  }
}
