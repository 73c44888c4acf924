/// A token that is found in the text before the model sees it.
struct AddedToken: Sendable, Equatable {
  var id: Int32
  var content: [UInt8]
  /// A control token, which decoding can skip and plain text must not produce.
  var isSpecial = false
  /// Takes the white space before it.
  var stripsLeft = false
  /// Takes the white space after it.
  var stripsRight = false
  /// Is found only between scalars that belong to no word.
  var isSingleWord = false
  /// Is found in the normalised text, spelled as the normaliser leaves it.
  var isNormalized = false
}

/// Finds added tokens in a text: leftmost first, longest at each offset.
struct AddedTokenMatcher: Sendable {
  /// A stretch of text: a token, or plain text between tokens.
  struct Segment: Equatable {
    let id: Int32?
    let range: Range<Int>
  }

  private var tokens: [AddedToken] = []
  private var children: [UInt32: Int32] = [:]
  private var ends: [Int32] = [-1]
  private var startsToken = [Bool](repeating: false, count: 256)

  /// Of two tokens with the same text the first is found.
  init(_ tokens: [AddedToken]) {
    for token in tokens where !token.content.isEmpty {
      startsToken[Int(token.content[0])] = true
      var node: Int32 = 0
      for byte in token.content {
        let key = Self.key(node, byte)
        if let child = children[key] {
          node = child
        } else {
          node = Int32(ends.count)
          children[key] = node
          ends.append(-1)
        }
      }
      guard ends[Int(node)] < 0 else { continue }
      ends[Int(node)] = Int32(self.tokens.count)
      self.tokens.append(token)
    }
  }

  var isEmpty: Bool { tokens.isEmpty }

  /// Cuts `text[range]` at the tokens, except those in `blocked`, which stay text.
  func segments(of text: [UInt8], in range: Range<Int>, blocking blocked: Set<Int32>) -> [Segment] {
    if range.isEmpty { return [] }
    if tokens.isEmpty { return [Segment(id: nil, range: range)] }
    var segments: [Segment] = []
    var done = range.lowerBound
    var index = range.lowerBound
    while index < range.upperBound {
      guard startsToken[Int(text[index])], let (token, end) = longestMatch(in: text, at: index, before: range.upperBound) else {
        index += 1
        continue
      }
      var (start, stop) = (index, end)
      index = end
      if blocked.contains(token.id) { continue }
      if token.isSingleWord, Self.touchesWord(text, start, stop, range) { continue }
      if token.stripsLeft { start = max(done, Self.spaceStart(text, start, range)) }
      if token.stripsRight { stop = Self.spaceEnd(text, stop, range) }
      if done < start { segments.append(Segment(id: nil, range: done..<start)) }
      segments.append(Segment(id: token.id, range: min(start, stop)..<stop))
      done = stop
    }
    if done < range.upperBound { segments.append(Segment(id: nil, range: done..<range.upperBound)) }
    return segments
  }

  private func longestMatch(in text: [UInt8], at start: Int, before end: Int) -> (AddedToken, Int)? {
    var node: Int32 = 0
    var index = start
    var found: (AddedToken, Int)?
    while index < end, let child = children[Self.key(node, text[index])] {
      node = child
      index += 1
      if ends[Int(node)] >= 0 { found = (tokens[Int(ends[Int(node)])], index) }
    }
    return found
  }

  private static func key(_ node: Int32, _ byte: UInt8) -> UInt32 { UInt32(bitPattern: node) << 8 | UInt32(byte) }

  private static func touchesWord(_ text: [UInt8], _ start: Int, _ stop: Int, _ range: Range<Int>) -> Bool {
    if start > range.lowerBound, isWord(ScalarScanner.scalar(in: text, at: scalarStart(text, before: start)).scalar) { return true }
    return stop < range.upperBound && isWord(ScalarScanner.scalar(in: text, at: stop).scalar)
  }

  /// `\w`: letters, marks, decimal digits, connectors and joiners.
  static func isWord(_ scalar: Unicode.Scalar) -> Bool {
    if ScalarKind.isNew(scalar) { return false }
    let properties = scalar.properties
    switch properties.generalCategory {
    case .decimalNumber, .connectorPunctuation, .nonspacingMark, .spacingMark, .enclosingMark: return true
    default: return properties.isAlphabetic || properties.isJoinControl
    }
  }

  private static func scalarStart(_ text: [UInt8], before index: Int) -> Int {
    var index = index - 1
    while index > 0, text[index] & 0xC0 == 0x80 { index -= 1 }
    return index
  }

  private static func spaceStart(_ text: [UInt8], _ index: Int, _ range: Range<Int>) -> Int {
    var index = index
    while index > range.lowerBound {
      let previous = scalarStart(text, before: index)
      guard ScalarKind(ScalarScanner.scalar(in: text, at: previous).scalar).isSpace else { break }
      index = previous
    }
    return index
  }

  private static func spaceEnd(_ text: [UInt8], _ index: Int, _ range: Range<Int>) -> Int {
    ScalarScanner(bytes: text, end: range.upperBound).run(from: index) { $0.isSpace }
  }
}
