/// What happens to a text before it is cut: the steps in order, on UTF-8.
struct Normalizer: Sendable, Equatable {
  enum Step: Sendable, Equatable {
    /// Puts bytes in front of a text that is not empty.
    case prepend([UInt8])
    /// Replaces every occurrence, from left to right.
    case replace(pattern: [UInt8], content: [UInt8])
    /// Canonical composition (NFC).
    case compose
  }

  var steps: [Step] = []

  /// The normalised text.
  func apply(_ text: [UInt8]) -> [UInt8] {
    var text = text
    for step in steps {
      switch step {
      case .prepend(let prefix): if !text.isEmpty { text = prefix + text }
      case .replace(let pattern, let content): text = text.replacing(pattern, by: content)
      case .compose: text = CanonicalComposition.composed(text)
      }
    }
    return text
  }
}

extension [UInt8] {
  /// These bytes with every occurrence of `pattern`, which is not empty, replaced from left to right.
  func replacing(_ pattern: [UInt8], by content: [UInt8]) -> [UInt8] {
    guard let first = pattern.first, contains(first) else { return self }
    var result: [UInt8] = []
    result.reserveCapacity(count + count / 4)
    var index = 0
    while index < count {
      if self[index] == first, holds(pattern, at: index) {
        result.append(contentsOf: content)
        index += pattern.count
      } else {
        result.append(self[index])
        index += 1
      }
    }
    return result
  }

  /// Whether `pattern` stands at `index`.
  func holds(_ pattern: [UInt8], at index: Int) -> Bool {
    guard count - index >= pattern.count else { return false }
    for offset in 0..<pattern.count where self[index + offset] != pattern[offset] { return false }
    return true
  }
}
