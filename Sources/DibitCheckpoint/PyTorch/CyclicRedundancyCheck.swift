internal import DibitTensor

/// The CRC-32 of ZIP: polynomial 0x04C11DB7, reflected, with all bits inverted before and after.
enum CyclicRedundancyCheck {
  /// The checksum of `bytes`. One table look-up a byte: meant for the small entries of an archive, not for its tensors.
  static func crc32(_ bytes: Bytes) -> UInt32 {
    let bytes = bytes.bytes
    var remainder = UInt32.max
    for index in bytes.indices { remainder = remainder >> 8 ^ table[Int((remainder ^ UInt32(bytes[index])) & 0xFF)] }
    return ~remainder
  }

  private static let table: [UInt32] = (0..<256).map { byte in
    (0..<8).reduce(UInt32(byte)) { remainder, _ in remainder & 1 == 1 ? remainder >> 1 ^ 0xEDB8_8320 : remainder >> 1 }
  }
}
