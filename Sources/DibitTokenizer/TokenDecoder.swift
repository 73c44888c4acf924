/// The way in which the spellings of tokens become text.
enum TokenDecoder: Sendable, Equatable {
  /// No decoder: the spellings with spaces between.
  case spaced
  /// Spellings in ``ByteAlphabet``.
  case byteLevel
  /// A mark stands for a space; in the first token it is dropped when `dropsFirst`.
  case metaspace(mark: [UInt8], dropsFirst: Bool)
  /// Replacements, then bytes for `<0x0A>`, then up to `count` of `content` are taken from the start of the text.
  case sentencePiece(replacements: [Replacement], hasByteFallback: Bool, strip: Strip)

  struct Replacement: Sendable, Equatable {
    let pattern: [UInt8]
    let content: [UInt8]
  }

  struct Strip: Sendable, Equatable {
    var content: [UInt8] = []
    var count = 0
  }

  /// Appends what the token spelled as `bytes[range]` contributes at the start or in the middle of a text; whether that is one raw byte of a scalar spelled in bytes.
  func append(_ bytes: [UInt8], _ range: Range<Int>, isFirst: Bool, to text: inout [UInt8]) -> Bool {
    switch self {
    case .spaced:
      if !isFirst { text.append(0x20) }
      text.append(contentsOf: bytes[range])
    case .byteLevel: ByteAlphabet.append(decoding: bytes, range, to: &text)
    case .metaspace(let mark, let dropsFirst):
      text.append(contentsOf: Array(bytes[range]).replacing(mark, by: isFirst && dropsFirst ? [] : [0x20]))
    case .sentencePiece(let replacements, let hasByteFallback, _):
      var bytes = Array(bytes[range])
      for replacement in replacements { bytes = bytes.replacing(replacement.pattern, by: replacement.content) }
      if hasByteFallback, let byte = Self.fallbackByte(bytes) {
        text.append(byte)
        return true
      }
      text.append(contentsOf: bytes)
    }
    return false
  }

  /// True where a token at the start of a text contributes something else than in the middle.
  var dependsOnPosition: Bool {
    switch self {
    case .spaced, .metaspace(_, true): true
    case .byteLevel, .sentencePiece, .metaspace(_, false): false
    }
  }

  /// True where the bytes of all tokens are one stream, so that tokens may hold parts of scalars.
  var isByteLevel: Bool { self == .byteLevel }

  /// The part that is taken from the start of the text.
  var strip: Strip { if case .sentencePiece(_, _, let strip) = self { strip } else { Strip() } }

  /// The byte that `<0x0A>` names.
  static func fallbackByte(_ spelling: [UInt8]) -> UInt8? {
    guard spelling.count == 6, spelling.starts(with: "<0x".utf8), spelling[5] == UInt8(ascii: ">") else { return nil }
    var byte: UInt8 = 0
    for digit in spelling[3..<5] {
      switch digit {
      case 0x30...0x39: byte = byte << 4 | (digit - 0x30)
      case 0x41...0x46: byte = byte << 4 | (digit - 0x41 + 10)
      case 0x61...0x66: byte = byte << 4 | (digit - 0x61 + 10)
      default: return nil
      }
    }
    return byte
  }
}

/// The contributions of all tokens in the middle of a text, worked out once.
struct PieceTable: Sendable {
  private var arena: [UInt8] = []
  private var starts: [Int] = [0]
  private var rawBytes: [Bool] = []

  init(tokens: TokenTable, respelled: [Int32: [UInt8]], decoder: TokenDecoder) {
    arena.reserveCapacity(tokens.bytes.count)
    starts.reserveCapacity(tokens.count + 1)
    rawBytes.reserveCapacity(tokens.count)
    for id in 0..<tokens.count {
      if let spelling = respelled[Int32(id)] {
        rawBytes.append(decoder.append(spelling, 0..<spelling.count, isFirst: false, to: &arena))
      } else if let range = tokens.range(of: Int32(id)) {
        rawBytes.append(decoder.append(tokens.bytes, range, isFirst: false, to: &arena))
      } else {
        rawBytes.append(false)
      }
      starts.append(arena.count)
    }
  }

  /// The contribution of the token with this id, which is in the table.
  subscript(id: Int32) -> (bytes: ArraySlice<UInt8>, isRawByte: Bool) {
    (arena[starts[Int(id)]..<starts[Int(id) + 1]], rawBytes[Int(id)])
  }
}
