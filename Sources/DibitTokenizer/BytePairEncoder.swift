/// Encodes pieces of text into ids; the working arrays are kept from piece to piece.
struct BytePairEncoder {
  private let model: BytePairModel
  /// Ids that merging must not produce.
  private let blocked: Set<Int32>

  // A doubly linked list over the symbols of the piece; a merged-away symbol has the id `dead`.
  private var symbols: [Int32] = []
  private var next: [Int32] = []
  private var previous: [Int32] = []
  /// The start of each symbol in the text, for ``ScoredSymbols``.
  private var origins: [Int] = []
  private var queue = MinimumQueue()
  private var pendingUnknown: Int32?
  private static let dead: Int32 = -1
  /// A scalar that is no symbol.
  private static let unknownScalar: Int32 = -2

  init(model: BytePairModel, blocking blocked: Set<Int32>) {
    self.model = model
    self.blocked = blocked
  }

  /// Appends the ids of `text[range]` to `output`.
  mutating func encode(_ text: [UInt8], _ range: Range<Int>, into output: inout [Int32]) {
    if let scored = model.scored { return encode(text, range, scored, into: &output) }
    if model.ignoresMerges, let id = wholeToken(text, range), !blocked.contains(id) { return output.append(id) }
    symbols.removeAll(keepingCapacity: true)
    if model.isByteLevel {
      for byte in text[range] {
        if let id = model.id(ofByte: byte) { add(id) } else { addUnknown(ByteAlphabet.spellings[Int(byte)][...]) }
      }
    } else {
      var index = range.lowerBound
      while index < range.upperBound {
        let end = text[index] < 0x80 ? index + 1 : ScalarScanner.scalar(in: text, at: index).next
        if let id = model.id(of: text, in: index..<end), blocked.isEmpty || !blocked.contains(id) {
          add(id)
        } else {
          addUnknown(text[index..<end])
        }
        index = end
      }
    }
    flushUnknown()
    merge(into: &output)
  }

  private func wholeToken(_ text: [UInt8], _ range: Range<Int>) -> Int32? {
    guard model.isByteLevel else { return model.id(of: text, in: range) }
    let spelling = ByteAlphabet.spelling(of: text[range])
    return model.id(of: spelling, in: 0..<spelling.count)
  }

  private mutating func add(_ id: Int32) {
    flushUnknown()
    symbols.append(id)
  }

  /// A symbol outside the vocabulary: its bytes if the model has them all, else the unknown token, else nothing.
  private mutating func addUnknown(_ bytes: ArraySlice<UInt8>) {
    if let fallback = model.fallbackIDs, bytes.allSatisfy({ fallback[Int($0)] != nil }) {
      // An unknown token that waits is not written first: Hugging Face leaves it for after the bytes.
      for byte in bytes { symbols.append(fallback[Int(byte)] ?? 0) }
      return
    }
    guard let unknown = model.unknownID else { return }
    if pendingUnknown != nil, !model.fusesUnknown { flushUnknown() }
    pendingUnknown = unknown
  }

  private mutating func flushUnknown() {
    guard let unknown = pendingUnknown else { return }
    symbols.append(unknown)
    pendingUnknown = nil
  }

  /// Encodes as SentencePiece does: scalars outside the vocabulary take part in merging, and what is left of them becomes bytes or
  /// the unknown token in the end.
  private mutating func encode(_ text: [UInt8], _ range: Range<Int>, _ scored: ScoredSymbols, into output: inout [Int32]) {
    if let id = scored.whole.id(of: text, in: range) { return output.append(id) }
    symbols.removeAll(keepingCapacity: true)
    origins.removeAll(keepingCapacity: true)
    var index = range.lowerBound
    while index < range.upperBound {
      let end = text[index] < 0x80 ? index + 1 : ScalarScanner.scalar(in: text, at: index).next
      symbols.append(scored.table.id(of: text, in: index..<end) ?? Self.unknownScalar)
      origins.append(index)
      index = end
    }
    merge()
    var followsUnknown = false
    index = 0
    while index >= 0 {
      let symbol = symbols[index]
      if symbol >= 0, symbol < scored.tokenCount {
        output.append(symbol)
        followsUnknown = false
      } else {
        let start = origins[index]
        let end = ScalarScanner.scalar(in: text, at: start).next
        if let id = model.id(of: text, in: start..<end), !blocked.contains(id), id != model.unknownID {
          output.append(id)
          followsUnknown = false
        } else if let fallback = model.fallbackIDs {
          for offset in start..<end { if let id = fallback[Int(text[offset])] ?? model.unknownID { output.append(id) } }
        } else {
          if !followsUnknown, let unknown = model.unknownID { output.append(unknown) }
          followsUnknown = true
        }
      }
      index = Int(next[index])
    }
  }

  /// Merges neighbours and appends what is left.
  private mutating func merge(into output: inout [Int32]) {
    guard symbols.count > 1 else {
      output.append(contentsOf: symbols)
      return
    }
    merge()
    var index = 0
    while index >= 0 {
      output.append(symbols[index])
      index = Int(next[index])
    }
  }

  /// Merges neighbours by rank, leftmost first among equals, in O(n log n).
  private mutating func merge() {
    let count = symbols.count
    next.removeAll(keepingCapacity: true)
    previous.removeAll(keepingCapacity: true)
    for index in 0..<count {
      next.append(index + 1 < count ? Int32(index + 1) : -1)
      previous.append(Int32(index - 1))
    }
    for index in 1..<max(count, 1) { enqueue(index - 1, index) }
    while let entry = queue.popMinimum() {
      let left = Int(entry & 0xFFFF_FFFF)
      guard symbols[left] != Self.dead, next[left] >= 0 else { continue }
      let right = Int(next[left])
      // An entry made for an older pair still counts when the present pair gives the same token, as in Hugging Face's merge loop.
      guard let value = model.merges.value(symbols[left], symbols[right]),
        model.merges.holds(UInt32(truncatingIfNeeded: entry >> 32), for: value)
      else { continue }
      symbols[left] = value.result
      symbols[right] = Self.dead
      next[left] = next[right]
      if next[left] >= 0 { previous[Int(next[left])] = Int32(left) }
      if previous[left] >= 0 { enqueue(Int(previous[left]), left) }
      if next[left] >= 0 { enqueue(left, Int(next[left])) }
    }
  }

  private mutating func enqueue(_ left: Int, _ right: Int) {
    guard let value = model.merges.value(symbols[left], symbols[right]) else { return }
    if !blocked.isEmpty, blocked.contains(value.result) { return }
    queue.insert(UInt64(value.rank) << 32 | UInt64(left))
  }
}

/// A binary heap of numbers, smallest first.
struct MinimumQueue {
  private var heap: [UInt64] = []

  mutating func insert(_ value: UInt64) {
    var index = heap.count
    heap.append(value)
    while index > 0, heap[(index - 1) / 2] > value {
      heap[index] = heap[(index - 1) / 2]
      index = (index - 1) / 2
    }
    heap[index] = value
  }

  mutating func popMinimum() -> UInt64? {
    guard let minimum = heap.first, let value = heap.popLast() else { return nil }
    if heap.isEmpty { return minimum }
    var index = 0
    while true {
      var child = index * 2 + 1
      guard child < heap.count else { break }
      if child + 1 < heap.count, heap[child + 1] < heap[child] { child += 1 }
      guard heap[child] < value else { break }
      heap[index] = heap[child]
      index = child
    }
    heap[index] = value
    return minimum
  }
}
