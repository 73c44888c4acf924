/// Translates the pattern of a Swift regular expression into the ECMAScript that the constrained decoder takes, anchored at both ends.
///
/// The result is meant to match no text that the expression does not. Where Swift's classes hold scalars of all scripts (`\w`, `\d` and
/// their opposites), it matches fewer. It counts scalars where Swift counts graphemes, so texts with combining marks may differ, and it
/// knows upper and lower case of European scripts only.
struct PatternTranslator {
  /// The reason for which an expression cannot be translated.
  struct Fault: Error {
    let reason: String
  }

  struct Flags {
    var ignoresCase = false
    var dotMatchesAll = false
    var isExtended = false
  }

  let scalars: [Unicode.Scalar]
  var index = 0
  var flags = Flags()
  private var depth = 0

  private static let depthLimit = 64
  private static let lengthLimit = 10_000

  static func translate(_ text: String) throws(Fault) -> String {
    var translator = PatternTranslator(scalars: Array(text.unicodeScalars))
    guard translator.scalars.count <= lengthLimit else { throw Fault(reason: "the expression is too long") }
    let body = try translator.alternatives()
    guard translator.peek == nil else { throw Fault(reason: "a ')' closes nothing") }
    return "^(?:\(body))$"
  }

  private init(scalars: [Unicode.Scalar]) { self.scalars = scalars }

  var peek: Unicode.Scalar? { index < scalars.count ? scalars[index] : nil }

  mutating func accept(_ text: String) -> Bool {
    let wanted = text.unicodeScalars
    guard scalars.count - index >= wanted.count, scalars[index..<index + wanted.count].elementsEqual(wanted) else { return false }
    index += wanted.count
    return true
  }

  // MARK: Structure

  private mutating func alternatives() throws(Fault) -> String {
    guard depth < Self.depthLimit else { throw Fault(reason: "groups are nested too deeply") }
    depth += 1
    let outer = flags
    defer {
      depth -= 1
      flags = outer
    }
    var result = ""
    while let scalar = peek, scalar != ")" {
      if accept("|") {
        result += "|"
      } else if flags.isExtended, scalar.properties.isWhitespace {
        index += 1
      } else if flags.isExtended, scalar == "#" {
        while let next = peek, next != "\n" { (_, index) = (next, index + 1) }
      } else {
        result += try quantified()
      }
    }
    return result
  }

  private mutating func quantified() throws(Fault) -> String {
    if accept("\\Q") { return quoted() }
    if accept("(?#") {
      while let next = peek, next != ")" { (_, index) = (next, index + 1) }
      guard accept(")") else { throw Fault(reason: "a comment does not end") }
      return ""
    }
    guard let atom = try self.atom() else { return "" }
    let quantifier = self.quantifier()
    if quantifier.isEmpty { return atom }
    // Laziness changes which match is found, not whether there is one.
    if accept("?") { return atom + quantifier }
    if accept("+") { throw Fault(reason: "possessive quantifiers are not supported") }
    return atom + quantifier
  }

  private mutating func quantifier() -> String {
    for mark in ["*", "+", "?"] where accept(mark) { return mark }
    let start = index
    guard accept("{") else { return "" }
    let minimum = digits()
    let hasComma = accept(",")
    let maximum = digits()
    guard accept("}"), !(minimum.isEmpty && maximum.isEmpty) else {
      index = start
      return ""
    }
    return "{\(minimum.isEmpty ? "0" : minimum)\(hasComma ? "," : "")\(maximum)}"
  }

  private mutating func digits() -> String {
    var text = ""
    while let scalar = peek, ("0"..."9").contains(scalar) {
      text.unicodeScalars.append(scalar)
      index += 1
    }
    return text
  }

  /// The text between `\Q` and `\E`, where nothing has a meaning.
  private mutating func quoted() -> String {
    var result = ""
    while let scalar = peek, !accept("\\E") {
      index += 1
      result += literal(scalar)
    }
    return result
  }

  /// One thing that a quantifier can follow; nil for flags.
  private mutating func atom() throws(Fault) -> String? {
    guard let scalar = peek else { return nil }
    switch scalar {
    case "(": return try group()
    case "[":
      index += 1
      return try self.class(isOuter: false).pattern
    case "\\":
      index += 1
      return try escape()
    case ".":
      index += 1
      return (flags.dotMatchesAll ? ScalarSet.all : ScalarSet.lineEnds.inverted).pattern
    case "^", "$":
      index += 1
      return String(scalar)
    default:
      index += 1
      return literal(scalar)
    }
  }

  private mutating func group() throws(Fault) -> String? {
    for mark in ["(?=", "(?!", "(?<=", "(?<!", "(?*", "(*"] where accept(mark) { throw Fault(reason: "look-around is not supported") }
    for mark in ["(?>", "(?|", "(?(", "(?&", "(?R"] where accept(mark) {
      throw Fault(reason: "groups that begin with '\(mark)' are not supported")
    }
    let before = flags
    if accept("(?<") || accept("(?P<") {
      while let scalar = peek, scalar != ">" {
        guard scalar != "-", scalar != ")" else { throw Fault(reason: "a group's name is malformed") }
        index += 1
      }
      guard accept(">") else { throw Fault(reason: "a group's name does not end") }
    } else if accept("(?:") {
      // Groups are not counted here, so all are alike.
    } else if accept("(?") {
      try readFlags()
      // Flags without a group count to the end of the group around them.
      if accept(")") { return nil }
      guard accept(":") else { throw Fault(reason: "a group of this kind is not supported") }
    } else {
      index += 1
    }
    let body = try alternatives()
    flags = before
    guard accept(")") else { throw Fault(reason: "a '(' is not closed") }
    return "(?:\(body))"
  }

  private mutating func readFlags() throws(Fault) {
    var isOn = true
    if accept("^") { flags = Flags() }
    while let scalar = peek, scalar != ")", scalar != ":" {
      index += 1
      switch scalar {
      case "-": isOn = false
      case "i": flags.ignoresCase = isOn
      case "s": flags.dotMatchesAll = isOn
      case "x": flags.isExtended = isOn
      // Ends of lines inside a text are fewer matches; greediness, graphemes and ASCII classes change nothing here.
      case "m", "n", "U", "w", "D", "W", "S", "P", "J", "X", "u": break
      default: throw Fault(reason: "the flag '\(scalar)' is not supported")
      }
    }
  }

  private func literal(_ scalar: Unicode.Scalar) -> String {
    let set = ScalarSet([scalar.value...scalar.value])
    return (flags.ignoresCase ? set.withBothCases : set).pattern
  }
}
