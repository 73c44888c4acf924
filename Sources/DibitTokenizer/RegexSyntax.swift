/// A regular expression of the subset that tokenizer files use, as a tree.
indirect enum RegexNode: Sendable, Equatable {
  enum Greed: Sendable, Equatable {
    case greedy
    case lazy
    case possessive
  }

  enum Anchor: Sendable, Equatable {
    case textStart
    case textEnd
    case lineStart
    case lineEnd
  }

  case set(ScalarSet)
  case sequence([RegexNode])
  case choice([RegexNode])
  /// `maximum` nil: no limit.
  case loop(RegexNode, minimum: Int, maximum: Int?, Greed)
  case look(RegexNode, isNegative: Bool)
  case anchor(Anchor)

  /// True for a node that can match nothing.
  var matchesEmpty: Bool {
    switch self {
    case .set: false
    case .sequence(let parts): parts.allSatisfy(\.matchesEmpty)
    case .choice(let parts): parts.contains(where: \.matchesEmpty)
    case .loop(let body, let minimum, _, _): minimum == 0 || body.matchesEmpty
    case .look, .anchor: true
    }
  }
}

/// Parses the subset: literals, classes, `\p{…}`, groups, alternation, counted, lazy and possessive repetition, lookahead, anchors,
/// and case folding of ASCII letters. Everything else is refused, with what the reader of the error needs to know.
///
/// The meaning is that of Oniguruma's Ruby syntax, which Hugging Face's library uses: `^` and `$` are about lines, and `{1,3}+` repeats
/// a repetition.
struct RegexParser {
  struct Fault: Error, Equatable {
    let reason: String
  }

  private let scalars: [Unicode.Scalar]
  private var index = 0
  private var depth = 0
  private static let depthLimit = 16
  private static let lengthLimit = 4096

  static func parse(_ text: String) throws(Fault) -> RegexNode {
    var parser = RegexParser(text)
    guard parser.scalars.count <= lengthLimit else { throw Fault(reason: "it is longer than \(lengthLimit) characters") }
    let node = try parser.choice(foldingCase: false)
    guard parser.index == parser.scalars.count else { throw Fault(reason: "a ')' closes nothing") }
    return node
  }

  private init(_ text: String) { scalars = Array(text.unicodeScalars) }

  private var peek: Unicode.Scalar? { index < scalars.count ? scalars[index] : nil }

  private mutating func accept(_ text: String) -> Bool {
    let wanted = Array(text.unicodeScalars)
    guard scalars.count - index >= wanted.count, scalars[index..<index + wanted.count].elementsEqual(wanted) else { return false }
    index += wanted.count
    return true
  }

  private mutating func choice(foldingCase: Bool) throws(Fault) -> RegexNode {
    depth += 1
    defer { depth -= 1 }
    guard depth <= Self.depthLimit else { throw Fault(reason: "its groups are nested too deeply") }
    var parts = [try sequence(foldingCase: foldingCase)]
    while accept("|") { parts.append(try sequence(foldingCase: foldingCase)) }
    return parts.count == 1 ? parts[0] : .choice(parts)
  }

  private mutating func sequence(foldingCase: Bool) throws(Fault) -> RegexNode {
    var parts: [RegexNode] = []
    while let scalar = peek, scalar != "|", scalar != ")" {
      parts.append(try repeated(try atom(foldingCase: foldingCase)))
    }
    return parts.count == 1 ? parts[0] : .sequence(parts)
  }

  private mutating func repeated(_ atom: RegexNode) throws(Fault) -> RegexNode {
    var node = atom
    var isRepeated = false
    while let (minimum, maximum, isCounted) = try quantifier() {
      if case .look = node { throw Fault(reason: "it repeats a lookahead") }
      if case .anchor = node { throw Fault(reason: "it repeats an anchor") }
      if node.matchesEmpty { throw Fault(reason: "it repeats something that can match nothing") }
      var greed = RegexNode.Greed.greedy
      if isCounted {
        // After an interval, `+` is a repetition of the repetition and `?` has two readings.
        if peek == "?" { throw Fault(reason: "'?' follows an interval") }
        if peek == "+" {
          guard case .set = node, !isRepeated, minimum == 1 else { throw Fault(reason: "'+' follows an interval") }
          index += 1
          return try repeated(.loop(node, minimum: 1, maximum: nil, .greedy), isEnd: true)
        }
      } else if accept("?") {
        greed = .lazy
      } else if accept("+") {
        greed = .possessive
      }
      if isRepeated { throw Fault(reason: "a repetition follows a repetition") }
      isRepeated = true
      node = .loop(node, minimum: minimum, maximum: maximum, greed)
    }
    return node
  }

  private mutating func repeated(_ node: RegexNode, isEnd: Bool) throws(Fault) -> RegexNode {
    if try quantifier() != nil { throw Fault(reason: "a repetition follows a repetition") }
    return node
  }

  private mutating func quantifier() throws(Fault) -> (minimum: Int, maximum: Int?, isCounted: Bool)? {
    if accept("*") { return (0, nil, false) }
    if accept("+") { return (1, nil, false) }
    if accept("?") { return (0, 1, false) }
    guard accept("{") else { return nil }
    guard let minimum = number() else { throw Fault(reason: "a '{' starts no interval") }
    var maximum: Int? = minimum
    if accept(",") { maximum = number() }
    guard accept("}") else { throw Fault(reason: "a '{' starts no interval") }
    if let maximum, maximum < minimum || maximum == 0 { throw Fault(reason: "an interval is empty") }
    return (minimum, maximum, true)
  }

  private mutating func number() -> Int? {
    var value: Int?
    while let digit = peek, ("0"..."9").contains(digit), (value ?? 0) < 1000 {
      value = (value ?? 0) * 10 + Int(digit.value - 0x30)
      index += 1
    }
    return value
  }

  private mutating func atom(foldingCase: Bool) throws(Fault) -> RegexNode {
    if accept("(?:") { return try group(foldingCase: foldingCase) }
    if accept("(?i:") { return try group(foldingCase: true) }
    if accept("(?=") { return .look(try group(foldingCase: foldingCase), isNegative: false) }
    if accept("(?!") { return .look(try group(foldingCase: foldingCase), isNegative: true) }
    if accept("(?") { throw Fault(reason: "it has a group of a kind that is not supported") }
    if accept("(") { return try group(foldingCase: foldingCase) }
    if accept("[") { return .set(try classBody(foldingCase: foldingCase).sealed()) }
    if accept("^") { return .anchor(.lineStart) }
    if accept("$") { return .anchor(.lineEnd) }
    if accept(".") { return .set(Self.set(0x0A, isNegated: true)) }
    if accept("\\A") { return .anchor(.textStart) }
    if accept("\\z") { return .anchor(.textEnd) }
    if let scalar = peek, "*+?{".unicodeScalars.contains(scalar) { throw Fault(reason: "'\(scalar)' repeats nothing") }
    var set = ScalarSet()
    try member(into: &set, foldingCase: foldingCase)
    return .set(set.sealed())
  }

  private static func set(_ value: UInt32, isNegated: Bool) -> ScalarSet {
    var set = ScalarSet()
    set.insert(value...value, foldingCase: false)
    set.isNegated = isNegated
    return set.sealed()
  }

  private mutating func group(foldingCase: Bool) throws(Fault) -> RegexNode {
    let node = try choice(foldingCase: foldingCase)
    guard accept(")") else { throw Fault(reason: "a '(' is not closed") }
    return node
  }

  private mutating func classBody(foldingCase: Bool) throws(Fault) -> ScalarSet {
    var set = ScalarSet()
    set.isNegated = accept("^")
    if peek == "]" { throw Fault(reason: "a class is empty") }
    while !accept("]") {
      if peek == "[" { throw Fault(reason: "a class holds a class") }
      if accept("&&") { throw Fault(reason: "it intersects classes") }
      guard let first = try member(into: &set, foldingCase: foldingCase, isInClass: true) else { continue }
      if peek == "-", index + 1 < scalars.count, scalars[index + 1] != "]" {
        index += 1
        guard let last = try single(), last >= first else { throw Fault(reason: "a range in a class is empty") }
        set.insert(first...last, foldingCase: foldingCase)
      } else {
        set.insert(first...first, foldingCase: foldingCase)
      }
    }
    return set
  }

  /// One scalar or class. Outside of brackets a scalar is inserted; inside it is returned, because a range may follow.
  @discardableResult private mutating func member(
    into set: inout ScalarSet, foldingCase: Bool, isInClass: Bool = false
  ) throws(Fault) -> UInt32? {
    if accept("\\s") {
      set.insert(.spaces)
    } else if accept("\\S") {
      set.insert(ScalarClasses.all.subtracting(.spaces))
    } else if accept("\\d") {
      set.insert(.decimal)
    } else if peek == "\\", index + 1 < scalars.count, scalars[index + 1] == "p" || scalars[index + 1] == "P" {
      let isNegated = scalars[index + 1] == "P"
      index += 2
      let classes = try property()
      set.insert(isNegated ? ScalarClasses.all.subtracting(classes) : classes)
    } else if let value = try single() {
      if isInClass { return value }
      if foldingCase, value >= 0x80 { throw Fault(reason: "it folds the case of a letter outside ASCII") }
      set.insert(value...value, foldingCase: foldingCase)
    }
    return nil
  }

  private mutating func property() throws(Fault) -> ScalarClasses {
    guard accept("{") else { throw Fault(reason: "'\\p' has no name in braces") }
    let isNegated = accept("^")
    let start = index
    while let scalar = peek, scalar != "}" { _ = scalar; index += 1 }
    var name = ""
    name.unicodeScalars.append(contentsOf: scalars[start..<index])
    guard accept("}"), let classes = ScalarClasses.named(name) else { throw Fault(reason: "the property '\(name)' is not supported") }
    return isNegated ? ScalarClasses.all.subtracting(classes) : classes
  }

  /// A literal or escaped scalar.
  private mutating func single() throws(Fault) -> UInt32? {
    guard let scalar = peek else { throw Fault(reason: "it ends too early") }
    index += 1
    guard scalar == "\\" else { return scalar.value }
    guard let escaped = peek else { throw Fault(reason: "it ends in '\\'") }
    index += 1
    switch escaped {
    case "n": return 0x0A
    case "r": return 0x0D
    case "t": return 0x09
    case "f": return 0x0C
    case "v": return 0x0B
    case "x", "u": return try hex(escaped == "u" ? 4 : 2)
    case "a"..."z", "A"..."Z", "0"..."9": throw Fault(reason: "the escape '\\\(escaped)' is not supported")
    default: return escaped.value
    }
  }

  private mutating func hex(_ count: Int) throws(Fault) -> UInt32 {
    let isBraced = count == 2 && accept("{")
    var value: UInt32 = 0
    var digits = 0
    while digits < (isBraced ? 6 : count), let scalar = peek, let digit = Character(scalar).hexDigitValue, scalar.isASCII {
      value = value << 4 | UInt32(digit)
      index += 1
      digits += 1
    }
    guard digits > 0, isBraced ? accept("}") : digits == count, Unicode.Scalar(value) != nil, isBraced || count == 4 || value < 0x80 else {
      throw Fault(reason: "an escape names no scalar")
    }
    return value
  }
}
