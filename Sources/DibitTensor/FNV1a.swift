/// The hash FNV-1a of Fowler, Noll and Vo: the same for the same values on every machine and in every release.
///
/// A value is as wide as 64 bits, where the original takes bytes: sequences of wide values that differ in length have different hashes, too.
package struct FNV1a: Equatable, Sendable {
  /// The hash of the values so far.
  package var value: UInt64 = 0xCBF2_9CE4_8422_2325

  /// No values yet.
  @inlinable package init() {}

  /// Adds a value.
  @inlinable package mutating func add(_ next: UInt64) { value = (value ^ next) &* 0x100_0000_01B3 }

  /// The hash with every bit spread over all, for tables that look at some of them.
  @inlinable package var mixed: UInt64 { Self.mixed(value) }

  /// Spreads every bit of a value over all: the finaliser of MurmurHash3.
  @inlinable package static func mixed(_ value: UInt64) -> UInt64 {
    var bits = value
    bits = (bits ^ bits >> 33) &* 0xFF51_AFD7_ED55_8CCD
    bits = (bits ^ bits >> 33) &* 0xC4CE_B9FE_1A85_EC53
    return bits ^ bits >> 33
  }
}
