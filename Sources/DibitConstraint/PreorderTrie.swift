/// A trie of byte strings in preorder: a walk is one pass over arrays, and a dead branch is skipped by one jump.
///
/// Node 0 is the root. Several values may share one string.
struct PreorderTrie: Sendable {
  /// The byte that leads to each node.
  let bytes: [UInt8]
  /// The length of each node's string.
  let depths: [Int32]
  /// The first node behind each node's branch.
  let ends: [Int32]
  /// The start of each node's values; those of the whole branch stand together, its own first.
  private let starts: [Int32]
  /// The indices, in the list the trie was made of, ordered by their strings.
  let order: [Int32]
  let maximumDepth: Int
  private let roots: [Int32]

  var count: Int { bytes.count }

  /// The indices of the strings that end at the node.
  func values(at node: Int) -> ArraySlice<Int32> { order[Int(starts[node])..<Int(starts[node + 1])] }

  /// The indices of the strings that begin with the node's.
  func branch(at node: Int) -> ArraySlice<Int32> { order[Int(starts[node])..<Int(starts[Int(ends[node])])] }

  /// The child of a node under `byte`, or nil.
  func child(of node: Int, _ byte: UInt8) -> Int? {
    if node == 0 { return roots[Int(byte)] < 0 ? nil : Int(roots[Int(byte)]) }
    var index = node + 1
    let end = Int(ends[node])
    while index < end {
      if bytes[index] == byte { return index }
      index = Int(ends[index])
    }
    return nil
  }

  /// The node of a string, or nil.
  func node(of string: some Sequence<UInt8>) -> Int? {
    var node = 0
    for byte in string {
      guard let next = child(of: node, byte) else { return nil }
      node = next
    }
    return node
  }

  /// A trie of the strings at these indices.
  init(_ strings: [ArraySlice<UInt8>], indices: [Int32]) {
    let order = indices.sorted { left, right in
      let (a, b) = (strings[Int(left)], strings[Int(right)])
      let shared = min(a.count, b.count)
      for offset in 0..<shared {
        let (x, y) = (a[a.startIndex + offset], b[b.startIndex + offset])
        if x != y { return x < y }
      }
      return a.count != b.count ? a.count < b.count : left < right
    }
    var (bytes, depths, starts): ([UInt8], [Int32], [Int32]) = ([0], [0], [0])
    var ends: [Int32] = [0]
    var path: [Int32] = [0]
    var previous: ArraySlice<UInt8> = []
    var deepest = 0
    for (position, index) in order.enumerated() {
      let string = strings[Int(index)]
      var shared = 0
      while shared < min(string.count, previous.count), string[string.startIndex + shared] == previous[previous.startIndex + shared] {
        shared += 1
      }
      while path.count > shared + 1 { ends[Int(path.removeLast())] = Int32(bytes.count) }
      for offset in shared..<string.count {
        path.append(Int32(bytes.count))
        bytes.append(string[string.startIndex + offset])
        depths.append(Int32(offset + 1))
        starts.append(Int32(position))
        ends.append(0)
      }
      deepest = max(deepest, string.count)
      previous = string
    }
    while let node = path.popLast() { ends[Int(node)] = Int32(bytes.count) }
    starts.append(Int32(order.count))
    var roots = [Int32](repeating: -1, count: 256)
    var index = 1
    while index < bytes.count {
      roots[Int(bytes[index])] = Int32(index)
      index = Int(ends[index])
    }
    (self.bytes, self.depths, self.ends, self.starts, self.order) = (bytes, depths, ends, starts, order)
    (maximumDepth, self.roots) = (deepest, roots)
  }
}
