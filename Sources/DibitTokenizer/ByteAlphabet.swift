/// The printable stand-ins that byte-level vocabularies use for the 256 bytes: visible Latin-1 stays itself, the others become
/// the scalars from U+0100 on, in order.
enum ByteAlphabet {
  /// The stand-in of each byte.
  static let scalars: [Unicode.Scalar] = {
    var next: UInt32 = 0x100
    return (0..<256).map { (byte: Int) -> Unicode.Scalar in
      switch byte {
      case 0x21...0x7E, 0xA1...0xAC, 0xAE...0xFF: return Unicode.Scalar(UInt8(byte))
      default:
        defer { next += 1 }
        return Unicode.Scalar(next) ?? "?"
      }
    }
  }()

  /// The UTF-8 of each stand-in.
  static let spellings: [[UInt8]] = scalars.map { Array(String($0).utf8) }

  private static let bytes: [UInt32: UInt8] = {
    var table: [UInt32: UInt8] = [:]
    for (byte, scalar) in scalars.enumerated() { table[scalar.value] = UInt8(byte) }
    return table
  }()

  /// The vocabulary spelling of some bytes.
  static func spelling(of bytes: some Sequence<UInt8>) -> [UInt8] {
    var spelling: [UInt8] = []
    for byte in bytes { spelling.append(contentsOf: spellings[Int(byte)]) }
    return spelling
  }

  /// The bytes that a token stands for; the token's own UTF-8 when it holds a scalar outside the alphabet.
  static func decoded(_ spelling: some Collection<UInt8>) -> [UInt8] {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(spelling.count)
    for scalar in String(decoding: spelling, as: UTF8.self).unicodeScalars {
      guard let byte = bytes[scalar.value] else { return Array(spelling) }
      decoded.append(byte)
    }
    return decoded
  }
}
