/// The model that turns pieces of text into ids.
enum TokenModel: Sendable {
  case bytePair(BytePairModel)
  case unigram(UnigramModel)

  var tokens: TokenTable {
    switch self {
    case .bytePair(let model): model.tokens
    case .unigram(let model): model.tokens
    }
  }

  var unknownID: Int32? {
    switch self {
    case .bytePair(let model): model.unknownID
    case .unigram(let model): model.unknownID
    }
  }

  /// True for each id that belongs to the model; the others are added tokens.
  var isModelToken: [Bool] {
    switch self {
    case .bytePair(let model): model.isModelToken
    case .unigram(let model): model.isModelToken
    }
  }
}

/// Encodes the pieces of one text, with the model's encoder and a memory of words.
struct PieceEncoder {
  private(set) var output: [Int32] = []
  private var bytePair: BytePairEncoder?
  private var unigram: UnigramEncoder?
  private var cache = WordCache()

  init(model: TokenModel, blocking blocked: Set<Int32>) {
    switch model {
    case .bytePair(let model): bytePair = BytePairEncoder(model: model, blocking: blocked)
    case .unigram(let model): unigram = UnigramEncoder(model: model, blocking: blocked)
    }
  }

  /// Appends an id that is not the model's work.
  mutating func append(_ id: Int32) { output.append(id) }

  /// Appends the ids of `text[range]`, which is not empty.
  mutating func encode(_ text: [UInt8], _ range: Range<Int>) {
    guard range.count <= WordCache.longestPiece else { return encodeAnew(text, range) }
    let hash = WordCache.hash(text, range)
    if cache.lookUp(text, range, hash: hash, into: &output) { return }
    let start = output.count
    encodeAnew(text, range)
    cache.insert(text, range, hash: hash, output[start...])
  }

  private mutating func encodeAnew(_ text: [UInt8], _ range: Range<Int>) {
    bytePair?.encode(text, range, into: &output)
    unigram?.encode(text, range, into: &output)
  }
}
