internal import DibitFailure

/// A piece of a template.
enum Token: Equatable {
  case data(String)
  case variableBegin
  case variableEnd
  case blockBegin
  case blockEnd
  case name(String)
  case string(String)
  case integer(Int)
  case float(Double)
  case op(String)
  case end

  /// The name of this token in an error.
  var shown: String {
    switch self {
    case .data: "text"
    case .variableBegin: "'{{'"
    case .variableEnd: "'}}'"
    case .blockBegin: "'{%'"
    case .blockEnd: "'%}'"
    case .name(let name): quoted(name)
    case .string: "a string"
    case .integer, .float: "a number"
    case .op(let op): "'\(op)'"
    case .end: "the end of the template"
    }
  }
}

/// A token and the offset at which it starts.
struct LocatedToken {
  let token: Token
  let offset: Int
}

/// Cuts a template into tokens as Jinja does with `trim_blocks` and `lstrip_blocks`.
struct JinjaLexer {
  /// The template with line feeds only, and without the last of them.
  let source: [Unicode.Scalar]
  private var offset = 0
  private var tokens: [LocatedToken] = []
  private var lineStarts = true

  init(_ template: String) {
    var source: [Unicode.Scalar] = []
    var afterReturn = false
    for scalar in template.unicodeScalars {
      if !(afterReturn && scalar == "\n") { source.append(scalar == "\r" ? "\n" : scalar) }
      afterReturn = scalar == "\r"
    }
    if source.last == "\n" { source.removeLast() }
    self.source = source
  }

  /// All tokens, the last of which is ``Token/end``.
  mutating func run() throws(JinjaError) -> [LocatedToken] {
    while offset < source.count { try text() }
    add(.end, source.count)
    return tokens
  }

  private mutating func add(_ token: Token, _ offset: Int) { tokens.append(LocatedToken(token: token, offset: offset)) }

  private func has(_ text: String, at offset: Int) -> Bool {
    var index = offset
    for scalar in text.unicodeScalars {
      guard index < source.count, source[index] == scalar else { return false }
      index += 1
    }
    return true
  }

  private func skipSpace(_ start: Int) -> Int {
    var index = start
    while index < source.count, isSpace(source[index]) { index += 1 }
    return index
  }

  private func string(_ range: Range<Int>) -> String {
    var text = String.UnicodeScalarView()
    text.append(contentsOf: source[range])
    return String(text)
  }

  /// Text up to the next tag, and the tag.
  private mutating func text() throws(JinjaError) {
    let start = offset
    var index = start
    while index < source.count {
      if source[index] == "{", index + 1 < source.count {
        let kind = source[index + 1]
        if kind == "%" || kind == "{" || kind == "#" { break }
      }
      index += 1
    }
    guard index < source.count else {
      add(.data(string(start..<index)), start)
      offset = index
      return
    }
    let kind = source[index + 1]
    let sign: Unicode.Scalar? = index + 2 < source.count && (source[index + 2] == "-" || source[index + 2] == "+") ? source[index + 2] : nil
    appendText(start..<index, sign: sign, strips: kind != "{")
    offset = index + 2 + (sign == nil ? 0 : 1)
    switch kind {
    case "#": try comment(index)
    case "{":
      add(.variableBegin, index)
      lineStarts = false
      try expression(block: false, index)
    default:
      if let body = rawBegin() { return try raw(body, index) }
      add(.blockBegin, index)
      lineStarts = false
      try expression(block: true, index)
    }
  }

  /// Text before a tag: `-` strips it, and white space alone on the tag's line is dropped.
  private mutating func appendText(_ range: Range<Int>, sign: Unicode.Scalar?, strips: Bool) {
    var end = range.upperBound
    if sign == "-" {
      while end > range.lowerBound, isSpace(source[end - 1]) { end -= 1 }
    } else if sign != "+", strips {
      var line = end
      while line > range.lowerBound, source[line - 1] != "\n" { line -= 1 }
      let isWholeLine = line > range.lowerBound || lineStarts
      if isWholeLine, source[line..<end].allSatisfy(isSpace) { end = line }
    }
    if end > range.lowerBound { add(.data(string(range.lowerBound..<end)), range.lowerBound) }
  }

  /// After `%}`, `+%}` or `-%}` (`closing` is `%}` or `#}`) at the offset, or nil when there is none.
  private func blockEnd(_ closing: String, at index: Int) -> Int? {
    if has("+" + closing, at: index) { return index + 3 }
    if has("-" + closing, at: index) { return skipSpace(index + 3) }
    guard has(closing, at: index) else { return nil }
    return index + 2 < source.count && source[index + 2] == "\n" ? index + 3 : index + 2
  }

  private mutating func move(to end: Int) {
    offset = end
    lineStarts = end > 0 && source[end - 1] == "\n"
  }

  private mutating func comment(_ start: Int) throws(JinjaError) {
    while offset < source.count {
      if let end = blockEnd("#}", at: offset) { return move(to: end) }
      offset += 1
    }
    throw .syntax(at: JinjaPosition(of: start, in: source), "the comment has no end")
  }

  /// The end of `raw %}`, or nil when another tag follows.
  private func rawBegin() -> Int? {
    let word = skipSpace(offset)
    guard has("raw", at: word) else { return nil }
    let end = skipSpace(word + 3)
    if has("-%}", at: end) { return skipSpace(end + 3) }
    return has("%}", at: end) ? end + 2 : nil
  }

  private mutating func raw(_ body: Int, _ start: Int) throws(JinjaError) {
    move(to: body)
    var index = body
    while index < source.count {
      guard has("{%", at: index) else {
        index += 1
        continue
      }
      let sign: Unicode.Scalar? = index + 2 < source.count && "+-".unicodeScalars.contains(source[index + 2]) ? source[index + 2] : nil
      let word = skipSpace(index + (sign == nil ? 2 : 3))
      if has("endraw", at: word), let end = blockEnd("%}", at: skipSpace(word + 6)) {
        appendText(body..<index, sign: sign, strips: true)
        return move(to: end)
      }
      index += 1
    }
    throw .syntax(at: JinjaPosition(of: start, in: source), "'raw' has no 'endraw'")
  }

  private mutating func expression(block: Bool, _ start: Int) throws(JinjaError) {
    var open: [Unicode.Scalar] = []
    while offset < source.count {
      if open.isEmpty {
        if block, let end = blockEnd("%}", at: offset) {
          add(.blockEnd, offset)
          return move(to: end)
        }
        if !block, has("-}}", at: offset) || has("}}", at: offset) {
          add(.variableEnd, offset)
          return move(to: source[offset] == "-" ? skipSpace(offset + 3) : offset + 2)
        }
      }
      let scalar = source[offset]
      if isSpace(scalar) {
        offset += 1
      } else if isDigit(scalar) {
        try number()
      } else if scalar == "_" || scalar.properties.isXIDStart {
        name()
      } else if scalar == "'" || scalar == "\"" {
        try quotedString(scalar)
      } else {
        try symbol(&open)
      }
    }
    throw .syntax(at: JinjaPosition(of: start, in: source), "the tag has no end")
  }

  private mutating func name() {
    let start = offset
    while offset < source.count, source[offset] == "_" || source[offset].properties.isXIDContinue { offset += 1 }
    add(.name(string(start..<offset)), start)
  }

  private mutating func symbol(_ open: inout [Unicode.Scalar]) throws(JinjaError) {
    let scalar = source[offset]
    for op in ["//", "**", "==", "!=", ">=", "<="] where has(op, at: offset) {
      add(.op(op), offset)
      offset += 2
      return
    }
    guard "+-/*%~[](){}><=.:|,;".unicodeScalars.contains(scalar) else {
      throw .syntax(at: JinjaPosition(of: offset, in: source), "unexpected character \(quoted(String(scalar)))")
    }
    switch scalar {
    case "(": open.append(")")
    case "[": open.append("]")
    case "{": open.append("}")
    case ")", "]", "}":
      guard open.popLast() == scalar else { throw .syntax(at: JinjaPosition(of: offset, in: source), "unexpected '\(scalar)'") }
    default: break
    }
    add(.op(String(scalar)), offset)
    offset += 1
  }

  /// The end of digits that may have single underscores between them.
  private func digits(_ start: Int, _ isDigit: (Unicode.Scalar) -> Bool) -> Int {
    var index = start
    while index < source.count {
      if isDigit(source[index]) {
        index += 1
      } else if index > start, source[index] == "_", index + 1 < source.count, isDigit(source[index + 1]) {
        index += 2
      } else {
        break
      }
    }
    return index
  }

  private mutating func number() throws(JinjaError) {
    let start = offset
    let whole = digits(start, isDigit)
    var end = whole
    if !(start > 0 && source[start - 1] == ".") {
      if end + 1 < source.count, source[end] == ".", isDigit(source[end + 1]) { end = digits(end + 1, isDigit) }
      if end < source.count, source[end] == "e" || source[end] == "E" {
        let sign = end + 1 < source.count && (source[end + 1] == "+" || source[end + 1] == "-") ? 1 : 0
        let exponent = digits(end + 1 + sign, isDigit)
        if exponent > end + 1 + sign { end = exponent }
      }
    }
    if end > whole {
      offset = end
      return add(.float(Double(string(start..<end).filter { $0 != "_" }) ?? .infinity), start)
    }
    var radix = 10
    if source[start] == "0", start + 1 < source.count {
      switch source[start + 1] {
      case "x", "X": radix = 16
      case "o", "O": radix = 8
      case "b", "B": radix = 2
      default: break
      }
    }
    if radix != 10 {
      let first = start + 2 + (start + 2 < source.count && source[start + 2] == "_" ? 1 : 0)
      let last = digits(first) { scalar in (Character(scalar).hexDigitValue ?? 99) < radix && scalar.isASCII }
      if last > first { return try integer(first..<last, radix, start) }
    } else if source[start] == "0" {
      // Zeros may be repeated; other digits after a zero are a number of their own.
      return try integer(start..<digits(start) { $0 == "0" }, 10, start)
    }
    try integer(start..<(radix == 10 ? whole : start + 1), 10, start)
  }

  private mutating func integer(_ range: Range<Int>, _ radix: Int, _ start: Int) throws(JinjaError) {
    guard let value = Int(string(range).filter { $0 != "_" }, radix: radix) else {
      throw .limit(at: JinjaPosition(of: start, in: source), .integer, maximum: 64)
    }
    add(.integer(value), start)
    offset = range.upperBound
  }

  private mutating func quotedString(_ quote: Unicode.Scalar) throws(JinjaError) {
    let start = offset
    var text = String.UnicodeScalarView()
    offset += 1
    while offset < source.count {
      let scalar = source[offset]
      offset += 1
      if scalar == quote { return add(.string(String(text)), start) }
      guard scalar == "\\", offset < source.count else {
        text.append(scalar)
        continue
      }
      try escape(into: &text)
    }
    throw .syntax(at: JinjaPosition(of: start, in: source), "the string has no end")
  }

  private mutating func escape(into text: inout String.UnicodeScalarView) throws(JinjaError) {
    let start = offset - 1
    let scalar = source[offset]
    offset += 1
    switch scalar {
    case "\n": break
    case "\\", "'", "\"": text.append(scalar)
    case "a": text.append("\u{7}")
    case "b": text.append("\u{8}")
    case "f": text.append("\u{c}")
    case "n": text.append("\n")
    case "r": text.append("\r")
    case "t": text.append("\t")
    case "v": text.append("\u{b}")
    case "0"..."7":
      var end = offset
      while end < source.count, end < offset + 2, ("0"..."7").contains(source[end]) { end += 1 }
      text.append(try scalarValue(offset - 1..<end, 8, start))
    case "x": text.append(try hexadecimal(2, start))
    case "u": text.append(try hexadecimal(4, start))
    case "U": text.append(try hexadecimal(8, start))
    case "N": throw .unsupported(at: JinjaPosition(of: start, in: source), "'\\N'")
    default:
      text.append("\\")
      text.append(scalar)
    }
  }

  private mutating func hexadecimal(_ count: Int, _ start: Int) throws(JinjaError) -> Unicode.Scalar {
    guard offset + count <= source.count else { throw .syntax(at: JinjaPosition(of: start, in: source), "the escape is cut short") }
    return try scalarValue(offset..<offset + count, 16, start)
  }

  private mutating func scalarValue(_ range: Range<Int>, _ radix: UInt32, _ start: Int) throws(JinjaError) -> Unicode.Scalar {
    guard source[range].allSatisfy({ $0.isASCII && Character($0).isHexDigit }), let value = UInt32(string(range), radix: Int(radix)),
      let scalar = Unicode.Scalar(value)
    else { throw .syntax(at: JinjaPosition(of: start, in: source), "the escape is not a character") }
    offset = range.upperBound
    return scalar
  }
}

extension JinjaPosition {
  /// The line and column of an offset.
  init(of offset: Int, in source: [Unicode.Scalar]) {
    var (line, column) = (1, 1)
    for scalar in source.prefix(offset) {
      if scalar == "\n" {
        line += 1
        column = 1
      } else {
        column += 1
      }
    }
    self.init(line: line, column: column)
  }
}

func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }

/// White space as Python's `str` knows it.
func isSpace(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.value {
  case 0x09...0x0D, 0x1C...0x20, 0x85, 0xA0, 0x1680, 0x2000...0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000: true
  default: false
  }
}
