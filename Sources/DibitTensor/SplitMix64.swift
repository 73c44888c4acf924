/// A small seeded generator: the same seed gives the same numbers on every machine and in every release.
///
/// Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014).
package struct SplitMix64: RandomNumberGenerator, Equatable, Sendable {
  /// Everything the generator remembers; save and restore it to continue a sequence.
  package var state: UInt64

  /// A generator that starts at `seed`.
  package init(seed: UInt64) { state = seed }

  /// An independent generator for a purpose, so that adding draws in one place does not move another's.
  package init(seed: UInt64, purpose: StaticString) {
    var hash = FNV1a()
    for byte in purpose.description.utf8 { hash.add(UInt64(byte)) }
    state = seed
    let first = next()
    state = first ^ hash.value
  }

  /// Sixty-four random bits.
  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  /// A float in [0, 1) with 24 random bits.
  package mutating func uniform() -> Float { Float(next() >> 40) * 0x1p-24 }

  /// A float in [-bound, bound).
  package mutating func uniform(bound: Float) -> Float { (2 * uniform() - 1) * bound }

  /// A whole number in 0..<bound without bias (Lemire's method).
  package mutating func below(_ bound: Int) -> Int {
    require(bound > 0, "SplitMix64.below: bound \(bound) is not positive")
    let bound = UInt64(bound)
    var product = next().multipliedFullWidth(by: bound)
    if product.low < bound {
      let threshold = (0 &- bound) % bound
      while product.low < threshold { product = next().multipliedFullWidth(by: bound) }
    }
    return Int(product.high)
  }

  /// A standard normal: the sum of twelve uniforms less six. No transcendental function, so the same bits everywhere.
  package mutating func normal() -> Float {
    var sum: Float = 0
    for _ in 0..<12 { sum += uniform() }
    return sum - 6
  }

  /// Shuffles in place (Fisher–Yates); unlike `shuffle(using:)` its order is promised to stay.
  package mutating func shuffle<Element>(_ elements: inout [Element]) {
    for last in stride(from: elements.count - 1, to: 0, by: -1) { elements.swapAt(last, below(last + 1)) }
  }

  /// The same of indices, without memory from the heap: the generic function is compiled for no type, and takes some for each exchange.
  package mutating func shuffle(_ indices: inout [Int]) {
    for last in stride(from: indices.count - 1, to: 0, by: -1) { indices.swapAt(last, below(last + 1)) }
  }
}
