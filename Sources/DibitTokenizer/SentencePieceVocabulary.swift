/// A vocabulary whose pieces have scores and types: what a SentencePiece model, a llama2.c tokenizer and a GGUF file of that kind hold.
struct SentencePieceVocabulary: Sendable, Equatable {
  enum Kind: String, Sendable, Equatable {
    case bytePair = "bpe"
    case unigram
  }

  /// The types of SentencePiece's `ModelProto`.
  enum PieceType: Int, Sendable, Equatable {
    case normal = 1
    case unknown = 2
    case control = 3
    case userDefined = 4
    case unused = 5
    case byte = 6
  }

  struct Piece: Sendable, Equatable {
    var text: [UInt8]
    var score: Float
    var type: PieceType
  }

  var kind: Kind
  var pieces: [Piece]
  var normalizer: SentencePieceNormalizer
  /// The tokens that are put around an encoded text.
  var prefix: [Int32] = []
  var suffix: [Int32] = []
  /// True where scalars that are no piece can be part of one, as in SentencePiece; llama2.c spells them in bytes first.
  var mergesUnknownScalars = true

  /// Longer pieces are refused, so that finding the parts of all pieces takes no quadratic time.
  static let pieceLimit = 1024

  /// Checks that text can spell the piece.
  func isFound(_ id: Int) -> Bool { pieces[id].type == .normal || pieces[id].type == .userDefined }

  /// The id of the one piece of type unknown, and the ids of the 256 bytes if the vocabulary has them; checks everything else.
  func checked() throws(TokenizerError) -> (unknown: Int32, bytes: [Int32?]?) {
    guard pieces.count <= Tokenizer.idLimit else {
      throw .idOutOfRange(token: "the last token", id: pieces.count - 1, limit: Tokenizer.idLimit)
    }
    var seen: [[UInt8]: Int] = [:]
    seen.reserveCapacity(pieces.count)
    var unknown: Int32?
    var bytes = [Int32?](repeating: nil, count: 256)
    for (id, piece) in pieces.enumerated() {
      guard !piece.text.isEmpty, piece.text.count <= Self.pieceLimit, let text = String(validating: piece.text, as: UTF8.self) else {
        throw .unusablePiece(index: id, reason: "it must be UTF-8 text of 1 to \(Self.pieceLimit) bytes")
      }
      guard piece.score.isFinite else { throw .unusablePiece(index: id, reason: "its score is \(piece.score)") }
      if let first = seen.updateValue(id, forKey: piece.text) { throw .duplicatePiece(text, first: first, second: id) }
      switch piece.type {
      case .unknown:
        if let unknown { throw .unusablePiece(index: id, reason: "it is of type unknown, as piece \(unknown) is") }
        unknown = Int32(id)
      case .byte:
        guard let byte = TokenDecoder.fallbackByte(piece.text), piece.text == BytePairModel.fallbackSpelling(byte) else {
          throw .unusablePiece(index: id, reason: "it is of type byte, but not spelled like <0x0A>")
        }
        bytes[Int(byte)] = Int32(id)
      case .normal, .control, .userDefined, .unused: break
      }
    }
    guard let unknown else { throw .missing(path: "a piece of type unknown") }
    if bytes.allSatisfy({ $0 == nil }) { return (unknown, nil) }
    if let missing = bytes.firstIndex(of: nil) {
      throw .missing(path: String(decoding: BytePairModel.fallbackSpelling(UInt8(missing)), as: UTF8.self))
    }
    return (unknown, bytes)
  }

  func list() -> TokenList { TokenList(pieces.enumerated().map { ($1.text, Int32($0)) }) }

  // MARK: Byte pairs

  /// The merges that the scores imply: any two parts of a piece that are pieces or scalars themselves. Pieces of one score share a
  /// rank, and of those the leftmost pair of a text merges first.
  func merges() throws(TokenizerError) -> (table: MergeTable, symbols: ScoredSymbols) {
    var list = TokenList()
    for (id, piece) in pieces.enumerated() where isFound(id) { list.append(piece.text, id: Int32(id)) }
    if mergesUnknownScalars { appendUnknownScalars(to: &list) }
    let symbols = TokenTable(list)

    try checkUnused(symbols)

    let mergeable = pieces.indices.filter(isFound)
    let scores = Set(mergeable.map { pieces[$0].score }).sorted(by: >)
    var ranks: [Float: UInt32] = [:]
    for (rank, score) in scores.enumerated() { ranks[score] = UInt32(rank) }
    let order = mergeable.map { (rank: ranks[pieces[$0].score] ?? 0, id: $0) }.sorted { ($0.rank, $0.id) < ($1.rank, $1.id) }
    var ranked: [(merge: MergeTable.Merge, rank: UInt32)] = []
    var listed: [MergeTable.Merge] = []
    for (rank, id) in order {
      let text = pieces[id].text
      // A long left part first: the leftmost of equals has most often merged more.
      for cut in stride(from: text.count - 1, to: 0, by: -1) where text[cut] & 0xC0 != 0x80 {
        guard let left = symbols.id(of: text, in: 0..<cut), let right = symbols.id(of: text, in: cut..<text.count) else { continue }
        let merge = MergeTable.Merge(left: left, right: right, result: Int32(id))
        ranked.append((merge, rank))
        if left < pieces.count, right < pieces.count { listed.append(merge) }
      }
    }
    var whole = TokenList()
    for (id, piece) in pieces.enumerated() where piece.type == .userDefined { whole.append(piece.text, id: Int32(id)) }
    return (
      MergeTable(ranked: ranked, listed: listed),
      ScoredSymbols(table: symbols, tokenCount: Int32(pieces.count), whole: TokenTable(whole))
    )
  }

  /// SentencePiece merges unused pieces and takes them apart again. That is not supported, so none may be made of other symbols.
  private func checkUnused(_ symbols: TokenTable) throws(TokenizerError) {
    for (id, piece) in pieces.enumerated() where piece.type == .unused {
      let text = piece.text
      var isReached = ScalarScanner.scalar(in: text, at: 0).next == text.count
      for cut in 1..<max(text.count, 1) where text[cut] & 0xC0 != 0x80 && !isReached {
        isReached = symbols.id(of: text, in: 0..<cut) != nil && symbols.id(of: text, in: cut..<text.count) != nil
      }
      if isReached { throw .unusablePiece(index: id, reason: "it is of type unused, but other pieces merge into it") }
    }
  }

  /// Appends the scalars of pieces that are no pieces, with ids after those of the pieces, to the list of those that text can spell.
  private func appendUnknownScalars(to list: inout TokenList) {
    let found = TokenTable(list)
    var next = Int32(pieces.count)
    var seen = Set<[UInt8]>()
    for (id, piece) in pieces.enumerated() where isFound(id) {
      var index = 0
      while index < piece.text.count {
        let end = ScalarScanner.scalar(in: piece.text, at: index).next
        if found.id(of: piece.text, in: index..<end) == nil, seen.insert(Array(piece.text[index..<end])).inserted {
          list.append(piece.text[index..<end], id: next)
          next += 1
        }
        index = end
      }
    }
  }

  // MARK: Unigram

  /// The scores as SentencePiece counts them: a user-defined piece always wins.
  func unigramScores() -> (scores: [Double], lowest: Double) {
    let normal = pieces.filter { $0.type == .normal }.map(\.score)
    let highest = normal.max() ?? 0
    let scores = pieces.map { piece in
      piece.type == .userDefined ? Double(Float(piece.text.count) * highest) - 0.1 : Double(piece.score)
    }
    return (scores, Double(normal.min() ?? 0))
  }
}
