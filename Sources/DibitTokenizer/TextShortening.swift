/// The part that a text loses where it is too long for a prompt.
package enum TextShortening: String, CaseIterable, Sendable {
  /// Its end.
  case tail
  /// Its beginning.
  case head
  /// The middle: one half of what is kept comes from each end, the odd token from the beginning.
  case middle

  /// Returns the `count` tokens that are kept of a text.
  package func kept(_ count: Int, of tokens: ArraySlice<Int32>) -> [Int32] {
    let count = max(0, count)
    guard count < tokens.count else { return Array(tokens) }
    switch self {
    case .tail: return Array(tokens.prefix(count))
    case .head: return Array(tokens.suffix(count))
    case .middle: return Array(tokens.prefix((count + 1) / 2) + tokens.suffix(count / 2))
    }
  }
}
