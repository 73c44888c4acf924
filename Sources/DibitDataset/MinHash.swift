/// The smallest hashes of a text's runs of three words: of two texts about as many places agree as the texts have runs in common.
///
/// One hash of a run gives both the place of a minimum and its value; minima that no run reaches are copied from others (Shrivastava,
/// "Optimal densification for fast and accurate minwise hashing", 2017).
struct MinHash {
  /// The number of minima.
  static let places = 32
  private var minima = [UInt64](repeating: .max, count: places)

  /// Takes the minima of `text`; false when it has no words.
  mutating func read(_ text: String) -> Bool {
    for place in minima.indices { minima[place] = .max }
    var isEmpty = true
    WordShingles.forEach(in: text) { hash in
      let place = Int(truncatingIfNeeded: hash >> 59)
      let value = hash & (1 << 59 - 1)
      isEmpty = false
      if value < minima[place] { minima[place] = value }
    }
    return !isEmpty
  }

  /// The minimum at a place, or at the first of other places, in an order of its own, that a run has reached.
  subscript(_ place: Int) -> UInt64 {
    var place = place
    var state = UInt64(place) &+ 1
    while minima[place] == .max {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      place = Int(truncatingIfNeeded: state >> 59)
    }
    return minima[place]
  }
}
