/// Text in a terminal: what may be written there, and how many cells it takes.
package enum TerminalText {
  /// `text` on one line, without anything that moves the cursor, changes colours or reverses the direction of writing.
  package static func clean(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar.properties.generalCategory {
      case .control, .lineSeparator, .paragraphSeparator: result.append(" ")
      case .format, .surrogate, .privateUse, .unassigned: continue
      default: result.append(scalar)
      }
    }
    return String(result)
  }

  /// The number of cells of a character: none for marks that join the one before, two for East Asian wide characters and emoji.
  static func width(_ scalar: Unicode.Scalar) -> Int {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: break
    }
    switch scalar.value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
      0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
      return 2
    default: return 1
    }
  }

  /// The number of cells of `text`.
  static func width(_ text: String) -> Int { text.unicodeScalars.reduce(0) { $0 + width($1) } }

  /// `text` in exactly `cells` cells: cut with an ellipsis or filled with spaces, on the left for numbers.
  static func fit(_ text: String, _ cells: Int, alignRight: Bool = false) -> String {
    var text = clean(text)
    if width(text) > cells {
      var (cut, used) = (String.UnicodeScalarView(), 0)
      for scalar in text.unicodeScalars {
        guard used + width(scalar) < cells else { break }
        cut.append(scalar)
        used += width(scalar)
      }
      text = String(cut) + (cells > 0 ? "…" : "")
    }
    let filler = String(repeating: " ", count: max(0, cells - width(text)))
    return alignRight ? filler + text : text + filler
  }

  /// `text` in exactly `cells` cells, cut in the middle: labels often differ at their ends only.
  static func fitMiddle(_ text: String, _ cells: Int) -> String {
    let text = clean(text)
    guard width(text) > cells, cells > 4 else { return fit(text, cells) }
    var (tail, used) = (String.UnicodeScalarView(), 0)
    for scalar in text.unicodeScalars.reversed() {
      guard used + width(scalar) <= cells / 2 - 1 else { break }
      tail.insert(scalar, at: tail.startIndex)
      used += width(scalar)
    }
    return fit(text, cells - used) + String(tail)
  }

  /// `text` in at most `limit` lines of `cells` cells, broken at spaces; what does not fit ends in an ellipsis.
  package static func wrap(_ text: String, _ cells: Int, limit: Int) -> [String] {
    var lines: [String] = []
    // A sign of percent stays with its number.
    let words = clean(text).split(separator: " ").reduce(into: [String]()) { words, word in
      if word.hasPrefix("%"), let last = words.last { words[words.count - 1] = last + " " + word } else { words.append(String(word)) }
    }
    for word in words {
      if let last = lines.last, width(last) + 1 + width(word) <= cells {
        lines[lines.count - 1] = last + " " + word
      } else {
        lines.append(width(word) > cells ? fit(word, cells) : word)
      }
    }
    guard lines.count > limit, limit > 0 else { return lines }
    let last = lines[limit - 1]
    return Array(lines.prefix(limit - 1)) + [width(last) < cells ? last + "…" : fit(last + " ", cells - 1).dropLast() + "…"]
  }
}
