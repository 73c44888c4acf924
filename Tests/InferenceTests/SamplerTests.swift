import DibitInference
import DibitTensor
import Glibc
import Testing

/// Draws `count` tokens from the same logits.
func draw(
  _ options: SamplingOptions, _ logits: [Float], count: Int = 1, behind recent: [Int32] = [], allowed: [UInt64]? = nil
) throws -> [Int32] {
  var sampler = Sampler(options)
  for id in recent { sampler.record(id) }
  return try (0..<count).map { _ in
    if let allowed { try sampler.next(logits.span, allowed: allowed.span) } else { try sampler.next(logits.span) }
  }
}

func sampling(
  temperature: Float = 1, topK: Int = 0, topP: Float = 1, minP: Float = 0, penalty: Float = 1, window: Int = 64, seed: UInt64 = 0
) -> SamplingOptions {
  var options = SamplingOptions()
  (options.temperature, options.topK, options.topP, options.minP) = (temperature, topK, topP, minP)
  (options.repetitionPenalty, options.repetitionWindow, options.seed) = (penalty, window, seed)
  return options
}

/// `χ²` of counts against probabilities, and a bound that a right sampler exceeds once in about 10¹⁰ times: the mean of the distribution
/// with `k` degrees of freedom is k, its variance 2 k, and with x = -ln of that chance P(χ² ≥ k + 2 √(k x) + 2 x) ≤ e⁻ˣ (Laurent and Massart,
/// 2000). Tokens without a probability must not be drawn at all.
func chiSquare(_ drawn: [Int32], _ probabilities: [Double]) -> (value: Double, bound: Double) {
  var counts = [Int](repeating: 0, count: probabilities.count)
  for id in drawn { counts[Int(id)] += 1 }
  var value = 0.0
  for (count, probability) in zip(counts, probabilities) {
    if probability == 0 {
      if count > 0 { value = .infinity }
      continue
    }
    let expected = probability * Double(drawn.count)
    value += (Double(count) - expected) * (Double(count) - expected) / expected
  }
  let (degrees, x) = (Double(probabilities.count { $0 > 0 } - 1), 23.0)
  return (value, degrees + 2 * (degrees * x).squareRoot() + 2 * x)
}

/// The definition of each step, word by word, with a full sort and in doubles.
func plainDistribution(_ options: SamplingOptions, _ logits: [Float], behind recent: [Int32], allowed: [UInt64]?) -> [Double] {
  var scores = logits.map { Double($0) }
  if options.repetitionPenalty != 1, options.repetitionWindow > 0 {
    for id in Set(recent.suffix(min(options.repetitionWindow, recent.count))) {
      let penalty = Double(options.repetitionPenalty)
      scores[Int(id)] = scores[Int(id)] < 0 ? scores[Int(id)] * penalty : scores[Int(id)] / penalty
    }
  }
  var order = logits.indices.filter { id in
    allowed.map { id / 64 < $0.count && $0[id / 64] >> UInt64(id % 64) & 1 == 1 } ?? true
  }
  order.sort { scores[$0] != scores[$1] ? scores[$0] > scores[$1] : $0 < $1 }
  let largest = scores[order[0]]
  func weight(_ id: Int) -> Double { exp((scores[id] - largest) / Double(options.temperature)) }
  if options.topK > 0 { order = Array(order.prefix(options.topK)) }
  if options.topP < 1 {
    let total = order.reduce(0.0) { $0 + weight($1) }
    var (sum, kept) = (0.0, 0)
    while kept < order.count, kept == 0 || sum < Double(options.topP) * total {
      sum += weight(order[kept])
      kept += 1
    }
    order = Array(order.prefix(kept))
  }
  if options.minP > 0 { order = order.filter { weight($0) >= Double(options.minP) } }
  let total = order.reduce(0.0) { $0 + weight($1) }
  var probabilities = [Double](repeating: 0, count: logits.count)
  for id in order { probabilities[id] = weight(id) / total }
  return probabilities
}

@Suite struct SamplerTests {
  private let logits: [Float] = [0, 2, 1, 2, -1]

  @Test func greedyTakesTheLowerIDOfATie() throws {
    #expect(try draw(sampling(temperature: 0), logits, count: 3) == [1, 1, 1])
    #expect(try draw(sampling(temperature: 0), [-3, -3, -3]) == [0])
    #expect(try draw(sampling(temperature: 0), [-1, -0.0, 0]) == [1])
    // In the last block, and in two blocks.
    var many = [Float](repeating: -1, count: 1000)
    many[999] = 4
    #expect(try draw(sampling(temperature: 0), many) == [999])
    many[300] = 4
    #expect(try draw(sampling(temperature: 0), many) == [300])
  }

  @Test func sameSeedSameTokens() throws {
    let first = try draw(sampling(seed: 5), logits, count: 100)
    #expect(try draw(sampling(seed: 5), logits, count: 100) == first)
    #expect(try draw(sampling(seed: 6), logits, count: 100) != first)
  }

  @Test func topK() throws {
    #expect(Set(try draw(sampling(temperature: 5, topK: 1), logits, count: 200)) == [1])
    #expect(Set(try draw(sampling(temperature: 5, topK: 2), logits, count: 200)) == [1, 3])
    #expect(Set(try draw(sampling(temperature: 5, topK: 3), logits, count: 500)) == [1, 2, 3])
    #expect(Set(try draw(sampling(temperature: 50, topK: 99), logits, count: 500)) == [0, 1, 2, 3, 4])
    // All the same: the lower ids, in whichever blocks they lie.
    let flat = [Float](repeating: 1, count: 2000)
    #expect(Set(try draw(sampling(topK: 3), flat, count: 200)) == [0, 1, 2])
  }

  @Test func topP() throws {
    // e² : e² : e : 1 : 1/e, of 18.87 in all: the first has 39 %, the first two 78 %.
    #expect(Set(try draw(sampling(topP: 1e-6), logits, count: 200)) == [1])
    #expect(Set(try draw(sampling(topP: 0.38), logits, count: 200)) == [1])
    #expect(Set(try draw(sampling(topP: 0.5), logits, count: 500)) == [1, 3])
    #expect(Set(try draw(sampling(topP: 0.8), logits, count: 500)) == [1, 2, 3])
    #expect(Set(try draw(sampling(topP: 1), logits, count: 2000)) == [0, 1, 2, 3, 4])
    // Exactly reached.
    #expect(Set(try draw(sampling(topP: 0.5), [1, 1, 1, 1], count: 500)) == [0, 1])
  }

  @Test func minP() throws {
    // Of the likeliest: 1, 1, e⁻¹ = 0.37, e⁻² = 0.14, e⁻³ = 0.05.
    #expect(Set(try draw(sampling(minP: 1), logits, count: 200)) == [1, 3])
    #expect(Set(try draw(sampling(minP: 0.38), logits, count: 200)) == [1, 3])
    #expect(Set(try draw(sampling(minP: 0.36), logits, count: 500)) == [1, 2, 3])
    #expect(Set(try draw(sampling(minP: 0.13), logits, count: 2000)) == [0, 1, 2, 3])
    // At twice the temperature the same logits are half as far apart.
    #expect(Set(try draw(sampling(temperature: 2, minP: 0.36), logits, count: 2000)) == [0, 1, 2, 3])
  }

  @Test func repetitionPenalty() throws {
    // Positive logits shrink, negative ones grow away from zero; once each.
    #expect(try draw(sampling(temperature: 0, penalty: 2.1), logits, behind: [1, 1]) == [3])
    #expect(try draw(sampling(temperature: 0, penalty: 2.1), logits, behind: [1, 3]) == [2])
    #expect(try draw(sampling(temperature: 0, penalty: 1.9), logits, behind: [1, 3, 1, 3]) == [1])
    #expect(try draw(sampling(temperature: 0, penalty: 3), [-1, -2], behind: [0]) == [1])
    // Below 1 it favours what was there.
    #expect(try draw(sampling(temperature: 0, penalty: 0.4), logits, behind: [2]) == [2])
    // Only the last tokens count, and tokens beyond the logits not at all.
    #expect(try draw(sampling(temperature: 0, penalty: 9, window: 2), logits, behind: [1, 3, 2]) == [1])
    #expect(try draw(sampling(temperature: 0, penalty: 9, window: .max), [0.5, 2, 1, 2, -1], behind: [1, 3, 2, 99, -1]) == [0])
    #expect(try draw(sampling(temperature: 0, penalty: 9, window: 0), logits, behind: [1, 3, 2]) == [1])
  }

  @Test func mask() throws {
    #expect(try draw(sampling(temperature: 0), logits, allowed: [0b10101]) == [2])
    #expect(Set(try draw(sampling(temperature: 5), logits, count: 500, allowed: [0b10101])) == [0, 2, 4])
    #expect(Set(try draw(sampling(temperature: 5, topK: 2), logits, count: 500, allowed: [0b10101])) == [0, 2])
    // A penalty does not bring a token back.
    #expect(try draw(sampling(temperature: 0, penalty: 0.01), logits, behind: [1, 3], allowed: [0b10101]) == [2])
    // Tokens beyond the words are not allowed; bits beyond the tokens do not matter.
    let many = (0..<200).map { Float($0) }
    #expect(try draw(sampling(temperature: 0), many, allowed: [.max, .max]) == [127])
    #expect(try draw(sampling(temperature: 0), many, allowed: [1 << 63, 0, 1 | 1 << 63, .max, .max]) == [199])
    #expect(try draw(sampling(temperature: 0), many, allowed: [1 << 63, 0, 1 << 63]) == [191])
    #expect(try draw(sampling(temperature: 0), many, allowed: [1 << 63, 0, 0, 0]) == [63])
    #expect(throws: InferenceError.noAllowedToken(position: 1)) {
      try draw(sampling(temperature: 0), logits, behind: [1, 2], allowed: [0b100000])
    }
    #expect(throws: InferenceError.noAllowedToken(position: 0)) { try draw(sampling(), logits, allowed: []) }
    #expect(throws: InferenceError.noAllowedToken(position: 0)) { try draw(sampling(), [-.infinity, 1], allowed: [1]) }
  }

  @Test("logits that are no distribution", arguments: [0, 1] as [Float], [Float.nan, -.nan, .infinity, .signalingNaN])
  func notFinite(temperature: Float, bad: Float) throws {
    for index in [0, 255, 256, 999] {
      var logits = [Float](repeating: 1, count: 1000)
      logits[index] = bad
      for options in [sampling(temperature: temperature), sampling(temperature: temperature, topK: 3, penalty: 1.1)] {
        #expect(throws: InferenceError.notFinite(position: 2)) { try draw(options, logits, behind: [1, 2, 3]) }
      }
    }
    #expect(throws: InferenceError.notFinite(position: 0)) { try draw(sampling(temperature: temperature), [-.infinity, -.infinity]) }
    #expect(throws: InferenceError.notFinite(position: 0)) { try draw(sampling(temperature: temperature), []) }
  }

  @Test func extremeLogits() throws {
    #expect(try draw(sampling(temperature: 0.001), [1000, -1000, 0], count: 20) == [Int32](repeating: 0, count: 20))
    #expect(try draw(sampling(temperature: 1), [-.infinity, 3, -.infinity], count: 20) == [Int32](repeating: 1, count: 20))
    #expect(try draw(sampling(temperature: 1), [4], count: 3) == [0, 0, 0])
    #expect(try draw(sampling(temperature: .leastNonzeroMagnitude), [1, 2], count: 3) == [1, 1, 1])
    #expect(try draw(sampling(temperature: .leastNonzeroMagnitude, topP: 0.9, minP: 0.1), [1, 2], count: 3) == [1, 1, 1])
    #expect(Set(try draw(sampling(temperature: .infinity), [-100, 100, -.infinity, 0], count: 200)) == [0, 1, 3])
    #expect(try draw(sampling(topK: 3), [-.infinity, 3, -.infinity, -.infinity], count: 20) == [Int32](repeating: 1, count: 20))
    #expect(try draw(sampling(topP: 0.999), [-.infinity, 3, -.infinity, -.infinity], count: 20) == [Int32](repeating: 1, count: 20))
  }

  @Test("top-p where much of the probability is with very many unlikely tokens")
  func topPOfManyUnlikelyTokens() throws {
    let logits = (0..<4096).map { (id: Int) -> Float in id < 4000 ? 0 : 4 }
    // 96 e⁴ = 5241 of 9241: more than half is reached with the 96 alone, 60 % needs tokens far below.
    #expect(Set(try draw(sampling(topP: 0.5), logits, count: 100)).allSatisfy { $0 >= 4000 })
    let drawn = try draw(sampling(topP: 0.6, seed: 2), logits, count: 100)
    let expected = plainDistribution(sampling(topP: 0.6), logits, behind: [], allowed: nil)
    #expect(drawn.allSatisfy { expected[Int($0)] > 0 })
    #expect(drawn.contains { $0 < 4000 })
    // All but rounding: every token that has a weight stays, and none is looked for in vain.
    #expect(try draw(sampling(topP: Float(1).nextDown), logits + [-200], count: 100, behind: []).allSatisfy { $0 < 4096 })
  }

  @Test("frequencies follow the definition of the steps", arguments: 0..<40)
  func frequencies(seed: Int) throws {
    var rng = SplitMix64(seed: UInt64(seed))
    func pick<T>(_ values: [T]) -> T { values[rng.below(values.count)] }
    let count = pick([3, 12, 64, 255, 256, 257, 300])
    let draws = 2000
    let spread: Float = pick([0.5, 2, 5])
    let logits = (0..<count).map { _ in rng.normal() * spread }
    let recent = (0..<8).map { _ in Int32(rng.below(count)) }
    var allowed: [UInt64]? = nil
    if rng.below(2) == 0 { allowed = (0..<(count + 63) / 64).map { _ in rng.next() | 2 } }
    let options = sampling(
      temperature: pick([0.4, 1, 1.7]), topK: pick([0, 0, 4, 40, 300]), topP: pick([1, 1, 0.3, 0.8, 0.95]),
      minP: pick([0, 0, 0.02, 0.3]),
      penalty: pick([1, 1, 1.3, 0.7]), window: pick([0, 3, 64]), seed: rng.next())
    let expected = plainDistribution(options, logits, behind: recent, allowed: allowed)
    let drawn = try draw(options, logits, count: draws, behind: recent, allowed: allowed)
    // Cells that expect less than five draws say little and have heavy tails: they go together.
    let rare = expected.indices.filter { expected[$0] > 0 && expected[$0] * Double(draws) < 5 }
    #expect(drawn.allSatisfy { expected[Int($0)] > 0 }, "\(options)")
    let joined = expected.indices.filter { !rare.contains($0) }.map { expected[$0] } + [rare.reduce(0.0) { $0 + expected[$1] }]
    let ranks = Dictionary(uniqueKeysWithValues: expected.indices.filter { !rare.contains($0) }.enumerated().map { ($1, $0) })
    let result = chiSquare(drawn.map { Int32(ranks[Int($0)] ?? joined.count - 1) }, joined)
    #expect(result.value <= result.bound, "\(options)")
  }
}
