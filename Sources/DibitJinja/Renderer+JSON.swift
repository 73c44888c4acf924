extension Renderer {
  /// `tojson` of transformers: `json.dumps` without escaping for HTML.
  func json(_ value: Value, _ arguments: CallArguments) throws(JinjaError) -> Value {
    let values = try arguments.bound(["ensure_ascii", "indent", "separators", "sort_keys"], self, for: "tojson")
    var writer = JSONText()
    writer.isASCII = values[0]?.isTrue ?? false
    writer.sortsKeys = values[3]?.isTrue ?? false
    let indent = values[1] ?? .none
    if !indent.isNone {
      guard indent.text != nil || indent.wholeNumber != nil else { throw wrongType(indent, "tojson") }
      if let count = indent.wholeNumber, count > 1000 { throw unsupported("this much indentation") }
      writer.indentation = indent.text ?? String(repeating: " ", count: max(0, indent.wholeNumber ?? 0))
      writer.itemSeparator = ","
    }
    if let separators = values[2], !separators.isNone {
      let pair = try iterate(separators)
      guard pair.count == 2, let item = pair[0].text, let key = pair[1].text else { throw invalid("'separators' are two strings") }
      (writer.itemSeparator, writer.keySeparator) = (item, key)
    }
    try write(value, &writer, 0)
    return .string(writer.text)
  }

  private struct JSONText {
    var text = ""
    var isASCII = false
    var sortsKeys = false
    var indentation: String?
    var itemSeparator = ", "
    var keySeparator = ": "

    func newline(_ level: Int) -> String { indentation.map { "\n" + String(repeating: $0, count: level) } ?? "" }
  }

  private func write(_ value: Value, _ writer: inout JSONText, _ level: Int) throws(JinjaError) {
    try charge()
    guard writer.text.utf8.count <= limits.outputBytes else { throw .limit(at: position, .textBytes, maximum: limits.outputBytes) }
    switch value {
    case .none: writer.text += "null"
    case .bool(let value): writer.text += value ? "true" : "false"
    case .integer(let value): writer.text += String(value)
    case .float(let value): writer.text += number(value)
    case .string(let text), .markup(let text): try write(text, &writer)
    case .list(let elements), .tuple(let elements):
      guard !elements.values.isEmpty else { return writer.text += "[]" }
      writer.text += "["
      for (index, element) in elements.values.enumerated() {
        writer.text += (index > 0 ? writer.itemSeparator : "") + writer.newline(level + 1)
        try write(element, &writer, level + 1)
      }
      writer.text += writer.newline(level) + "]"
    case .dictionary(let dictionary): try write(dictionary, &writer, level)
    default: throw wrongType(value, "tojson")
    }
  }

  private func write(_ dictionary: Value.Dictionary, _ writer: inout JSONText, _ level: Int) throws(JinjaError) {
    guard dictionary.count > 0 else { return writer.text += "{}" }
    var keys = dictionary.keys
    if writer.sortsKeys {
      let sorted = try apply("sort", to: try list(keys), CallArguments(named: [("case_sensitive", .bool(true))]), offset)
      keys = try iterate(sorted)
    }
    writer.text += "{"
    for (index, key) in keys.enumerated() {
      writer.text += (index > 0 ? writer.itemSeparator : "") + writer.newline(level + 1)
      switch key {
      case .string(let text), .markup(let text): try write(text, &writer)
      case .none: writer.text += "\"null\""
      case .bool(let value): writer.text += value ? "\"true\"" : "\"false\""
      case .integer(let value): writer.text += "\"\(value)\""
      case .float(let value): writer.text += "\"\(number(value))\""
      default: throw invalid("\(key.kind) cannot be a key in JSON")
      }
      writer.text += writer.keySeparator
      if let value = Key(key).flatMap({ dictionary[$0] }) { try write(value, &writer, level + 1) }
    }
    writer.text += writer.newline(level) + "}"
  }

  private func number(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value < 0 ? "-Infinity" : "Infinity" }
    return PythonText.shown(value)
  }

  private func write(_ string: String, _ writer: inout JSONText) throws(JinjaError) {
    try charge(bytes: string.utf8.count)
    var result = "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case "\u{8}": result += "\\b"
      case "\u{c}": result += "\\f"
      case "\u{0}"..<" ": result += "\\u" + PythonText.hexadecimal(scalar.value, 4)
      case " "..."~": result.unicodeScalars.append(scalar)
      default:
        if writer.isASCII {
          for unit in UTF16.encode(scalar) ?? .init() { result += "\\u" + PythonText.hexadecimal(UInt32(unit), 4) }
        } else {
          result.unicodeScalars.append(scalar)
        }
      }
    }
    writer.text += result + "\""
  }
}
