/// Cuts texts into words for baselines that know nothing but words.
package enum Words {
  /// The lower-cased runs of letters, marks, digits and low lines in `text`, in order, without further analysis of any language.
  ///
  /// Where a script puts no space between words (Chinese, Japanese, Thai), such a run may be a whole clause.
  package static func split(_ text: String) -> [String] {
    var words: [String] = []
    var word = ""
    for scalar in text.unicodeScalars {
      if isPart(scalar) {
        word.unicodeScalars.append(scalar)
      } else if !word.isEmpty {
        words.append(word.lowercased())
        word = ""
      }
    }
    if !word.isEmpty { words.append(word.lowercased()) }
    return words
  }

  private static func isPart(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII {
      switch scalar {
      case "a"..."z", "A"..."Z", "0"..."9", "_": return true
      default: return false
      }
    }
    switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
      .nonspacingMark, .spacingMark, .enclosingMark,
      .decimalNumber, .letterNumber, .otherNumber, .connectorPunctuation:
      return true
    default: return false
    }
  }
}
