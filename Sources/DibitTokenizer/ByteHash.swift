/// Hashes 64-bit words and short spellings: each word is mixed in by a product whose halves are folded.
///
/// The key differs from process to process, so that nobody can write a vocabulary whose spellings collide.
struct ByteHash: Sendable {
  private let key: UInt64
  private let factor: UInt64

  init() {
    func random(_ number: Int) -> UInt64 {
      var hasher = Hasher()
      hasher.combine(number)
      return UInt64(bitPattern: Int64(hasher.finalize()))
    }
    (key, factor) = (random(0), random(1) | 1)
  }

  func callAsFunction(_ word: UInt64) -> UInt64 {
    let product = (key ^ word).multipliedFullWidth(by: factor)
    return product.high ^ product.low
  }

  /// A word for a spelling, by which those of equal length can be told apart if they have at most eight bytes: it is their bytes.
  func word(_ bytes: [UInt8], _ range: Range<Int>) -> UInt64 {
    var (hash, word) = (UInt64(0), UInt64(0))
    for (number, index) in range.enumerated() {
      if number > 0, number & 7 == 0 { (hash, word) = (self(hash ^ word), 0) }
      word = word << 8 | UInt64(bytes[index])
    }
    return hash ^ word
  }
}
