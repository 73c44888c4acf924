internal import DibitTensor
internal import RealModule

/// The resampling of a test set: it shows how much a statistic would vary if the set were drawn again.
///
/// Examples are drawn with replacement from the set itself, as many as it has, and the statistic is computed of each such sample. The same
/// seed gives the same interval. Sources: Efron and Tibshirani, "An introduction to the bootstrap" (1993), chapters 13 and 14; Efron, "Better
/// bootstrap confidence intervals" (1987) for BCa.
package struct Bootstrap: Equatable, Sendable {
  /// The way in which an interval is read from the statistics of the samples.
  package enum Method: Equatable, Sendable {
    /// Their quantiles.
    case percentile
    /// Quantiles moved by what the samples tell about bias and about a spread that changes with the value.
    case bca
  }

  /// The number of samples that are drawn.
  package var resamples: Int
  /// The share of repetitions in which an interval should be right.
  package var level: Double
  /// The way in which intervals are read.
  package var method: Method
  /// The seed that the samples follow from.
  package var seed: UInt64

  /// A bootstrap with these settings.
  package init(resamples: Int = 2000, level: Double = 0.95, method: Method = .bca, seed: UInt64 = 0) {
    (self.resamples, self.level, self.method, self.seed) = (resamples, level, method, seed)
  }

  /// A statistic of the whole set with what the samples say about it.
  package struct Estimate: Equatable, Sendable {
    /// The statistic of the set.
    package let value: Double
    /// The interval of the true value.
    package let interval: ConfidenceInterval
    /// The standard deviation of the samples' statistics.
    package let standardError: Double
  }

  /// Estimates `statistic` of a set of `count` examples. It is given indices of examples, some of them several times, others not at all.
  ///
  /// For a difference of two runs there is ``ResampledDifference``.
  /// With `strata` (a group for each example, for instance its true label) every sample has as many examples of each group as the set.
  /// Samples whose statistic is not finite are left out.
  package func estimate(count: Int, strata: [Int]? = nil, statistic: ([Int]) -> Double) -> Estimate {
    let found = estimates(count: count, strata: strata) { [statistic($0)] }
    return found[0]
  }

  /// Estimates several statistics on the same samples: `statistics` gives their values, always as many and in the same order.
  package func estimates(count: Int, strata: [Int]? = nil, statistics: ([Int]) -> [Double]) -> [Estimate] {
    let values = statistics(Array(0..<count))
    var replicates = [[Double]](repeating: [], count: values.count)
    sample(count: count, strata: strata) { indices in
      for (index, value) in statistics(indices).enumerated() where value.isFinite { replicates[index].append(value) }
    }
    var jackknives = [[Double]](repeating: [], count: values.count)
    if method == .bca {
      for row in Self.jackknife(count: count, statistics: statistics) {
        for (index, value) in row.enumerated() { jackknives[index].append(value) }
      }
    }
    return values.indices.map { estimate(values[$0], sorted: replicates[$0].sorted(), jackknife: jackknives[$0]) }
  }

  private func estimate(_ value: Double, sorted replicates: [Double], jackknife: [Double]) -> Estimate {
    guard value.isFinite, !replicates.isEmpty else {
      return Estimate(value: value, interval: .init(lower: value, upper: value, level: level), standardError: .nan)
    }
    let n = Double(replicates.count)
    let mean = replicates.reduce(0, +) / n
    let squares = replicates.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
    return Estimate(
      value: value, interval: interval(value, sorted: replicates, jackknife: jackknife), standardError: .sqrt(squares / max(n - 1, 1)))
  }

  /// The statistics of the samples, in the order in which they were drawn.
  package func distribution(count: Int, strata: [Int]? = nil, statistic: ([Int]) -> Double) -> [Double] {
    var values: [Double] = []
    values.reserveCapacity(resamples)
    sample(count: count, strata: strata) { values.append(statistic($0)) }
    return values
  }

  /// Draws the samples, one after the other.
  private func sample(count: Int, strata: [Int]?, body: ([Int]) -> Void) {
    require(
      count > 0 && strata.map { $0.count == count } ?? true, "Bootstrap: \(count) examples, \(strata?.count ?? count) strata")
    let groups = strata.map { strata in
      Dictionary(grouping: strata.indices) { strata[$0] }.sorted { $0.key < $1.key }.map(\.value)
    }
    var generator = SplitMix64(seed: seed, purpose: "bootstrap")
    var indices = [Int](repeating: 0, count: count)
    for _ in 0..<resamples {
      if let groups {
        var index = 0
        for group in groups {
          for _ in group {
            indices[index] = group[generator.below(group.count)]
            index += 1
          }
        }
      } else {
        for index in 0..<count { indices[index] = generator.below(count) }
      }
      body(indices)
    }
  }

  /// The statistics without each example, or beyond 500 examples without each of 500 groups: its skewness is the same but for noise.
  static func jackknife(count: Int, statistics: ([Int]) -> [Double]) -> [[Double]] {
    let groups = min(count, 500)
    guard groups > 1 else { return [] }
    return (0..<groups).map { group in statistics((0..<count).filter { $0 % groups != group }) }
  }

  /// The interval of a statistic `value` whose samples gave `replicates` and whose jackknife gave `jackknife` (needed for BCa only).
  func interval(_ value: Double, sorted replicates: [Double], jackknife: [Double])
    -> ConfidenceInterval
  {
    var (lower, upper) = ((1 - level) / 2, (1 + level) / 2)
    if method == .bca, let moved = corrected(lower, upper, value, replicates, jackknife) {
      (lower, upper) = moved
    }
    return ConfidenceInterval(
      lower: Self.quantile(lower, of: replicates), upper: Self.quantile(upper, of: replicates),
      level: level)
  }

  /// The levels that BCa reads instead of `lower` and `upper`, or nil where the samples cannot tell: all on one side, or all the same.
  private func corrected(
    _ lower: Double, _ upper: Double, _ value: Double, _ replicates: [Double], _ jackknife: [Double]
  ) -> (Double, Double)? {
    let n = Double(replicates.count)
    let bias = Normal.quantile(
      (Double(replicates.count { $0 < value }) + Double(replicates.count { $0 <= value })) / (2 * n)
    )
    let mean = jackknife.reduce(0, +) / Double(max(jackknife.count, 1))
    let (squares, cubes) = jackknife.reduce((0.0, 0.0)) { sums, value in
      let distance = mean - value
      return (sums.0 + distance * distance, sums.1 + distance * distance * distance)
    }
    let acceleration = cubes / (6 * squares * .sqrt(squares))
    guard bias.isFinite, acceleration.isFinite else { return nil }
    func moved(_ level: Double) -> Double {
      let z = bias + Normal.quantile(level)
      return Normal.cumulative(bias + z / (1 - acceleration * z))
    }
    return (moved(lower), moved(upper))
  }

  /// The quantile of sorted values, between two of them on the straight line from one to the other (numpy's default).
  static func quantile(_ level: Double, of sorted: [Double]) -> Double {
    let position = level * Double(sorted.count - 1)
    let index = min(max(Int(position), 0), sorted.count - 1)
    let next = min(index + 1, sorted.count - 1)
    return sorted[index] + (position - Double(index)) * (sorted[next] - sorted[index])
  }
}
