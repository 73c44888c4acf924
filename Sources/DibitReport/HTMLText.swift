extension String {
  /// This text as HTML: nothing in it is markup, in content and in quoted attributes alike.
  ///
  /// Characters that a page must not hold (controls other than tab and line feed, and those that reverse the direction of what follows)
  /// become replacement characters, so that a reader sees that something is there.
  var html: String {
    var result = ""
    result.reserveCapacity(utf8.count)
    for scalar in unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      case "\n", "\t": result.unicodeScalars.append(scalar)
      case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}", "\u{FFFE}", "\u{FFFF}":
        result += "\u{FFFD}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// A sentence in which hyphens before a digit and behind a space or a bracket are minus signs, and a sign of percent stays with
  /// its number; hyphens within names stay.
  var signed: String {
    var result = ""
    let scalars = Array(unicodeScalars)
    for (index, scalar) in scalars.enumerated() {
      let isSign =
        scalar == "-" && index > 0 && (scalars[index - 1] == " " || scalars[index - 1] == "(") && index + 1 < scalars.count
        && ("0"..."9").contains(scalars[index + 1])
      let isUnit = scalar == " " && index + 1 < scalars.count && scalars[index + 1] == "%"
      result.unicodeScalars.append(isSign ? "−" : isUnit ? "\u{A0}" : scalar)
    }
    return result
  }

  /// A number with a true minus sign, for a page that is set and not typed.
  var minus: String { String(map { $0 == "-" ? "−" : $0 }) }
}

/// A number for coordinates and style sheets: two decimals, a point, no exponent.
func coordinate(_ value: Double) -> String {
  let text = fixed(max(-1e6, min(1e6, value.isFinite ? value : 0)), 2)
  return text.hasSuffix(".00") ? String(text.dropLast(3)) : text
}

/// A share as a percentage for style sheets, within 0…100.
func css(_ share: Double) -> String { coordinate(100 * max(0, min(1, share.isFinite ? share : 0))) + "%" }
