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

  /// The byte that each scalar below U+0144 stands for, or -1.
  private static let bytes: [Int16] = {
    var table = [Int16](repeating: -1, count: 0x144)
    for (byte, scalar) in scalars.enumerated() { table[Int(scalar.value)] = Int16(byte) }
    return table
  }()

  /// The vocabulary spelling of some bytes.
  static func spelling(of bytes: some Sequence<UInt8>) -> [UInt8] {
    var spelling: [UInt8] = []
    for byte in bytes { spelling.append(contentsOf: spellings[Int(byte)]) }
    return spelling
  }

  /// Appends the bytes that a token stands for; the token's own UTF-8 when it holds a scalar outside the alphabet.
  static func append(decoding text: [UInt8], _ range: Range<Int>, to decoded: inout [UInt8]) {
    let (bytes, start) = (Self.bytes, decoded.count)
    var index = range.lowerBound
    while index < range.upperBound {
      var scalar = Int(text[index])
      index += 1
      if scalar >= 0x80 {
        let isInRange = (0xC2...0xC5).contains(scalar) && index < range.upperBound && text[index] & 0xC0 == 0x80
        scalar = isInRange ? (scalar & 0x1F) << 6 | Int(text[index] & 0x3F) : bytes.count
        index += 1
      }
      guard scalar < bytes.count, bytes[scalar] >= 0 else {
        decoded.removeSubrange(start...)
        decoded.append(contentsOf: text[range])
        return
      }
      decoded.append(UInt8(bytes[scalar]))
    }
  }
}
