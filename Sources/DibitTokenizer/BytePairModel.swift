/// A byte-pair model: the vocabulary, the merges, and what becomes of text that the vocabulary lacks.
struct BytePairModel: Sendable {
  let tokens: TokenTable
  let merges: MergeTable
  /// True for each id that belongs to the model; the others are added tokens, which merging never produces.
  let isModelToken: [Bool]
  /// True where the symbols are bytes spelled with ``ByteAlphabet``.
  let isByteLevel: Bool
  let unknownID: Int32?
  let fusesUnknown: Bool
  /// True where a piece that is a token is not merged.
  let ignoresMerges: Bool
  /// The ids of `<0x00>`…`<0xFF>` (nil where missing) when scalars outside the vocabulary are spelled in bytes.
  let fallbackIDs: [Int32?]?
  /// The symbols of SentencePiece's own models; nil for models that are defined by their merges.
  let scored: ScoredSymbols?
  private let byteIDs: [Int32?]
  private let asciiIDs: [Int32?]

  init(
    tokens: TokenTable, isModelToken: [Bool], merges: MergeTable, isByteLevel: Bool, unknownID: Int32?, fusesUnknown: Bool,
    ignoresMerges: Bool, hasByteFallback: Bool, scored: ScoredSymbols? = nil
  ) {
    self.tokens = tokens
    self.merges = merges
    self.isModelToken = isModelToken
    self.isByteLevel = isByteLevel
    self.unknownID = unknownID
    self.fusesUnknown = fusesUnknown
    self.ignoresMerges = ignoresMerges
    self.scored = scored
    func modelID(_ spelling: [UInt8]) -> Int32? {
      tokens.id(of: spelling).flatMap { isModelToken[Int($0)] ? $0 : nil }
    }
    fallbackIDs = hasByteFallback ? (0..<256).map { modelID(Self.fallbackSpelling(UInt8($0))) } : nil
    byteIDs = ByteAlphabet.spellings.map { modelID($0) }
    asciiIDs = (0..<128).map { modelID([UInt8($0)]) }
  }

  /// The id of the model's token spelled as `bytes[range]`.
  func id(of bytes: [UInt8], in range: Range<Int>) -> Int32? {
    if range.count == 1, bytes[range.lowerBound] < 0x80 { return asciiIDs[Int(bytes[range.lowerBound])] }
    guard let id = tokens.id(of: bytes, in: range), isModelToken[Int(id)] else { return nil }
    return id
  }

  /// The id of the stand-in of a byte.
  func id(ofByte byte: UInt8) -> Int32? { byteIDs[Int(byte)] }

  /// Checks that the mark is a token and starts no second word within the result of any merge.
  func isCut(before mark: [UInt8]) -> Bool {
    guard (scored?.table ?? tokens).id(of: mark) != nil, id(of: mark, in: 0..<mark.count) != nil else { return false }
    for id in 0..<Int32(tokens.count) where isModelToken[Int(id)] {
      guard let spelling = tokens.spelling(of: id), spelling.count > mark.count,
        scored == nil || scored?.table.id(of: Array(spelling)) != nil
      else { continue }
      let bytes = Array(spelling)
      var index = 0
      while bytes.count - index >= mark.count, bytes.holds(mark, at: index) { index += mark.count }
      while index < bytes.count {
        if bytes.holds(mark, at: index) { return false }
        index += 1
      }
    }
    return true
  }

  /// `<0x0A>` for a line feed.
  static func fallbackSpelling(_ byte: UInt8) -> [UInt8] {
    let digits = Array("0123456789ABCDEF".utf8)
    return Array("<0x".utf8) + [digits[Int(byte >> 4)], digits[Int(byte & 15)], UInt8(ascii: ">")]
  }
}

/// The symbols of a SentencePiece model: the pieces that text can spell, and further scalars that only occur within pieces.
struct ScoredSymbols: Sendable {
  /// Symbols below ``tokenCount`` are tokens.
  let table: TokenTable
  let tokenCount: Int32
  /// The user-defined pieces, which the pre-tokeniser has cut out.
  let whole: TokenTable
}
