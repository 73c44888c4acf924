/// A regular expression of the subset of ECMAScript that a schema's `pattern` may use.
indirect enum PatternNode: Equatable, Sendable {
  case set(ScalarRanges)
  case sequence([PatternNode])
  case choice([PatternNode])
  /// `maximum` nil: no limit.
  case loop(PatternNode, minimum: Int, maximum: Int?)
  case start
  case end
}

/// Parses anchors, classes, groups, alternation and quantifiers; whatever else ECMAScript has is refused with its reason.
struct PatternParser {
  struct Fault: Error, Equatable {
    let reason: String
  }

  private let scalars: [Unicode.Scalar]
  private var index = 0
  private var depth = 0
  private static let depthLimit = 16
  private static let lengthLimit = 20_000
  private static let countLimit = 1000

  static func parse(_ text: String) throws(Fault) -> PatternNode {
    var parser = PatternParser(text)
    guard parser.scalars.count <= lengthLimit else { throw Fault(reason: "it is longer than \(lengthLimit) characters") }
    let node = try parser.choice()
    guard parser.index == parser.scalars.count else { throw parser.fault("a ')' closes nothing") }
    return node
  }

  private init(_ text: String) { scalars = Array(text.unicodeScalars) }

  private var peek: Unicode.Scalar? { index < scalars.count ? scalars[index] : nil }

  private func fault(_ reason: String) -> Fault { Fault(reason: "\(reason), at character \(index)") }

  private mutating func accept(_ text: String) -> Bool {
    let wanted = Array(text.unicodeScalars)
    guard scalars.count - index >= wanted.count, scalars[index..<index + wanted.count].elementsEqual(wanted) else { return false }
    index += wanted.count
    return true
  }

  private mutating func choice() throws(Fault) -> PatternNode {
    depth += 1
    defer { depth -= 1 }
    guard depth <= Self.depthLimit else { throw fault("groups are nested deeper than \(Self.depthLimit)") }
    var parts = [try sequence()]
    while accept("|") { parts.append(try sequence()) }
    return parts.count == 1 ? parts[0] : .choice(parts)
  }

  private mutating func sequence() throws(Fault) -> PatternNode {
    var parts: [PatternNode] = []
    while let scalar = peek, scalar != "|", scalar != ")" {
      let node = try atom()
      guard let (minimum, maximum) = try quantifier() else {
        parts.append(node)
        continue
      }
      if node == .start || node == .end { throw fault("an anchor is repeated") }
      // Laziness changes which match is found, not whether there is one.
      _ = accept("?")
      if try quantifier() != nil { throw fault("a quantifier follows a quantifier") }
      parts.append(.loop(node, minimum: minimum, maximum: maximum))
    }
    return parts.count == 1 ? parts[0] : .sequence(parts)
  }

  private mutating func quantifier() throws(Fault) -> (minimum: Int, maximum: Int?)? {
    if accept("*") { return (0, nil) }
    if accept("+") { return (1, nil) }
    if accept("?") { return (0, 1) }
    guard peek == "{" else { return nil }
    index += 1
    guard let minimum = try number() else { throw fault("a '{' starts no quantifier") }
    var maximum: Int? = minimum
    if accept(",") { maximum = try number() }
    guard accept("}") else { throw fault("a '{' starts no quantifier") }
    if let maximum, maximum < minimum { throw fault("a quantifier's limits are reversed") }
    return (minimum, maximum)
  }

  private mutating func number() throws(Fault) -> Int? {
    var value: Int?
    while let digit = peek, ("0"..."9").contains(digit) {
      value = (value ?? 0) * 10 + Int(digit.value - 0x30)
      guard value ?? 0 <= Self.countLimit else { throw fault("a quantifier is larger than \(Self.countLimit)") }
      index += 1
    }
    return value
  }

  private mutating func atom() throws(Fault) -> PatternNode {
    if accept("(?:") { return try group() }
    if accept("(?=") || accept("(?!") || accept("(?<=") || accept("(?<!") { throw fault("look-around is not supported") }
    if accept("(?<") {
      while let scalar = peek, scalar != ">" {
        guard scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || scalar == "_" else {
          throw fault("a group's name is malformed")
        }
        index += 1
      }
      guard accept(">") else { throw fault("a group's name does not end") }
      return try group()
    }
    if accept("(?") { throw fault("a group of this kind is not supported") }
    if accept("(") { return try group() }
    if accept("[") { return .set(try classBody()) }
    if accept("^") { return .start }
    if accept("$") { return .end }
    if accept(".") { return .set(ScalarRanges.lineEnds.inverted) }
    guard let scalar = peek else { throw fault("it ends too early") }
    index += 1
    switch scalar {
    case "*", "+", "?", "{": throw fault("'\(scalar)' repeats nothing")
    case "}", "]": throw fault("'\(scalar)' closes nothing; write '\\\(scalar)'")
    case "\\": return .set(try escape(inClass: false).set)
    default: return .set(ScalarRanges([scalar.value...scalar.value]))
    }
  }

  private mutating func group() throws(Fault) -> PatternNode {
    let node = try choice()
    guard accept(")") else { throw fault("a '(' is not closed") }
    return node
  }

  private mutating func classBody() throws(Fault) -> ScalarRanges {
    let isInverted = accept("^")
    var ranges: [ClosedRange<UInt32>] = []
    while !accept("]") {
      let first = try member()
      if peek == "-", index + 1 < scalars.count, scalars[index + 1] != "]" {
        index += 1
        let last = try member()
        guard let low = first.single, let high = last.single, low <= high else { throw fault("a range in a class is malformed") }
        ranges.append(low...high)
      } else {
        ranges += first.set.ranges
      }
    }
    let set = ScalarRanges(ranges)
    return isInverted ? set.inverted : set
  }

  private mutating func member() throws(Fault) -> (set: ScalarRanges, single: UInt32?) {
    guard let scalar = peek else { throw fault("a class is not closed") }
    index += 1
    if scalar == "\\" { return try escape(inClass: true) }
    return (ScalarRanges([scalar.value...scalar.value]), scalar.value)
  }

  /// Reads the part that follows a backslash.
  private mutating func escape(inClass: Bool) throws(Fault) -> (set: ScalarRanges, single: UInt32?) {
    guard let scalar = peek else { throw fault("it ends in '\\'") }
    index += 1
    let value: UInt32
    switch scalar {
    case "d": return (.digits, nil)
    case "D": return (ScalarRanges.digits.inverted, nil)
    case "w": return (.word, nil)
    case "W": return (ScalarRanges.word.inverted, nil)
    case "s": return (.space, nil)
    case "S": return (ScalarRanges.space.inverted, nil)
    case "n": value = 0x0A
    case "r": value = 0x0D
    case "t": value = 0x09
    case "f": value = 0x0C
    case "v": value = 0x0B
    case "b" where inClass: value = 0x08
    case "0" where !("0"..."9").contains(peek ?? " "): value = 0
    case "x": value = try hex(2)
    case "u": value = try unicodeEscape()
    case "b", "B": throw fault("word boundaries are not supported")
    case "p", "P": throw fault("Unicode properties are not supported")
    case "k", "1"..."9": throw fault("back-references are not supported")
    case "a"..."z", "A"..."Z", "0": throw fault("the escape '\\\(scalar)' is not supported")
    default: value = scalar.value
    }
    return (ScalarRanges([value...value]), value)
  }

  private mutating func unicodeEscape() throws(Fault) -> UInt32 {
    let value: UInt32
    if accept("{") {
      var digits = 0
      while digits < 6, let digit = peek, digit.isASCII, digit.properties.isASCIIHexDigit {
        digits += 1
        index += 1
      }
      index -= digits
      guard digits > 0 else { throw fault("an escape has no digits") }
      value = try hex(digits)
      guard accept("}") else { throw fault("an escape does not end in '}'") }
    } else {
      let high = try hex(4)
      if (0xD800...0xDBFF).contains(high), accept("\\u") {
        let low = try hex(4)
        guard (0xDC00...0xDFFF).contains(low) else { throw fault("an escape names half of a scalar") }
        return 0x10000 + (high - 0xD800) << 10 + (low - 0xDC00)
      }
      value = high
    }
    guard Unicode.Scalar(value) != nil else { throw fault("an escape names no scalar") }
    return value
  }

  private mutating func hex(_ digits: Int) throws(Fault) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<digits {
      guard let scalar = peek, scalar.isASCII, let digit = Character(scalar).hexDigitValue else {
        throw fault("an escape needs \(digits) hexadecimal digits")
      }
      value = value << 4 | UInt32(digit)
      index += 1
    }
    return value
  }
}
