/// A name for one piece of generated content that stays the same in all snapshots of a response.
///
/// Lists in a user interface take it to tell the elements of a growing array apart. Two responses never share one.
public struct GenerationID: Sendable, Hashable {
  private let high: UInt64
  private let low: UInt64

  /// A new name, different from all others.
  public init() {
    var generator = SystemRandomNumberGenerator()
    (high, low) = (generator.next(), generator.next())
  }

  private init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

  /// The name of a property's value. It follows from this one, so that every snapshot finds the same.
  func member(_ key: String) -> GenerationID {
    var (high, low) = (high ^ 0x9E37_79B9_7F4A_7C15, low)
    for byte in key.utf8 {
      high = (high ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
      low = Self.mixed(low &+ UInt64(byte))
    }
    return GenerationID(high: Self.mixed(high), low: Self.mixed(low ^ high))
  }

  /// The name of an array's element.
  func element(_ index: Int) -> GenerationID {
    let position = UInt64(truncatingIfNeeded: index)
    return GenerationID(high: Self.mixed(high &+ position), low: Self.mixed(low ^ Self.mixed(position ^ 0xD6E8_FEB8_6659_FD93)))
  }

  /// The last step of SplitMix64: every bit of the result depends on every bit of the argument.
  private static func mixed(_ value: UInt64) -> UInt64 {
    var value = value &+ 0x9E37_79B9_7F4A_7C15
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}
