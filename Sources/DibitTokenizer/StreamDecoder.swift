/// Turns ids into text as they come, in whole scalars.
///
/// The concatenation of everything that ``append(_:)`` and ``flush()`` return is ``Tokenizer/decode(_:skippingSpecialTokens:)``
/// of all ids. Bytes that are not UTF-8 become U+FFFD: one for each byte that a token spells as `<0xFF>`, and one for each
/// maximal part of a scalar in byte-level vocabularies.
package struct StreamDecoder: Sendable {
  private let tokenizer: Tokenizer
  private let skipsSpecialTokens: Bool
  private var isFirst = true
  private var pending: [UInt8] = []
  private var strip: TokenDecoder.Strip

  init(tokenizer: Tokenizer, skippingSpecialTokens: Bool) {
    self.tokenizer = tokenizer
    skipsSpecialTokens = skippingSpecialTokens
    strip = tokenizer.decoder.strip
  }

  /// The text that is certain after this id; an id without a token adds nothing.
  package mutating func append(_ id: Int32) -> String {
    var text: [UInt8] = []
    append(id, to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// The text of what is left; the decoder can then start a new text.
  package mutating func flush() -> String {
    var text: [UInt8] = []
    flush(into: &text)
    return String(decoding: text, as: UTF8.self)
  }

  mutating func append(_ id: Int32, to text: inout [UInt8]) {
    guard let spelling = tokenizer.respelled[id]?[...] ?? tokenizer.model.tokens.spelling(of: id) else { return }
    if skipsSpecialTokens, tokenizer.isSpecial(id) { return }
    if isFirst, tokenizer.decoder.dependsOnPosition {
      var bytes: [UInt8] = []
      _ = tokenizer.decoder.append(Array(spelling), 0..<spelling.count, isFirst: true, to: &bytes)
      write(bytes[...], into: &text)
    } else {
      let (bytes, isRawByte) = tokenizer.pieces[id]
      if isRawByte || tokenizer.decoder.isByteLevel {
        pending.append(contentsOf: bytes)
        drain(isFinal: false, into: &text)
      } else {
        drain(isFinal: true, into: &text)
        write(bytes, into: &text)
      }
    }
    isFirst = false
  }

  mutating func flush(into text: inout [UInt8]) {
    drain(isFinal: true, into: &text)
    isFirst = true
    strip = tokenizer.decoder.strip
  }

  /// Writes the whole scalars of the pending bytes; the start of a scalar stays unless this is final.
  private mutating func drain(isFinal: Bool, into text: inout [UInt8]) {
    if pending.isEmpty { return }
    var index = 0
    scan: while index < pending.count {
      switch UTF8Step(pending, at: index) {
      case .scalar(let length):
        write(pending[index..<index + length], into: &text)
        index += length
      case .truncated(let length) where !isFinal && index + length == pending.count: break scan
      case .truncated(let length), .invalid(let length):
        for _ in 0..<(tokenizer.decoder.isByteLevel ? 1 : length) { write([0xEF, 0xBF, 0xBD], into: &text) }
        index += length
      }
    }
    pending.removeFirst(index)
  }

  /// Appends whole scalars, less what is stripped from the start of the text.
  private mutating func write(_ bytes: ArraySlice<UInt8>, into text: inout [UInt8]) {
    var bytes = bytes
    while strip.count > 0, !bytes.isEmpty {
      if bytes.starts(with: strip.content) {
        bytes = bytes.dropFirst(strip.content.count)
        strip.count -= 1
      } else {
        strip.count = 0
      }
    }
    text.append(contentsOf: bytes)
  }
}

/// The bytes at one offset of a text that may be UTF-8.
enum UTF8Step: Equatable {
  /// A scalar of so many bytes.
  case scalar(Int)
  /// So many bytes that start a scalar and then end.
  case truncated(Int)
  /// So many bytes that start no scalar: the maximal part of one, or a single byte.
  case invalid(Int)

  init(_ bytes: [UInt8], at start: Int) {
    let first = bytes[start]
    let length: Int
    var second: ClosedRange<UInt8> = 0x80...0xBF
    switch first {
    case 0x00...0x7F:
      self = .scalar(1)
      return
    case 0xC2...0xDF: length = 2
    case 0xE0: (length, second) = (3, 0xA0...0xBF)
    case 0xED: (length, second) = (3, 0x80...0x9F)
    case 0xE1...0xEF: length = 3
    case 0xF0: (length, second) = (4, 0x90...0xBF)
    case 0xF1...0xF3: length = 4
    case 0xF4: (length, second) = (4, 0x80...0x8F)
    default:
      self = .invalid(1)
      return
    }
    for offset in 1..<length {
      guard start + offset < bytes.count else {
        self = .truncated(offset)
        return
      }
      guard (offset == 1 ? second : 0x80...0xBF).contains(bytes[start + offset]) else {
        self = .invalid(offset)
        return
      }
    }
    self = .scalar(length)
  }
}
