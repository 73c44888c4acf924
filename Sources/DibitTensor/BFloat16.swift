/// The upper half of a `Float`: 8 exponent and 7 fraction bits.
package struct BFloat16: BitwiseCopyable, Equatable, Sendable {
  /// The sixteen bits.
  package var bitPattern: UInt16

  /// The value with these bits.
  package init(bitPattern: UInt16) { self.bitPattern = bitPattern }

  /// Rounds to nearest, ties to even; a NaN stays a NaN.
  package init(_ value: Float) {
    let bits = value.bitPattern
    bitPattern = value.isNaN ? UInt16(bits >> 16) | 0x40 : UInt16(truncatingIfNeeded: (bits &+ 0x7FFF &+ (bits >> 16 & 1)) >> 16)
  }
}

extension Float {
  /// The same number; every `BFloat16` is a `Float`.
  package init(_ value: BFloat16) { self.init(bitPattern: UInt32(value.bitPattern) << 16) }
}
