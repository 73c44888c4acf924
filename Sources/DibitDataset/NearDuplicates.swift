/// Texts that say nearly the same: found by MinHash over runs of three words (Broder, "On the resemblance and containment of documents",
/// 1997) and compared in full before they count.
///
/// Each of ``bands`` sketches brings a text together with at most one other, so that the time is at most proportional to the bytes of
/// all texts. Of pairs of longer texts that share 80 % of their runs 98 % are found.
package struct NearDuplicates: Equatable, Sendable {
  /// The texts of each group, as indices into what was searched; at least two, in ascending order. Groups are ordered by their first.
  package let groups: [[Int]]

  /// The share of runs that two texts must have in common.
  package static let threshold = 0.8
  private static let bands = MinHash.count / rows
  private static let rows = 4

  /// The number of texts that lie in a group.
  package var count: Int { groups.reduce(0) { $0 + $1.count } }

  /// Searches `count` texts; `text` gives the text at an index, or nil for one that is to be left out.
  package init(count: Int, text: (Int) -> String?) {
    var keys = Self.keys(count, text)
    var parents = Array(0..<count)
    func root(_ index: Int) -> Int {
      var index = index
      while parents[index] != index {
        parents[index] = parents[parents[index]]
        index = parents[index]
      }
      return index
    }
    var size = 16
    while size < 2 * count { size *= 2 }
    var table = [Int32](repeating: -1, count: size)
    for band in 0..<Self.bands {
      for slot in table.indices { table[slot] = -1 }
      for index in 0..<count {
        let key = keys[index * Self.bands + band]
        guard key != 0 else { continue }
        var slot = Int(truncatingIfNeeded: key >> 32) & (size - 1)
        while table[slot] >= 0, keys[Int(table[slot]) * Self.bands + band] != key { slot = (slot + 1) & (size - 1) }
        guard table[slot] >= 0 else {
          table[slot] = Int32(truncatingIfNeeded: index)
          continue
        }
        let (other, mine) = (root(Int(table[slot])), root(index))
        guard other != mine, let left = text(Int(table[slot])), let right = text(index) else { continue }
        if WordShingles.similarity(left, right) >= Self.threshold { parents[max(other, mine)] = min(other, mine) }
      }
    }
    keys = []
    var members: [Int: [Int]] = [:]
    for index in 0..<count where root(index) != index { members[root(index), default: []].append(index) }
    groups = members.map { [$0.key] + $0.value }.sorted { $0[0] < $1[0] }
  }

  /// For each text and band a hash of four minima; 0 for a text without words.
  private static func keys(_ count: Int, _ text: (Int) -> String?) -> [UInt64] {
    var keys = [UInt64](repeating: 0, count: count * bands)
    var hash = MinHash()
    for index in 0..<count {
      guard let text = text(index), hash.read(text) else { continue }
      for band in 0..<bands {
        var key: UInt64 = 0xCBF2_9CE4_8422_2325
        for row in 0..<rows { key = (key ^ hash[band * rows + row]) &* 0x9E37_79B9_7F4A_7C15 }
        keys[index * bands + band] = key == 0 ? 1 : key
      }
    }
    return keys
  }
}
