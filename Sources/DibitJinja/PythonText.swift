/// Texts as Python's `str` treats them: sequences of Unicode scalars.
enum PythonText {
  static func strip(_ text: String, _ characters: String?, left: Bool = true, right: Bool = true) -> String {
    let set = characters.map { Set($0.unicodeScalars) }
    func drops(_ scalar: Unicode.Scalar) -> Bool { set?.contains(scalar) ?? isSpace(scalar) }
    var view = text.unicodeScalars[...]
    if left { view = view.drop(while: drops) }
    if right { while let last = view.last, drops(last) { view.removeLast() } }
    return String(view)
  }

  static func upper(_ text: String) -> String { mapped(text) { $0.properties.uppercaseMapping } }

  /// Lower case; a capital sigma at the end of a word becomes the final sigma.
  static func lower(_ text: String) -> String {
    guard text.unicodeScalars.contains("\u{3A3}") else { return mapped(text) { $0.properties.lowercaseMapping } }
    let scalars = Array(text.unicodeScalars)
    var result = ""
    for (index, scalar) in scalars.enumerated() {
      result += scalar == "\u{3A3}" ? (isFinal(scalars, index) ? "\u{3C2}" : "\u{3C3}") : scalar.properties.lowercaseMapping
    }
    return result
  }

  private static func isFinal(_ scalars: [Unicode.Scalar], _ index: Int) -> Bool {
    let before = scalars[..<index].last { !$0.properties.isCaseIgnorable }
    let after = scalars[(index + 1)...].first { !$0.properties.isCaseIgnorable }
    return (before?.properties.isCased ?? false) && !(after?.properties.isCased ?? false)
  }

  private static func mapped(_ text: String, _ mapping: (Unicode.Scalar) -> String) -> String {
    var result = ""
    for scalar in text.unicodeScalars { result += mapping(scalar) }
    return result
  }

  static func capitalize(_ text: String) -> String {
    guard let first = text.unicodeScalars.first else { return "" }
    return first.properties.titlecaseMapping + rest(lowering: text)
  }

  private static func rest(lowering text: String) -> String {
    // The first letter decides whether a sigma after it is final.
    let whole = lower(text)
    let firstCount = lower(String(text.unicodeScalars.prefix(1))).unicodeScalars.count
    return String(whole.unicodeScalars.dropFirst(firstCount))
  }

  /// The method `title`: every letter after something that is not a letter is a capital.
  static func title(_ text: String) -> String {
    let lowered = text.unicodeScalars.contains("\u{3A3}") ? Array(lower(text).unicodeScalars) : []
    var result = ""
    var afterCased = false
    for (index, scalar) in text.unicodeScalars.enumerated() {
      if afterCased {
        let isSigma = scalar == "\u{3A3}" && index < lowered.count
        result += isSigma ? String(Character(lowered[index])) : scalar.properties.lowercaseMapping
      } else {
        result += scalar.properties.titlecaseMapping
      }
      afterCased = scalar.properties.isCased
    }
    return result
  }

  /// The filter `title`: every word, where words end at white space and `-({[<`.
  static func titleWords(_ text: String) -> String {
    var result = ""
    var word = ""
    func flush() {
      guard let first = word.unicodeScalars.first else { return }
      result += first.properties.uppercaseMapping + lower(String(word.unicodeScalars.dropFirst()))
      word = ""
    }
    for scalar in text.unicodeScalars {
      if isSpace(scalar) || "-({[<".unicodeScalars.contains(scalar) {
        flush()
        result.unicodeScalars.append(scalar)
      } else {
        word.unicodeScalars.append(scalar)
      }
    }
    flush()
    return result
  }

  /// The offsets in UTF-8 at which `part` is found, from the left without overlaps.
  static func matches(of part: String, in text: String) -> [Int] {
    let (text, part) = (Array(text.utf8), Array(part.utf8))
    guard !part.isEmpty, part.count <= text.count else { return [] }
    // Knuth, Morris and Pratt: linear however the texts repeat themselves.
    var failure = [Int](repeating: 0, count: part.count)
    var length = 0
    for index in part.indices.dropFirst() {
      while length > 0, part[index] != part[length] { length = failure[length - 1] }
      if part[index] == part[length] { length += 1 }
      failure[index] = length
    }
    var found: [Int] = []
    length = 0
    for (index, byte) in text.enumerated() {
      while length > 0, byte != part[length] { length = failure[length - 1] }
      if byte == part[length] { length += 1 }
      if length == part.count {
        found.append(index + 1 - length)
        length = 0
      }
    }
    return found
  }

  static func contains(_ text: String, _ part: String) -> Bool { part.isEmpty || !matches(of: part, in: text).isEmpty }

  /// The number of scalars before the first place where `part` is found, or nil.
  static func find(_ part: String, in text: String) -> Int? {
    if part.isEmpty { return 0 }
    guard let offset = matches(of: part, in: text).first else { return nil }
    return text.utf8.prefix(offset).reduce(0) { $0 + ($1 & 0xC0 == 0x80 ? 0 : 1) }
  }

  /// The pieces of `text` between the first `limit` occurrences (all, when negative) of `separator`.
  static func split(_ text: String, separator: String, limit: Int, fromRight: Bool = false) -> [String] {
    var offsets = matches(of: separator, in: text)
    if limit >= 0 { offsets = fromRight ? Array(offsets.suffix(limit)) : Array(offsets.prefix(limit)) }
    let bytes = Array(text.utf8)
    var pieces: [String] = []
    var start = 0
    for offset in offsets {
      pieces.append(String(decoding: bytes[start..<offset], as: UTF8.self))
      start = offset + separator.utf8.count
    }
    return pieces + [String(decoding: bytes[start...], as: UTF8.self)]
  }

  /// The words of `text`, of which the last keeps its white space when `limit` is reached.
  static func words(_ text: String, limit: Int) -> [String] {
    let scalars = Array(text.unicodeScalars)
    var words: [String] = []
    var index = 0
    while true {
      while index < scalars.count, isSpace(scalars[index]) { index += 1 }
      guard index < scalars.count else { return words }
      if limit >= 0, words.count == limit {
        var end = scalars.count
        while end > index, isSpace(scalars[end - 1]) { end -= 1 }
        // Python keeps the white space at the end of the last piece.
        end = scalars.count
        return words + [string(scalars[index..<end])]
      }
      let start = index
      while index < scalars.count, !isSpace(scalars[index]) { index += 1 }
      words.append(string(scalars[start..<index]))
    }
  }

  static func string(_ scalars: some Collection<Unicode.Scalar>) -> String {
    var view = String.UnicodeScalarView()
    view.append(contentsOf: scalars)
    return String(view)
  }

  static func replace(_ text: String, _ old: String, _ new: String, limit: Int) -> String {
    guard old.isEmpty else { return split(text, separator: old, limit: limit).joined(separator: new) }
    var result = ""
    var done = 0
    for scalar in text.unicodeScalars {
      if limit < 0 || done < limit { result += new }
      done += 1
      result.unicodeScalars.append(scalar)
    }
    return limit < 0 || done < limit ? result + new : result
  }

  static func lines(_ text: String, keepingEnds: Bool = false) -> [String] {
    var lines: [String] = []
    var line = String.UnicodeScalarView()
    var isOpen = false
    var pendingReturn = false
    for scalar in text.unicodeScalars {
      if pendingReturn {
        pendingReturn = false
        if scalar == "\n" {
          if keepingEnds { lines[lines.count - 1].unicodeScalars.append(scalar) }
          continue
        }
      }
      switch scalar.value {
      case 0x0A...0x0D, 0x1C...0x1E, 0x85, 0x2028, 0x2029:
        if keepingEnds { line.append(scalar) }
        lines.append(String(line))
        line = String.UnicodeScalarView()
        isOpen = false
        pendingReturn = scalar == "\r"
      default:
        line.append(scalar)
        isOpen = true
      }
    }
    if isOpen { lines.append(String(line)) }
    return lines
  }

  /// Compares by scalars, which is the order of the bytes of UTF-8.
  static func isLess(_ left: String, _ right: String) -> Bool { left.utf8.lexicographicallyPrecedes(right.utf8) }

  /// `repr` of a text.
  static func shown(_ text: String) -> String {
    let quote: Unicode.Scalar = text.unicodeScalars.contains("'") && !text.unicodeScalars.contains("\"") ? "\"" : "'"
    var result = String.UnicodeScalarView()
    result.append(quote)
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\", quote:
        result.append("\\")
        result.append(scalar)
      case "\n": result.append(contentsOf: "\\n".unicodeScalars)
      case "\r": result.append(contentsOf: "\\r".unicodeScalars)
      case "\t": result.append(contentsOf: "\\t".unicodeScalars)
      case " "..."~": result.append(scalar)
      default:
        if isPrintable(scalar) {
          result.append(scalar)
        } else {
          let (letter, width) = scalar.value < 0x100 ? ("x", 2) : scalar.value < 0x10000 ? ("u", 4) : ("U", 8)
          result.append(contentsOf: ("\\" + letter + hexadecimal(scalar.value, width)).unicodeScalars)
        }
      }
    }
    result.append(quote)
    return String(result)
  }

  static func hexadecimal(_ value: UInt32, _ width: Int) -> String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }

  private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator, .spaceSeparator: false
    default: true
    }
  }

  /// `repr` of a float: the shortest digits, with an exponent below 1e-4 and from 1e16 on.
  static func shown(_ value: Double) -> String {
    if value.isNaN { return "nan" }
    if value.isInfinite { return value < 0 ? "-inf" : "inf" }
    var text = Substring("\(value)")
    let sign = text.hasPrefix("-") ? "-" : ""
    if !sign.isEmpty { text.removeFirst() }
    var exponent = 0
    if let mark = text.firstIndex(of: "e") {
      exponent = Int(text[text.index(after: mark)...]) ?? 0
      text = text[..<mark]
    }
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    let fraction = parts.count > 1 && parts[1] != "0" ? String(parts[1]) : ""
    var digits = String(parts[0]) + fraction
    var point = parts[0].count + exponent
    while digits.count > 1, digits.hasPrefix("0") {
      digits.removeFirst()
      point -= 1
    }
    while digits.count > 1, digits.hasSuffix("0") { digits.removeLast() }
    if digits == "0" { return sign + "0.0" }
    if point > 16 || point < -3 {
      let power = point - 1
      let mantissa = digits.count == 1 ? digits : digits.prefix(1) + "." + digits.dropFirst()
      return sign + mantissa + "e" + (power < 0 ? "-" : "+") + (abs(power) < 10 ? "0" : "") + String(abs(power))
    }
    if point <= 0 { return sign + "0." + String(repeating: "0", count: -point) + digits }
    if point >= digits.count { return sign + digits + String(repeating: "0", count: point - digits.count) + ".0" }
    return sign + digits.prefix(point) + "." + digits.dropFirst(point)
  }

  /// A number as Python's `int` reads it.
  static func wholeNumber(_ text: String, base: Int) -> Int?? {
    var body = strip(text, nil)[...]
    let isNegative = body.hasPrefix("-")
    if isNegative || body.hasPrefix("+") { body.removeFirst() }
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] where (base == radix || base == 0) && body.lowercased().hasPrefix(prefix) {
      body = body.dropFirst(2)
      if body.hasPrefix("_") { body.removeFirst() }
    }
    guard (2...36).contains(base), let first = body.first, let last = body.last, first != "_", last != "_", !body.contains("__") else {
      return nil
    }
    let digits = body.filter { $0 != "_" }
    guard digits.allSatisfy({ $0.isASCII && ($0.isNumber || $0.isLetter) && (digitValue($0) ?? 99) < base }) else { return nil }
    return .some(Int((isNegative ? "-" : "") + digits, radix: base))
  }

  private static func digitValue(_ character: Character) -> Int? { Int(String(character), radix: 36) }

  /// A number as Python's `float` reads it.
  static func float(_ text: String) -> Double? {
    let body = strip(text, nil)
    guard !body.isEmpty, body.utf8.allSatisfy({ $0 < 0x80 }), !body.hasPrefix("_"), !body.hasSuffix("_"), !body.contains("__") else {
      return nil
    }
    let lowered = body.lowercased()
    let unsigned = lowered.drop { $0 == "+" || $0 == "-" }
    if lowered.count - unsigned.count <= 1, ["inf", "infinity", "nan"].contains(String(unsigned)) {
      let value = unsigned == "nan" ? Double.nan : .infinity
      return lowered.hasPrefix("-") ? -value : value
    }
    guard lowered.allSatisfy({ $0.isNumber || "+-.e_".contains($0) }) else { return nil }
    let characters = Array(lowered)
    for (index, character) in characters.enumerated() where character == "_" {
      guard characters[index - 1].isNumber, characters[index + 1].isNumber else { return nil }
    }
    var digits = lowered.filter { $0 != "_" }
    // Swift wants digits on both sides of the point.
    if digits.hasSuffix(".") { digits += "0" }
    return Double(digits.replacing(".e", with: ".0e")) ?? Double(digits.replacing("-.", with: "-0.").replacing("+.", with: "+0."))
      ?? Double("0" + digits)
  }
}
