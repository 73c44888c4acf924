/// A unigram model: every token has a score, and a text becomes the tokens with the highest sum.
struct UnigramModel: Sendable {
  let tokens: TokenTable
  let isModelToken: [Bool]
  /// The score of every token of the model, by id.
  let scores: [Double]
  /// The scores as a file lists them.
  let listedScores: [Double]
  let unknownID: Int32
  /// The score of a scalar that is no token: ten less than the lowest score.
  let unknownScore: Double
  /// The ids of `<0x00>`…`<0xFF>` (nil where missing) when unknown text is spelled in bytes.
  let fallbackIDs: [Int32?]?
  /// True where sums are kept in single precision, as SentencePiece keeps them, instead of double, as Hugging Face's library does.
  let isSinglePrecision: Bool
  let trie: ByteTrie

  /// `isFound` says which ids text can spell; the others come out only as unknown or as bytes.
  init(
    tokens: TokenTable, isModelToken: [Bool], scores: [Double], lowestScore: Double, unknownID: Int32, fallbackIDs: [Int32?]?,
    isSinglePrecision: Bool, listedScores: [Double]? = nil, isFound: (Int32) -> Bool
  ) {
    self.tokens = tokens
    self.isModelToken = isModelToken
    self.scores = scores
    self.listedScores = listedScores ?? scores
    self.unknownID = unknownID
    unknownScore = isSinglePrecision ? Double(Float(lowestScore) - 10) : lowestScore - 10
    self.fallbackIDs = fallbackIDs
    self.isSinglePrecision = isSinglePrecision
    var trie = ByteTrie()
    for id in 0..<Int32(tokens.count) where isModelToken[Int(id)] && isFound(id) {
      if let spelling = tokens.spelling(of: id), !spelling.isEmpty { trie.insert(spelling, id) }
    }
    self.trie = trie
  }

  /// The id of unknown text that the model has a token for after all, as Hugging Face's library looks it up.
  func id(of bytes: [UInt8], in range: Range<Int>) -> Int32? {
    guard !isSinglePrecision, let id = tokens.id(of: bytes, in: range), isModelToken[Int(id)] else { return nil }
    return id
  }
}

/// Finds the best tokens of pieces of text; the working arrays are kept from piece to piece.
struct UnigramEncoder {
  private let model: UnigramModel
  private let blocked: Set<Int32>

  private var scores: [Double] = []
  private var starts: [Int32] = []
  private var ids: [Int32] = []
  private var path: [(id: Int32, start: Int, end: Int)] = []

  init(model: UnigramModel, blocking blocked: Set<Int32>) {
    self.model = model
    self.blocked = blocked
  }

  /// Appends the ids of `text[range]` to `output`.
  ///
  /// - Complexity: O(bytes × longest token).
  mutating func encode(_ text: [UInt8], _ range: Range<Int>, into output: inout [Int32]) {
    let (base, size) = (range.lowerBound, range.count)
    if scores.count <= size {
      scores = Array(repeating: 0, count: size + 1)
      starts = Array(repeating: -1, count: size + 1)
      ids = Array(repeating: 0, count: size + 1)
    }
    for index in 0...size { starts[index] = -1 }
    scores[0] = 0
    search(text, base, size)
    path.removeAll(keepingCapacity: true)
    var end = size
    while end > 0 {
      let start = Int(starts[end])
      // Neighbouring unknown stretches are one.
      if ids[end] == model.unknownID, let last = path.last, last.id == model.unknownID {
        path[path.count - 1].start = start
      } else {
        path.append((ids[end], start, end))
      }
      end = start
    }
    for part in path.reversed() {
      if part.id == model.unknownID {
        writeUnknown(text, base + part.start..<base + part.end, into: &output)
      } else {
        output.append(part.id)
      }
    }
  }

  /// Viterbi: the best score of every prefix, and the token that ends it. Of equal scores the first found stays.
  private mutating func search(_ text: [UInt8], _ base: Int, _ size: Int) {
    let isSingle = model.isSinglePrecision
    var start = 0
    while start < size {
      let byte = text[base + start]
      let length = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4
      let before = scores[start]
      var isScalarKnown = false
      var node: UInt32 = 0
      var end = start
      while end < size, let child = model.trie.child(of: node, text[base + end]) {
        node = child
        end += 1
        let id = model.trie.tokens[Int(node)]
        if id < 0 || (!blocked.isEmpty && blocked.contains(id)) { continue }
        if end == start + length { isScalarKnown = true }
        let score = model.scores[Int(id)] + before
        offer(isSingle ? Double(Float(score)) : score, id, start, end)
      }
      if !isScalarKnown {
        let score = model.unknownScore + before
        offer(isSingle ? Double(Float(score)) : score, model.unknownID, start, start + length)
      }
      start += length
    }
  }

  private mutating func offer(_ score: Double, _ id: Int32, _ start: Int, _ end: Int) {
    guard starts[end] < 0 || score > scores[end] else { return }
    scores[end] = score
    starts[end] = Int32(start)
    ids[end] = id
  }

  private func writeUnknown(_ text: [UInt8], _ range: Range<Int>, into output: inout [Int32]) {
    if let id = model.id(of: text, in: range), !blocked.contains(id) {
      output.append(id)
    } else if let fallback = model.fallbackIDs, range.allSatisfy({ fallback[Int(text[$0])] != nil }) {
      for index in range { output.append(fallback[Int(text[index])] ?? model.unknownID) }
    } else {
      output.append(model.unknownID)
    }
  }
}
