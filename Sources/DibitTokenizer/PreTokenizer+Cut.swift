extension PreTokenizer {
  /// The parts of `text[range]` after cutting at the matches; with inversion, at what is between them.
  static func parts(
    _ text: [UInt8], _ range: Range<Int>, _ matcher: Matcher, _ behavior: Behavior, _ isInverted: Bool
  ) -> [Range<Int>] {
    var parts: [Range<Int>] = []
    var previousIsMatch = false
    /// True where the next stretch belongs to the delimiter before it.
    var waits = false
    forEachStretch(text, range, matcher) { stretch, isFound in
      let isMatch = isFound != isInverted
      switch behavior {
      case .isolated: parts.append(stretch)
      case .removed: if !isMatch { parts.append(stretch) }
      case .contiguous, .mergedWithPrevious:
        let merges = behavior == .contiguous ? isMatch == previousIsMatch : isMatch && !previousIsMatch
        if merges, let last = parts.popLast() {
          parts.append(last.lowerBound..<stretch.upperBound)
        } else {
          parts.append(stretch)
        }
      case .mergedWithNext:
        // Read from the right: a match joins what follows it, unless that is a match that stands alone.
        if waits, !isMatch, let last = parts.popLast() {
          parts.append(last.lowerBound..<stretch.upperBound)
        } else {
          parts.append(stretch)
        }
        waits = isMatch
      }
      previousIsMatch = isMatch
    }
    return parts
  }

  /// Calls `body` with every match and every stretch between matches, in order.
  private static func forEachStretch(
    _ text: [UInt8], _ range: Range<Int>, _ matcher: Matcher, _ body: (Range<Int>, Bool) -> Void
  ) {
    let scanner = ScalarScanner(bytes: text, start: range.lowerBound, end: range.upperBound)
    var done = range.lowerBound
    var index = range.lowerBound
    while index < range.upperBound {
      if let end = matcher.end(in: scanner, at: index) {
        if done < index { body(done..<index, false) }
        body(index..<end, true)
        index = end
        done = end
      } else {
        index = text[index] < 0x80 ? index + 1 : ScalarScanner.scalar(in: text, at: index).next
      }
    }
    if done < range.upperBound { body(done..<range.upperBound, false) }
  }
}

extension PreTokenizer.Matcher {
  /// The end of the match at `start`, or nil.
  fileprivate func end(in text: ScalarScanner, at start: Int) -> Int? {
    switch self {
    case .literal(let pattern):
      guard text.end - start >= pattern.count, text.bytes.holds(pattern, at: start) else { return nil }
      return start + pattern.count
    case .regex(let program): return program.matchEnd(in: text, at: start)
    case .space:
      let (kind, next) = text.step(start)
      return kind.isSpace ? next : nil
    case .punctuation:
      let (scalar, next) = ScalarScanner.scalar(in: text.bytes, at: start)
      return Self.isPunctuation(scalar) ? next : nil
    case .word:
      let (scalar, next) = ScalarScanner.scalar(in: text.bytes, at: start)
      if ScalarKind(scalar).isSpace { return nil }
      let isWord = AddedTokenMatcher.isWord(scalar)
      var index = next
      while index < text.end {
        let (scalar, next) = ScalarScanner.scalar(in: text.bytes, at: index)
        guard AddedTokenMatcher.isWord(scalar) == isWord, !ScalarKind(scalar).isSpace else { break }
        index = next
      }
      return index
    }
  }

  private static func isPunctuation(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII {
      switch scalar.value {
      case 0x21...0x2F, 0x3A...0x40, 0x5B...0x60, 0x7B...0x7E: return true
      default: return false
      }
    }
    if scalar.value == 0x166D || scalar.value == 0x111C9 { return true }  // Punctuation until Unicode 12 and 11.
    guard !ScalarClasses.punctuation.isDisjoint(with: ScalarClasses(scalar)) else { return false }
    return (scalar.properties.age?.major ?? .max) <= 8
  }
}
