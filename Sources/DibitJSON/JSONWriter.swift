extension JSONValue {
  /// The document as UTF-8, with or without line breaks and indentation; keys keep their order, so equal values give equal bytes.
  ///
  /// A number that JSON cannot express (NaN, infinity) is written as `null`.
  package func serialized(pretty: Bool = false) -> String {
    var text = ""
    write(into: &text, indentation: pretty ? 0 : nil)
    return text
  }

  private func write(into text: inout String, indentation: Int?) {
    switch self {
    case .null: text += "null"
    case .bool(let value): text += value ? "true" : "false"
    case .integer(let value): text += String(value)
    case .number(let value): text += value.isFinite ? (Int(exactly: value).map(String.init) ?? "\(value)") : "null"
    case .string(let value): Self.write(string: value, into: &text)
    case .array(let elements):
      // A pretty array of plain values stays on one line: shapes and confusion rows are read that way.
      let isFlat = elements.allSatisfy { $0.array == nil && $0.object == nil }
      Self.write(elements, open: "[", close: "]", into: &text, indentation: isFlat ? nil : indentation) { element, text, inner in
        element.write(into: &text, indentation: inner)
      }
    case .object(let object):
      Self.write(object.members, open: "{", close: "}", into: &text, indentation: indentation) { member, text, inner in
        Self.write(string: member.key, into: &text)
        text += inner == nil ? ":" : ": "
        member.value.write(into: &text, indentation: inner)
      }
    }
  }

  private static func write<Element>(
    _ elements: [Element], open: String, close: String, into text: inout String, indentation: Int?,
    element: (Element, inout String, Int?) -> Void
  ) {
    text += open
    let inner = indentation.map { $0 + 1 }
    for (index, value) in elements.enumerated() {
      if index > 0 { text += "," }
      newline(inner, into: &text)
      element(value, &text, inner)
    }
    if !elements.isEmpty { newline(indentation, into: &text) }
    text += close
  }

  private static func newline(_ indentation: Int?, into text: inout String) {
    guard let indentation else { return }
    text += "\n" + String(repeating: "  ", count: indentation)
  }

  private static func write(string: String, into text: inout String) {
    text += "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      case "\u{0}"..<"\u{20}":
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: text.unicodeScalars.append(scalar)
      }
    }
    text += "\""
  }
}
