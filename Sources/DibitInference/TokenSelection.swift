internal import DibitTensor
internal import Glibc

/// Temperature, top-k, top-p and min-p over one row of logits.
///
/// Each step keeps a beginning of the tokens in descending order, so together they amount to one lowest rank. It is found by selection
/// among the few logits above a bound; the vocabulary itself is read once, or twice where the sum of all probabilities is needed, and never
/// sorted. The draw walks the kept tokens in the order of their ids.
struct TokenSelection: Sendable {
  private let options: SamplingOptions
  private var rng: SplitMix64
  private var maxima = BlockMaxima()
  private var sums: [Double] = []  // of each block
  private var candidates: [LogitRank] = []
  private var scratch: [LogitRank] = []

  init(_ options: SamplingOptions) {
    self.options = options
    rng = SplitMix64(seed: options.seed, purpose: "sampler")
  }

  /// True when all logits of the last row were -∞.
  var isEmpty: Bool { maxima.isFinite && maxima.largest <= LogitKey.of(-.infinity) }

  /// As ``choose(_:)`` of a span.
  mutating func choose(_ logits: [Float]) -> Int? { choose(logits.span) }

  /// The chosen token; nil when no token can be chosen.
  mutating func choose(_ logits: Span<Float>) -> Int? {
    maxima.scan(logits)
    guard maxima.isFinite, !isEmpty else { return nil }
    guard options.temperature > 0 else { return maxima.first(of: logits) }
    let weight = Weighting(largest: LogitKey.logit(maxima.largest), temperature: options.temperature)
    reserve(logits.count)
    if options.topK > 0, options.topK < logits.count {
      collectTopK(logits)
      if options.topP < 1 { keep(share: options.topP, of: weight.sum(candidates), weight) }
    } else if options.topP < 1 {
      collectTopP(logits, weight)
    } else if options.minP > 0 {
      collect(logits, from: weight.bound(minP: options.minP))
    } else {
      return drawFromAll(logits, weight)
    }
    if options.minP > 0 {
      let bound = weight.bound(minP: options.minP)
      candidates.removeAll { LogitKey.of($0.logit) < bound }
    }
    return draw(weight)
  }

  /// Room for every token, so that no later row needs more.
  private mutating func reserve(_ count: Int) {
    guard candidates.capacity < count else { return }
    candidates.reserveCapacity(count)
    scratch.reserveCapacity(count)
    sums.reserveCapacity(count / BlockMaxima.size + 1)
  }

  private mutating func collect(_ logits: Span<Float>, from bound: Int32) {
    candidates.removeAll(keepingCapacity: true)
    maxima.collect(logits, from: bound, into: &candidates)
  }

  /// The k largest.
  private mutating func collectTopK(_ logits: Span<Float>) {
    collect(logits, from: maxima.bound(forLargest: options.topK, scratch: &scratch))
    guard candidates.count > options.topK else { return }
    copyCandidates()
    let lowest = scratch.largest(options.topK)
    candidates.removeAll { $0 < lowest }
  }

  /// The fewest of the largest that reach the share of all probabilities.
  private mutating func collectTopP(_ logits: Span<Float>, _ weight: Weighting) {
    let total = sumBlocks(logits, weight)
    // Nearly always few tokens hold the share: those close to the largest are looked at first.
    let floor = options.minP > 0 ? weight.bound(minP: options.minP) : .min
    var depth: Float = 8
    while true {
      let bound = max(floor, LogitKey.of(weight.largest - depth * options.temperature))
      collect(logits, from: bound)
      // What lies deeper than 86 has no weight.
      if bound == floor || depth > 86 || weight.sum(candidates) >= Double(options.topP) * total { break }
      depth *= 2
    }
    keep(share: options.topP, of: total, weight)
  }

  /// Keeps the fewest of the most likely candidates whose weights reach `share` of `total`.
  private mutating func keep(share: Float, of total: Double, _ weight: Weighting) {
    copyCandidates()
    let lowest = scratch.lowest(reaching: Double(share) * total) { weight($0.logit) }
    candidates.removeAll { $0 < lowest }
  }

  private mutating func copyCandidates() {
    scratch.removeAll(keepingCapacity: true)
    scratch.append(contentsOf: candidates)
  }

  /// One of the candidates.
  private mutating func draw(_ weight: Weighting) -> Int? {
    var left = uniform() * weight.sum(candidates)
    var last: Int?
    for candidate in candidates {
      let share = weight(candidate.logit)
      guard share > 0 else { continue }
      last = candidate.id
      left -= share
      if left < 0 { break }
    }
    return last
  }

  /// One of all tokens: first a block, then a token of it.
  private mutating func drawFromAll(_ logits: Span<Float>, _ weight: Weighting) -> Int? {
    var left = uniform() * sumBlocks(logits, weight)
    var last: Int?
    for (block, sum) in sums.enumerated() where sum > 0 {
      last = block
      if left < sum { break }
      left -= sum
    }
    guard let last else { return nil }
    var choice: Int?
    for index in BlockMaxima.range(last, of: logits.count) {
      let share = weight(logits[index])
      guard share > 0 else { continue }
      choice = index
      left -= share
      if left < 0 { break }
    }
    return choice
  }

  /// Writes the sum of each block's weights to `sums` and returns the sum of all.
  private mutating func sumBlocks(_ logits: Span<Float>, _ weight: Weighting) -> Double {
    sums.removeAll(keepingCapacity: true)
    var total = 0.0
    for first in stride(from: 0, to: logits.count, by: BlockMaxima.size) {
      let block = logits.extracting(first..<min(first + BlockMaxima.size, logits.count))
      let sum = exponentialSum(block, largest: weight.largest, scale: weight.scale)
      sums.append(sum)
      total += sum
    }
    return total
  }

  /// A number in [0, 1) with 53 random bits: 24 are too few to reach every token of a large vocabulary evenly.
  private mutating func uniform() -> Double { Double(rng.next() >> 11) * 0x1p-53 }
}

/// Probabilities up to a common factor: the most likely token's is 1.
struct Weighting {
  /// The largest logit.
  let largest: Float
  /// One over the temperature.
  let scale: Float
  private let temperature: Float

  init(largest: Float, temperature: Float) {
    self.largest = largest
    self.temperature = temperature
    // Zero times infinity would be no number, whichever of the two the scale was.
    scale = min(max(1 / temperature, .leastNormalMagnitude), .greatestFiniteMagnitude)
  }

  @inline(__always)
  func callAsFunction(_ logit: Float) -> Double { Double(exponential((logit - largest) * scale)) }

  /// The sum over these tokens.
  func sum(_ ranks: [LogitRank]) -> Double {
    var total = 0.0
    for rank in ranks { total += self(rank.logit) }
    return total
  }

  /// The key of the least logit that is `share` times as likely as the largest.
  func bound(minP share: Float) -> Int32 { LogitKey.of(min(largest, largest + temperature * log(share))) }
}
