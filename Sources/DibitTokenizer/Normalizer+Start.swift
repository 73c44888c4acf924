// Hugging Face's library keeps, for every scalar of a normalised text, where it comes from, and takes a piece for the first of its text
// when it comes from the very start. Here only the number of leading scalars that do is kept.

extension Normalizer {
  /// Returns the number of leading scalars of a step's result that come from the start of the original, when `leading` of its text did.
  static func leading(after step: Step, of text: [UInt8], _ leading: Int) -> Int {
    if leading == 0 { return 0 }
    switch step {
    case .prepend(let prefix): return text.isEmpty ? 0 : leading + scalarCount(prefix[...])
    case .replace(let pattern, let content):
      return replaced(text, leading, scalarCount(content[...])) { text.holds(pattern, at: $0) ? $0 + pattern.count : nil }
    case .replaceMatches(let program, let content):
      let scanner = ScalarScanner(bytes: text, end: text.count)
      return replaced(text, leading, scalarCount(content[...])) { program.matchEnd(in: scanner, at: $0) }
    case .strip(let left, _):
      guard left else { return leading }
      let end = ScalarScanner(bytes: text, end: text.count).run(from: 0) { $0.isSpace }
      return max(0, leading - scalarCount(text[..<end]))
    case .precompiled(let map): return map.leading(text, leading)
    case .nmt, .stripAccents, .lowercase:
      // Scalar by scalar: what becomes of the first ones.
      let first = Array(text[..<offset(of: leading, in: text)])
      return scalarCount(Normalizer(steps: [step]).apply(first).text[...])
    case .form, .sentencePiece: return leading
    }
  }

  /// A replacement comes from where the last scalar of what it replaces does.
  private static func replaced(_ text: [UInt8], _ leading: Int, _ contentCount: Int, _ end: (Int) -> Int?) -> Int {
    var (index, position, count) = (0, 0, 0)
    while index < text.count, position < leading {
      if let end = end(index) {
        position += scalarCount(text[index..<end])
        if position > leading, contentCount > 0 { return count }
        count += contentCount
        index = end
      } else {
        index = ScalarScanner.scalar(in: text, at: index).next
        position += 1
        count += 1
      }
    }
    return count
  }

  static func scalarCount(_ text: ArraySlice<UInt8>) -> Int { text.reduce(0) { $0 + ($1 & 0xC0 == 0x80 ? 0 : 1) } }

  private static func offset(of scalar: Int, in text: [UInt8]) -> Int {
    var index = 0
    for _ in 0..<scalar where index < text.count { index = ScalarScanner.scalar(in: text, at: index).next }
    return index
  }
}

extension CharacterMap {
  /// Returns the number of leading scalars of the result that come from the start, when `leading` of the text's do: every scalar of the
  /// result takes the place of one before, except those that a longer replacement adds; a shorter one makes the scalar before take more.
  func leading(_ text: [UInt8], _ leading: Int) -> Int {
    var changes: [Int] = []
    var taken = 0
    var end = 0
    forEachPart(text) { part, replacement in
      if taken > leading { return false }
      let old = Normalizer.scalarCount(text[part])
      let new = replacement.map { Normalizer.scalarCount(bytes(of: $0)) } ?? old
      changes += [Int](repeating: 0, count: new)
      if new > old { for index in changes.count - (new - old)..<changes.count { changes[index] = 1 } }
      if new < old, let last = changes.popLast() { changes.append(last + new - old) }
      // The last change may still be altered by what follows, so it does not count yet.
      taken = changes.dropLast().reduce(0) { $0 + ($1 > 0 ? 0 : 1 - $1) }
      return true
    }
    taken = 0
    while end < changes.count {
      guard changes[end] > 0 ? taken <= leading : taken < leading else { break }
      if changes[end] <= 0 { taken += 1 - changes[end] }
      end += 1
    }
    return end
  }
}
