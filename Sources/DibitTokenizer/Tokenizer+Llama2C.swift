extension Tokenizer {
  /// Reads the `tokenizer.bin` of llama2.c: the longest piece's length, then for each piece a score, a length and its bytes, all
  /// little-endian with 32 bits.
  ///
  /// The ids are those of llama2.c: id 0 is the unknown token, 1 and 2 are the start and the end of a text, 3…258 are the bytes. Pieces
  /// merge by score, and scalars outside the vocabulary become bytes before that. A space is a plain space in this vocabulary.
  ///
  /// - Parameters:
  ///   - bytes: The file.
  ///   - vocabularySize: The number of pieces, which the file does not say.
  ///   - addsBeginning: Puts the token for the start of a text before the ids.
  /// - Throws: ``TokenizerError`` for a file that is damaged.
  package init(llama2c bytes: [UInt8], vocabularySize: Int, addingBeginning addsBeginning: Bool = true) throws(TokenizerError) {
    func fault(_ offset: Int, _ expected: String, _ found: String) -> TokenizerError {
      .binary(file: "llama2.c tokenizer", offset: offset, expected: expected, found: found)
    }
    // A piece takes at least eight bytes, so the size is bounded by the file before anything is made of it.
    guard vocabularySize >= 259, vocabularySize <= max(0, bytes.count - 4) / 8 else {
      throw fault(0, "a vocabulary of at least 259 pieces and 8 bytes for each", "\(vocabularySize) pieces in \(bytes.count) bytes")
    }
    func word(_ offset: Int) -> UInt32 {
      (0..<4).reduce(0) { $0 | UInt32(bytes[offset + $1]) << UInt32(8 * $1) }
    }
    var pieces: [SentencePieceVocabulary.Piece] = []
    pieces.reserveCapacity(vocabularySize)
    var offset = 4
    for id in 0..<vocabularySize {
      guard bytes.count - offset >= 8 else { throw fault(offset, "piece \(id)", "the end of the file") }
      let length = Int(word(offset + 4))
      guard length <= bytes.count - offset - 8 else {
        throw fault(offset + 4, "a length of at most \(bytes.count - offset - 8) for piece \(id)", "\(length)")
      }
      let type: SentencePieceVocabulary.PieceType = id == 0 ? .unknown : id < 3 ? .control : id < 259 ? .byte : .normal
      let text = Array(bytes[offset + 8..<offset + 8 + length])
      if type == .byte, text != BytePairModel.fallbackSpelling(UInt8(id - 3)) {
        throw .unusablePiece(
          index: id, reason: "it must be spelled \(String(decoding: BytePairModel.fallbackSpelling(UInt8(id - 3)), as: UTF8.self))")
      }
      pieces.append(SentencePieceVocabulary.Piece(text: text, score: Float(bitPattern: word(offset)), type: type))
      offset += 8 + length
    }
    guard offset == bytes.count else { throw fault(offset, "the end of the file", "\(bytes.count - offset) more bytes") }
    // The exporter puts line ends around the control tokens.
    for id in 1...2 {
      let text = pieces[id].text
      if text.count > 2, text.first == 0x0A, text.last == 0x0A { pieces[id].text = Array(text.dropFirst().dropLast()) }
    }
    var vocabulary = SentencePieceVocabulary(
      kind: .bytePair, pieces: pieces,
      normalizer: SentencePieceNormalizer(map: nil, addsDummyPrefix: true, removesExtraSpaces: false, escapesSpaces: false))
    vocabulary.mergesUnknownScalars = false
    if addsBeginning { vocabulary.prefix = [1] }
    try self.init(vocabulary)
  }
}
