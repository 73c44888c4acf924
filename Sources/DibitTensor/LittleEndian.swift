extension FixedWidthInteger {
  /// The bytes of the number, the lowest first.
  package var littleEndianBytes: [UInt8] { (0..<bitWidth / 8).map { UInt8(truncatingIfNeeded: self >> (8 * $0)) } }
}
