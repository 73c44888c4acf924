import DibitQuantization
import DibitTensor
import DibitTestSupport
import RealModule

/// The least squared error of a group on the grid, by trying every nearest assignment.
///
/// As the scale falls, magnitudes pass from nearest level j - 1/2 to j + 1/2 where |x| = j s, or on a grid with zero from j - 1 to j where
/// |x| = (j - 1/2) s, so taking these events in order meets every nearest assignment. With p = sum(level |x|) and q = sum(level^2) an assignment's
/// best scale is p/q, and its error sum(x^2) - p^2/q. Of a full range one side has a level more, which is either one.
enum GridReference {
  static func leastNoise(_ x: [Float], _ levels: GridLevels) -> Double {
    let top = Int(levels.level(levels.codes.upperBound))
    guard levels.isFullRange else { return leastNoise(x, hasZero: levels.hasZero, above: top, below: top) }
    return min(leastNoise(x, hasZero: true, above: top, below: top + 1), leastNoise(x, hasZero: true, above: top + 1, below: top))
  }

  /// The least error with so many steps between the levels above zero, and below it.
  private static func leastNoise(_ x: [Float], hasZero: Bool, above: Int, below: Int) -> Double {
    let magnitudes = magnitudes(x)
    let energy = magnitudes.reduce(0) { $0 + $1 * $1 }
    var events: [(at: Double, magnitude: Double, level: Int)] = []
    for (value, magnitude) in zip(x, magnitudes) where (value < 0 ? below : above) > 0 {
      for level in 1...(value < 0 ? below : above) {
        events.append((magnitude / (Double(level) - (hasZero ? 0.5 : 0)), magnitude, level))
      }
    }
    events.sort { $0.at > $1.at }
    var (p, q) = hasZero ? (0, 0) : (0.5 * magnitudes.reduce(0, +), 0.25 * Double(x.count))
    var best = q > 0 ? p * p / q : 0
    for event in events {
      p += event.magnitude
      q += Double(2 * event.level - (hasZero ? 1 : 0))
      best = max(best, p * p / q)
    }
    return energy - best
  }
}

/// Distributions of weights, ordinary and not.
enum SampledDistribution: CaseIterable {
  case gaussian, laplace, uniform, outliers, heavyTails, sparse, nearlyConstant, tiny, huge

  func sample(_ count: Int, seed: UInt64) -> [Float] {
    var rng = SplitMix64(seed: seed)
    let (normal, even) = (gaussians(4 * count, seed: seed), uniforms(count, seed: seed + 1))
    return (0..<count).map { index in
      let x = normal[index]
      switch self {
      case .gaussian: return x
      case .laplace: return -Float.log(1.0000001 - abs(even[index])) * (x < 0 ? -1 : 1)
      case .uniform: return even[index]
      case .outliers: return x * (rng.below(100) == 0 ? 20 : 1)
      case .heavyTails:
        // Student's t with three degrees of freedom.
        let squares = (1...3).reduce(Float(0)) { $0 + normal[count * $1 + index] * normal[count * $1 + index] }
        return x / (squares / 3).squareRoot()
      case .sparse: return rng.below(5) == 0 ? x : 0
      case .nearlyConstant: return (even[index] < 0 ? -1 : 1) * (1 + 0.05 * x)
      // Scales near the smallest normal F16, and near the largest.
      case .tiny: return x * 0x1p-12
      case .huge: return x * 0x1p14
      }
    }
  }
}
