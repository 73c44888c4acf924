/// Encodes pieces of text into ids; the working arrays are kept from piece to piece.
struct BytePairEncoder {
  private let model: BytePairModel
  /// Ids that merging must not produce.
  private let blocked: Set<Int32>

  // A doubly linked list over the symbols of the piece; a merged-away symbol has the id `dead`.
  private var symbols: [Int32] = []
  private var next: [Int32] = []
  private var previous: [Int32] = []
  private var queue = MinimumQueue()
  private var pendingUnknown: Int32?
  private static let dead: Int32 = -1

  init(model: BytePairModel, blocking blocked: Set<Int32>) {
    self.model = model
    self.blocked = blocked
  }

  /// Appends the ids of `text[range]` to `output`.
  mutating func encode(_ text: [UInt8], _ range: Range<Int>, into output: inout [Int32]) {
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

  /// Merges neighbours by rank, leftmost first among equals, in O(n log n), and appends the result.
  private mutating func merge(into output: inout [Int32]) {
    let count = symbols.count
    guard count > 1 else {
      output.append(contentsOf: symbols)
      return
    }
    next.removeAll(keepingCapacity: true)
    previous.removeAll(keepingCapacity: true)
    for index in 0..<count {
      next.append(index + 1 < count ? Int32(index + 1) : -1)
      previous.append(Int32(index - 1))
    }
    for index in 0..<count - 1 { enqueue(index, index + 1) }
    while let entry = queue.popMinimum() {
      let left = Int(entry & 0xFFFF_FFFF)
      let result = model.merges.merges[Int(entry >> 32)].result
      guard symbols[left] != Self.dead, next[left] >= 0 else { continue }
      let right = Int(next[left])
      // An entry made for an older pair still counts when the present pair gives the same token, as in Hugging Face's merge loop.
      guard let rank = model.merges.rank(symbols[left], symbols[right]), model.merges.merges[rank].result == result else { continue }
      symbols[left] = result
      symbols[right] = Self.dead
      next[left] = next[right]
      if next[left] >= 0 { previous[Int(next[left])] = Int32(left) }
      if previous[left] >= 0 { enqueue(Int(previous[left]), left) }
      if next[left] >= 0 { enqueue(left, Int(next[left])) }
    }
    var index = 0
    while index >= 0 {
      output.append(symbols[index])
      index = Int(next[index])
    }
  }

  private mutating func enqueue(_ left: Int, _ right: Int) {
    guard let rank = model.merges.rank(symbols[left], symbols[right]) else { return }
    if !blocked.isEmpty, blocked.contains(model.merges.merges[rank].result) { return }
    queue.insert(UInt64(rank) << 32 | UInt64(left))
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
