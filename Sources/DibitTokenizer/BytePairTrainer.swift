internal import DibitJSON

extension Tokenizer {
  /// Trains a byte-level tokenizer with the GPT-2 pattern on `texts`.
  ///
  /// The special tokens get the first ids, the 256 bytes follow in order, then one token per merge. The pair that occurs most
  /// often is merged next; of equally frequent pairs the one with the lower ids. The result depends on nothing but the arguments.
  ///
  /// - Parameters:
  ///   - texts: The text to learn from; special tokens that are spelled out in it are text like any other.
  ///   - vocabularySize: The number of tokens; fewer come out when no pair is left to merge.
  ///   - specialTokens: Distinct texts that are not spelled like a byte token.
  package static func training(
    on texts: some Sequence<String>, vocabularySize: Int, specialTokens: [String]
  ) throws(TokenizerError) -> Tokenizer {
    guard vocabularySize >= specialTokens.count + 256 else {
      throw .vocabularyTooSmall(size: vocabularySize, minimum: specialTokens.count + 256)
    }
    guard vocabularySize <= idLimit else { throw .idOutOfRange(token: "the last token", id: vocabularySize - 1, limit: idLimit) }
    var trainer = BytePairTrainer(specialTokens: specialTokens.map { Array($0.utf8) })
    var seen = Set(ByteAlphabet.spellings)
    for token in specialTokens {
      guard !token.isEmpty, seen.insert(Array(token.utf8)).inserted else { throw .invalidSpecialToken(token) }
    }
    for text in texts { trainer.count(text) }
    trainer.train(vocabularySize: vocabularySize)
    return try Tokenizer(parsing: trainer.file)
  }
}

/// Learns merges from counted words. Every pair knows the words it may occur in, so a merge touches only those.
struct BytePairTrainer {
  /// Token spellings in ``ByteAlphabet`` by id.
  private(set) var tokens: [[UInt8]]
  private(set) var merges: [(left: Int32, right: Int32)] = []
  private let specialCount: Int
  private var ids: [[UInt8]: Int32] = [:]

  private var wordIndex: [[UInt8]: Int] = [:]
  private var words: [[Int32]] = []
  private var wordCounts: [Int] = []
  private var pairCounts: [UInt64: Int] = [:]
  private var pairWords: [UInt64: [Int32]] = [:]
  private var queue = PairQueue()

  init(specialTokens: [[UInt8]]) {
    specialCount = specialTokens.count
    tokens = specialTokens + ByteAlphabet.spellings
    for (id, token) in tokens.enumerated() { ids[token] = Int32(id) }
  }

  /// Adds the words of a text.
  mutating func count(_ text: String) {
    let bytes = Array(text.utf8)
    let scanner = ScalarScanner(bytes: bytes, end: bytes.count)
    var start = 0
    while start < bytes.count {
      let end = SplitPattern.gpt2.matchEnd(in: scanner, at: start)
      let word = Array(bytes[start..<end])
      if let index = wordIndex[word] {
        wordCounts[index] += 1
      } else {
        wordIndex[word] = words.count
        words.append(word.map { Int32($0) + Int32(specialCount) })
        wordCounts.append(1)
      }
      start = end
    }
  }

  mutating func train(vocabularySize: Int) {
    for (index, word) in words.enumerated() where word.count > 1 {
      for position in 1..<word.count {
        let pair = Self.pair(word[position - 1], word[position])
        pairCounts[pair, default: 0] += wordCounts[index]
        if pairWords[pair]?.last != Int32(index) { pairWords[pair, default: []].append(Int32(index)) }
      }
    }
    for (pair, count) in pairCounts { queue.insert(PairQueue.Entry(count: count, pair: pair)) }
    while tokens.count < vocabularySize, let entry = queue.popBest() {
      let count = pairCounts[entry.pair] ?? 0
      guard count > 0 else { continue }
      if count == entry.count { merge(entry.pair) } else { queue.insert(PairQueue.Entry(count: count, pair: entry.pair)) }
    }
  }

  private mutating func merge(_ pair: UInt64) {
    let (left, right) = (Int32(pair >> 32), Int32(pair & 0xFFFF_FFFF))
    let spelling = tokens[Int(left)] + tokens[Int(right)]
    let result: Int32
    if let known = ids[spelling] {
      // Text that is spelled like a special token must not become one.
      guard known >= specialCount else {
        pairCounts[pair] = nil
        return
      }
      result = known
    } else {
      result = Int32(tokens.count)
      ids[spelling] = result
      tokens.append(spelling)
    }
    merges.append((left, right))
    var changed: [UInt64] = []
    for word in pairWords.removeValue(forKey: pair) ?? [] {
      replace(left, right, by: result, inWord: Int(word), changed: &changed)
    }
    pairCounts[pair] = nil
    for grown in Set(changed) {
      if let count = pairCounts[grown], count > 0 { queue.insert(PairQueue.Entry(count: count, pair: grown)) }
    }
  }

  /// Merges the pair wherever it occurs in a word, and updates the counts of the pairs around it.
  private mutating func replace(_ left: Int32, _ right: Int32, by result: Int32, inWord index: Int, changed: inout [UInt64]) {
    let word = words[index]
    let count = wordCounts[index]
    var merged: [Int32] = []
    merged.reserveCapacity(word.count)
    var position = 0
    while position < word.count {
      if position + 1 < word.count, word[position] == left, word[position + 1] == right {
        merged.append(result)
        position += 2
      } else {
        merged.append(word[position])
        position += 1
      }
    }
    guard merged.count < word.count else { return }
    for position in 1..<word.count { pairCounts[Self.pair(word[position - 1], word[position]), default: 0] -= count }
    words[index] = merged
    guard merged.count > 1 else { return }
    for position in 1..<merged.count {
      let pair = Self.pair(merged[position - 1], merged[position])
      pairCounts[pair, default: 0] += count
      guard merged[position - 1] == result || merged[position] == result else { continue }
      if pairWords[pair]?.last != Int32(index) { pairWords[pair, default: []].append(Int32(index)) }
      changed.append(pair)
    }
  }

  private static func pair(_ left: Int32, _ right: Int32) -> UInt64 {
    UInt64(UInt32(bitPattern: left)) << 32 | UInt64(UInt32(bitPattern: right))
  }

  /// The tokenizer file of what was learnt.
  var file: JSONValue {
    let spellings = tokens.map { String(decoding: $0, as: UTF8.self) }
    let byteLevel: JSONValue = ["type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": true]
    return [
      "version": "1.0",
      "truncation": .null,
      "padding": .null,
      "added_tokens": .array(
        spellings.prefix(specialCount).enumerated().map { id, token in
          [
            "id": .integer(id), "content": .string(token), "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
            "special": true,
          ]
        }),
      "normalizer": .null,
      "pre_tokenizer": byteLevel,
      "post_processor": byteLevel,
      "decoder": byteLevel,
      "model": [
        "type": "BPE", "dropout": .null, "unk_token": .null, "continuing_subword_prefix": .null, "end_of_word_suffix": .null,
        "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
        "vocab": .object(JSONObject(spellings.enumerated().map { ($1, .integer($0)) })),
        "merges": .array(merges.map { [.string(spellings[Int($0.left)]), .string(spellings[Int($0.right)])] }),
      ],
    ]
  }
}

/// A binary heap of pairs: the highest count first, then the lowest pair.
struct PairQueue {
  struct Entry {
    let count: Int
    let pair: UInt64

    func precedes(_ other: Entry) -> Bool { count == other.count ? pair < other.pair : count > other.count }
  }

  private var heap: [Entry] = []

  mutating func insert(_ entry: Entry) {
    var index = heap.count
    heap.append(entry)
    while index > 0, entry.precedes(heap[(index - 1) / 2]) {
      heap[index] = heap[(index - 1) / 2]
      index = (index - 1) / 2
    }
    heap[index] = entry
  }

  mutating func popBest() -> Entry? {
    guard let best = heap.first, let entry = heap.popLast() else { return nil }
    if heap.isEmpty { return best }
    var index = 0
    while true {
      var child = index * 2 + 1
      guard child < heap.count else { break }
      if child + 1 < heap.count, heap[child + 1].precedes(heap[child]) { child += 1 }
      guard heap[child].precedes(entry) else { break }
      heap[index] = heap[child]
      index = child
    }
    heap[index] = entry
    return best
  }
}
