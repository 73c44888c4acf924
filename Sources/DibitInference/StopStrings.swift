/// Looks for stop strings in a text that arrives in pieces, and holds back what may be the beginning of one.
///
/// The result does not depend on how the text is cut: the text ends before the stop string that is complete first; of several that are
/// complete at the same byte, before the longest. Bytes are compared, so that spellings of the same character differ. Cuts lie between
/// scalars because stop strings begin and end there.
struct StopStrings: Sendable {
  /// One string and how far the text matches it (Knuth, Morris and Pratt, 1977).
  private struct Matcher: Sendable {
    let text: String
    let bytes: [UInt8]
    let fallback: [Int]  // for each number of matched bytes, the next shorter one that the same text matches
    var matched = 0

    init(_ text: String) {
      self.text = text
      bytes = Array(text.utf8)
      var fallback = [0, 0]
      for index in bytes.indices.dropFirst() {
        var length = fallback[index]
        while length > 0, bytes[length] != bytes[index] { length = fallback[length] }
        fallback.append(bytes[length] == bytes[index] ? length + 1 : 0)
      }
      self.fallback = fallback
    }

    /// Takes in a byte and returns whether the string is complete with it.
    mutating func advance(_ byte: UInt8) -> Bool {
      while matched > 0, bytes[matched] != byte { matched = fallback[matched] }
      if bytes[matched] == byte { matched += 1 }
      return matched == bytes.count
    }
  }

  private var matchers: [Matcher]
  private var held: [UInt8] = []
  /// The stop string that was found.
  private(set) var found: String?

  /// Stops at any of `strings`; an empty one never stops.
  init(_ strings: [String]) { matchers = strings.filter { !$0.isEmpty }.map { Matcher($0) } }

  /// The text that is certain after this piece; after a stop string was found, nothing.
  mutating func append(_ piece: String) -> String {
    guard found == nil else { return "" }
    guard !matchers.isEmpty else { return piece }
    for byte in piece.utf8 {
      held.append(byte)
      var complete: Int?
      for index in matchers.indices where matchers[index].advance(byte) {
        if complete.map({ matchers[index].bytes.count > matchers[$0].bytes.count }) ?? true { complete = index }
      }
      if let complete {
        found = matchers[complete].text
        held.removeLast(matchers[complete].bytes.count)
        return flush()
      }
    }
    let longest = matchers.reduce(0) { max($0, $1.matched) }
    let certain = String(decoding: held.dropLast(longest), as: UTF8.self)
    held.removeFirst(held.count - longest)
    return certain
  }

  /// Returns what was held back, at the end of the text.
  mutating func flush() -> String {
    let rest = String(decoding: held, as: UTF8.self)
    held.removeAll()
    return rest
  }
}
