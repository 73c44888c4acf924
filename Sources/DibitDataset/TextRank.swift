internal import DibitTensor

/// Random numbers that belong to a seed, a purpose and a text alone: whatever else is in the data, a text keeps its own.
struct TextRank {
  private let start: SplitMix64

  init(seed: UInt64, purpose: StaticString) { start = SplitMix64(seed: seed, purpose: purpose) }

  /// The number of these bytes.
  func callAsFunction(_ text: [UInt8]) -> UInt64 {
    var generator = start
    for byte in text {
      generator.state ^= UInt64(byte)
      generator.state = generator.next()
    }
    return generator.next()
  }
}
