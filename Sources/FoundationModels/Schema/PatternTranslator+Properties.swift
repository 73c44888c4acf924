extension PatternTranslator {
  /// The scalars of a Unicode property behind `\p` or `\P`, such as `{Lu}`, `{^Letter}`, `{gc=Nd}` or `{Alphabetic}`.
  mutating func property(isInverted: Bool) throws(Fault) -> ScalarSet {
    var name = ""
    if accept("{") {
      while let scalar = peek, scalar != "}" {
        name.unicodeScalars.append(scalar)
        index += 1
      }
      guard accept("}") else { throw Fault(reason: "the name of a Unicode property does not end") }
    } else if let scalar = peek {
      name.unicodeScalars.append(scalar)
      index += 1
    }
    let isNegated = name.hasPrefix("^")
    guard let set = Self.property(named: isNegated ? String(name.dropFirst()) : name) else {
      throw Fault(reason: "the Unicode property '\(name)' is not supported")
    }
    return isNegated != isInverted ? set.inverted : set
  }

  /// The scalars of a property; names are compared without case, spaces and marks. Nil for one that is not known here.
  private static func property(named name: String) -> ScalarSet? {
    var key = String(String.UnicodeScalarView(name.lowercased().unicodeScalars.filter { !"_- ".unicodeScalars.contains($0) }))
    for prefix in ["generalcategory=", "gc=", "is"] where key.hasPrefix(prefix) { key = String(key.dropFirst(prefix.count)) }
    switch key {
    case "any": return .all
    case "ascii": return ScalarSet([0...0x7F])
    case "alphabetic", "alpha": return ScalarSet(where: { $0.properties.isAlphabetic })
    case "uppercase", "upper": return ScalarSet(where: { $0.properties.isUppercase })
    case "lowercase", "lower": return ScalarSet(where: { $0.properties.isLowercase })
    case "whitespace", "space": return ScalarSet(where: { $0.properties.isWhitespace })
    default:
      guard let categories = Self.categories.first(where: { $0.names.contains(key) })?.members else { return nil }
      return ScalarSet(where: { categories.contains($0.properties.generalCategory) })
    }
  }

  /// General categories but those of scalars that are not assigned, are for private use or have no look.
  private static let categories: [(names: [String], members: Set<Unicode.GeneralCategory>)] = {
    let letters: [([String], Unicode.GeneralCategory)] = [
      (["lu", "uppercaseletter"], .uppercaseLetter), (["ll", "lowercaseletter"], .lowercaseLetter),
      (["lt", "titlecaseletter"], .titlecaseLetter), (["lm", "modifierletter"], .modifierLetter), (["lo", "otherletter"], .otherLetter),
    ]
    let marks: [([String], Unicode.GeneralCategory)] = [
      (["mn", "nonspacingmark"], .nonspacingMark), (["mc", "spacingmark"], .spacingMark), (["me", "enclosingmark"], .enclosingMark),
    ]
    let numbers: [([String], Unicode.GeneralCategory)] = [
      (["nd", "decimalnumber"], .decimalNumber), (["nl", "letternumber"], .letterNumber), (["no", "othernumber"], .otherNumber),
    ]
    let punctuation: [([String], Unicode.GeneralCategory)] = [
      (["pc", "connectorpunctuation"], .connectorPunctuation), (["pd", "dashpunctuation"], .dashPunctuation),
      (["ps", "openpunctuation"], .openPunctuation), (["pe", "closepunctuation"], .closePunctuation),
      (["pi", "initialpunctuation"], .initialPunctuation), (["pf", "finalpunctuation"], .finalPunctuation),
      (["po", "otherpunctuation"], .otherPunctuation),
    ]
    let symbols: [([String], Unicode.GeneralCategory)] = [
      (["sm", "mathsymbol"], .mathSymbol), (["sc", "currencysymbol"], .currencySymbol), (["sk", "modifiersymbol"], .modifierSymbol),
      (["so", "othersymbol"], .otherSymbol),
    ]
    let separators: [([String], Unicode.GeneralCategory)] = [
      (["zs", "spaceseparator"], .spaceSeparator), (["zl", "lineseparator"], .lineSeparator),
      (["zp", "paragraphseparator"], .paragraphSeparator),
    ]
    let groups = [
      (["l", "letter"], letters), (["m", "mark"], marks), (["n", "number"], numbers), (["p", "punctuation", "punct"], punctuation),
      (["s", "symbol"], symbols), (["z", "separator"], separators),
    ]
    return groups.flatMap { names, members in
      [(names, Set(members.map(\.1)))] + members.map { ($0.0, [$0.1]) }
    } + [(["lc", "casedletter"], [.uppercaseLetter, .lowercaseLetter, .titlecaseLetter])]
  }()
}

extension ScalarSet {
  /// The assigned scalars for which something holds.
  init(where isMember: (Unicode.Scalar) -> Bool) {
    var ranges: [ClosedRange<UInt32>] = []
    // Nothing else is assigned: see the chart of Unicode's planes.
    for planes: ClosedRange<UInt32> in [0...0x3FFFF, 0xE0000...0xE0FFF] {
      var start: UInt32?
      for value in planes {
        let isIn = Unicode.Scalar(value).map(isMember) ?? false
        if isIn, start == nil { start = value }
        if !isIn, let first = start {
          ranges.append(first...value - 1)
          start = nil
        }
      }
      if let first = start { ranges.append(first...planes.upperBound) }
    }
    self.init(ranges)
  }
}
