extension PatternTranslator {
  // MARK: Escapes

  /// Translates what follows a backslash outside a class.
  mutating func escape() throws(Fault) -> String {
    if accept("A") { return "^" }
    if accept("z") || accept("Z") { return "$" }
    if accept("R") { return "(?:\\r\\n|\(ScalarSet.lineEnds.pattern))" }
    if accept("O") { return ScalarSet.all.pattern }
    guard let set = try escapedClass(isOuter: false) else {
      let value = try escapedScalar(inClass: false)
      return (flags.ignoresCase ? ScalarSet([value...value]).withBothCases : ScalarSet([value...value])).pattern
    }
    return set.pattern
  }

  /// The class that a letter stands for. An outer set holds at least the scalars of the class, an inner one at most.
  private mutating func escapedClass(isOuter: Bool) throws(Fault) -> ScalarSet? {
    guard let scalar = peek else { throw Fault(reason: "it ends in a backslash") }
    let set: ScalarSet
    switch scalar {
    case "d": set = isOuter ? .digitsAtMost : .digits
    case "D": set = (isOuter ? ScalarSet.digits : .digitsAtMost).inverted
    case "w": set = isOuter ? ScalarSet.nonWord.inverted : .word
    case "W": set = isOuter ? ScalarSet.word.inverted : .nonWord
    case "s": set = .space
    case "S": set = ScalarSet.space.inverted
    case "h": set = .horizontalSpace
    case "H": set = ScalarSet.horizontalSpace.inverted
    case "v": set = .lineEnds
    case "V": set = ScalarSet.lineEnds.inverted
    case "N":
      guard index + 1 >= scalars.count || scalars[index + 1] != "{" else { throw Fault(reason: "named scalars are not supported") }
      set = ScalarSet.lineEnds.inverted
    case "p", "P":
      index += 1
      return try property(isInverted: scalar == "P")
    default: return nil
    }
    index += 1
    return set
  }

  private mutating func escapedScalar(inClass: Bool) throws(Fault) -> UInt32 {
    guard let scalar = peek else { throw Fault(reason: "it ends in a backslash") }
    index += 1
    switch scalar {
    case "n": return 0x0A
    case "r": return 0x0D
    case "t": return 0x09
    case "f": return 0x0C
    case "a": return 0x07
    case "e": return 0x1B
    case "b" where inClass: return 0x08
    case "x": return peek == "{" ? try bracedHex() : try hex(2)
    case "u": return peek == "{" ? try bracedHex() : try hex(4)
    case "U": return try hex(8)
    case "0":
      guard let next = peek, ("0"..."7").contains(next) else { return 0 }
      throw Fault(reason: "octal escapes are not supported")
    case "b", "B", "y", "Y": throw Fault(reason: "word boundaries are not supported")
    case "k", "g", "1"..."9": throw Fault(reason: "back-references are not supported")
    case "a"..."z", "A"..."Z": throw Fault(reason: "the escape '\\\(scalar)' is not supported")
    default: return scalar.value
    }
  }

  private mutating func bracedHex() throws(Fault) -> UInt32 {
    index += 1
    var count = 0
    while index + count < scalars.count, scalars[index + count] != "}", count < 8 { count += 1 }
    let value = try hex(count)
    guard accept("}") else { throw Fault(reason: "an escape does not end in '}'") }
    return value
  }

  private mutating func hex(_ count: Int) throws(Fault) -> UInt32 {
    guard count > 0, index + count <= scalars.count else { throw Fault(reason: "an escape has no digits") }
    var value: UInt64 = 0
    for _ in 0..<count {
      guard scalars[index].isASCII, let digit = Character(scalars[index]).hexDigitValue else {
        throw Fault(reason: "an escape has no digits")
      }
      value = value << 4 | UInt64(digit)
      index += 1
    }
    guard let scalar = Unicode.Scalar(UInt32(truncatingIfNeeded: value)), value <= 0x10FFFF else {
      throw Fault(reason: "an escape names no scalar")
    }
    return scalar.value
  }

  // MARK: Classes

  /// The class behind its opening bracket. What is inverted or taken away must be an outer set.
  mutating func `class`(isOuter: Bool, depth: Int = 0) throws(Fault) -> ScalarSet {
    guard depth < 32 else { throw Fault(reason: "classes are nested too deeply") }
    let isInverted = accept("^")
    let inner = isOuter != isInverted
    var result = try union(isOuter: inner, depth: depth, isFirst: true)
    while !accept("]") {
      if accept("--") {
        result = result.subtracting(try union(isOuter: !inner, depth: depth, isFirst: false))
      } else if accept("&&") {
        result = result.intersection(try union(isOuter: inner, depth: depth, isFirst: false))
      } else if accept("~~") {
        throw Fault(reason: "symmetric differences of classes are not supported")
      } else {
        throw Fault(reason: "a class is not closed")
      }
    }
    return isInverted ? result.inverted : result
  }

  private var isAtOperator: Bool {
    guard index + 1 < scalars.count, scalars[index] == scalars[index + 1] else { return false }
    return scalars[index] == "-" || scalars[index] == "&" || scalars[index] == "~"
  }

  private mutating func union(isOuter: Bool, depth: Int, isFirst: Bool) throws(Fault) -> ScalarSet {
    var ranges: [ClosedRange<UInt32>] = []
    var isFirst = isFirst
    while let scalar = peek, scalar != "]" || isFirst, !isAtOperator {
      isFirst = false
      if flags.isExtended, scalar == " " || scalar == "\t" {
        index += 1
      } else if accept("[:") {
        ranges += try posixClass(isOuter: isOuter).ranges
      } else if accept("[") {
        ranges += try self.class(isOuter: isOuter, depth: depth + 1).ranges
      } else if accept("(?s:.)") {
        // This is how any character of a RegexBuilder is written.
        ranges += ScalarSet.all.ranges
      } else if accept("(?-s:.)") {
        ranges += ScalarSet.lineEnds.inverted.ranges
      } else if accept("\\Q") {
        while let quoted = peek, !accept("\\E") {
          index += 1
          ranges.append(quoted.value...quoted.value)
        }
      } else {
        ranges += try member(isOuter: isOuter)
      }
    }
    let set = ScalarSet(ranges)
    return flags.ignoresCase ? set.withBothCases : set
  }

  private mutating func member(isOuter: Bool) throws(Fault) -> [ClosedRange<UInt32>] {
    if accept("\\") {
      if let set = try escapedClass(isOuter: isOuter) { return set.ranges }
      return try range(from: try escapedScalar(inClass: true))
    }
    guard let scalar = peek else { throw Fault(reason: "a class is not closed") }
    index += 1
    return try range(from: scalar.value)
  }

  private mutating func range(from low: UInt32) throws(Fault) -> [ClosedRange<UInt32>] {
    guard peek == "-", index + 1 < scalars.count, scalars[index + 1] != "]", scalars[index + 1] != "-" else { return [low...low] }
    index += 1
    let high: UInt32
    if accept("\\") {
      high = try escapedScalar(inClass: true)
    } else if let scalar = peek {
      index += 1
      high = scalar.value
    } else {
      throw Fault(reason: "a class is not closed")
    }
    guard low <= high else { throw Fault(reason: "a range of a class is reversed") }
    return [low...high]
  }

  private mutating func posixClass(isOuter: Bool) throws(Fault) -> ScalarSet {
    let known: [(String, [ClosedRange<UInt32>])] = [
      ("alpha:]", [0x41...0x5A, 0x61...0x7A]), ("alnum:]", [0x30...0x39, 0x41...0x5A, 0x61...0x7A]), ("digit:]", [0x30...0x39]),
      ("upper:]", [0x41...0x5A]), ("lower:]", [0x61...0x7A]), ("xdigit:]", [0x30...0x39, 0x41...0x46, 0x61...0x66]),
    ]
    for (name, ranges) in known where accept(name) {
      guard !isOuter else { throw Fault(reason: "the opposite of a class by name is not supported") }
      return ScalarSet(ranges)
    }
    throw Fault(reason: "this class by name is not supported")
  }
}
