/// A logit and its token in one integer: a larger rank is a larger logit, or among equal logits a lower id.
///
/// Ranks of different tokens differ, so selections have no ties, and comparing them is one instruction.
struct LogitRank: Comparable, Sendable {
  var bits: UInt64

  /// The rank of a token; the logit must be a number.
  @inline(__always)
  init(_ logit: Float, _ id: Int) {
    bits = UInt64(UInt32(bitPattern: LogitKey.of(logit)) ^ 0x8000_0000) << 32 | UInt64(~UInt32(truncatingIfNeeded: id))
  }

  /// The token.
  @inline(__always) var id: Int { Int(~UInt32(truncatingIfNeeded: bits)) }

  /// Its logit.
  @inline(__always) var logit: Float { LogitKey.logit(Int32(bitPattern: UInt32(truncatingIfNeeded: bits >> 32) ^ 0x8000_0000)) }

  @inline(__always)
  static func < (left: LogitRank, right: LogitRank) -> Bool { left.bits < right.bits }
}

/// Floats as integers of the same order. Unlike floats, integers have a largest element that a compiler may look for in any order: the
/// loops over them become vector instructions.
enum LogitKey {
  /// The key of +∞; keys above it, and magnitudes above it, are no numbers.
  static let infinity: Int32 = 0x7F80_0000

  @inline(__always)
  static func of(_ logit: Float) -> Int32 {
    // Adding zero makes -0 and 0, which are equal, the same bits.
    let bits = Int32(bitPattern: (logit + 0).bitPattern)
    return bits ^ ((bits &>> 31) & 0x7FFF_FFFF)
  }

  @inline(__always)
  static func logit(_ key: Int32) -> Float { Float(bitPattern: UInt32(bitPattern: key ^ ((key &>> 31) & 0x7FFF_FFFF))) }
}

/// The result of one pass over a row of logits: the largest logit of every block, so that later passes skip most blocks.
struct BlockMaxima: Sendable {
  /// Logits of a block.
  static let size = 256

  /// The key of the largest logit of each block.
  private(set) var keys: [Int32] = []
  /// The key of the largest of all.
  private(set) var largest = Int32.min
  /// True when all logits are numbers and none is +∞.
  private(set) var isFinite = true

  /// Looks at every logit once.
  mutating func scan(_ logits: Span<Float>) {
    keys.removeAll(keepingCapacity: true)
    var magnitude: Int32 = 0
    largest = .min
    for first in stride(from: 0, to: logits.count, by: Self.size) {
      let block = logits.extracting(first..<min(first + Self.size, logits.count))
      var (high, size) = (Int32.min, Int32(0))
      for index in block.indices {
        high = max(high, LogitKey.of(block[index]))
        size = max(size, Int32(bitPattern: block[index].bitPattern & 0x7FFF_FFFF))
      }
      keys.append(high)
      largest = max(largest, high)
      magnitude = max(magnitude, size)
    }
    isFinite = magnitude <= LogitKey.infinity && largest < LogitKey.infinity
  }

  /// The first of the largest logits.
  func first(of logits: Span<Float>) -> Int {
    guard let block = keys.firstIndex(of: largest) else { return 0 }
    let range = Self.range(block, of: logits.count)
    for index in range where LogitKey.of(logits[index]) == largest { return index }
    return range.lowerBound
  }

  /// A key that at least `count` logits reach and few others: the `count`-th largest of the blocks' maxima. `Int32.min` where there are
  /// fewer blocks.
  func bound(forLargest count: Int, scratch: inout [LogitRank]) -> Int32 {
    guard count <= keys.count else { return .min }
    scratch.removeAll(keepingCapacity: true)
    for (block, key) in keys.enumerated() { scratch.append(LogitRank(LogitKey.logit(key), block)) }
    return LogitKey.of(scratch.largest(count).logit)
  }

  /// Appends the ranks of all logits whose key is `bound` or more, in the order of their ids.
  func collect(_ logits: Span<Float>, from bound: Int32, into ranks: inout [LogitRank]) {
    for (block, key) in keys.enumerated() where key >= bound {
      for index in Self.range(block, of: logits.count) where LogitKey.of(logits[index]) >= bound {
        ranks.append(LogitRank(logits[index], index))
      }
    }
  }

  /// The ids of a block.
  static func range(_ block: Int, of count: Int) -> Range<Int> { block * size..<min((block + 1) * size, count) }
}

extension [LogitRank] {
  /// The `count`-th largest rank, from 1 on; reorders the array.
  ///
  /// - Complexity: O(n) on average: quickselect with the middle of three as the pivot. Ranks differ, so equal logits do not slow it down.
  mutating func largest(_ count: Int) -> LogitRank {
    var (low, high) = (0, self.count - 1)
    while low < high {
      let split = partition(low, high)
      if count - 1 <= split { high = split } else { low = split + 1 }
    }
    return self[low]
  }

  /// The lowest of the fewest largest ranks whose weights reach `total`, or the lowest of all; reorders the array, which is not empty.
  ///
  /// - Complexity: O(n) on average.
  mutating func lowest(reaching total: Double, _ weight: (LogitRank) -> Double) -> LogitRank {
    var (low, high, needed) = (0, self.count - 1, total)
    while low < high {
      let split = partition(low, high)
      var sum = 0.0
      for index in low...split { sum += weight(self[index]) }
      if sum >= needed {
        high = split
      } else {
        needed -= sum
        low = split + 1
      }
    }
    return self[low]
  }

  /// Hoare's partition of `low...high` in descending order: afterwards no rank up to the returned index is below one behind it.
  private mutating func partition(_ low: Int, _ high: Int) -> Int {
    let (a, b, c) = (self[low], self[low + (high - low) / 2], self[high])
    let pivot = Swift.max(Swift.min(a, b), Swift.min(Swift.max(a, b), c))
    var (left, right) = (low - 1, high + 1)
    while true {
      repeat { left += 1 } while self[left] > pivot
      repeat { right -= 1 } while self[right] < pivot
      if left >= right { return right }
      swapAt(left, right)
    }
  }
}
