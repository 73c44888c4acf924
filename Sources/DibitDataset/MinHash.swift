/// The smallest hashes of a text's runs of three words: of two texts about as many minima agree as the texts have runs in common.
///
/// One hash of a run gives both the index of a minimum and its value; minima that no run reaches are copied from others (Shrivastava,
/// "Optimal densification for fast and accurate minwise hashing", 2017).
struct MinHash {
  /// The number of minima.
  static let count = 32
  private var minima = [UInt64](repeating: .max, count: count)

  /// Takes the minima of `text`; false when it has no words.
  mutating func read(_ text: String) -> Bool {
    for index in minima.indices { minima[index] = .max }
    var isEmpty = true
    WordShingles.forEach(in: text) { hash in
      let index = Int(truncatingIfNeeded: hash >> 59)
      let value = hash & (1 << 59 - 1)
      isEmpty = false
      if value < minima[index] { minima[index] = value }
    }
    return !isEmpty
  }

  /// The minimum at an index, or at the first of other indices, in an order of its own, that a run has reached.
  subscript(_ index: Int) -> UInt64 {
    var index = index
    var state = UInt64(index) &+ 1
    while minima[index] == .max {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      index = Int(truncatingIfNeeded: state >> 59)
    }
    return minima[index]
  }
}
