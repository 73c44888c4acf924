internal import DibitJSON

extension GeneratedContent {
  /// Content from a JSON text, which may end early.
  ///
  /// A text that is cut off gives the part that is certain: strings as far as they go, arrays and structures with the values that are
  /// there. Unfinished numbers and words, and names without a value, are left out. A text that is one number is that number. Everything
  /// else must be JSON: names come once, and nothing is nested deeper than 128 levels.
  ///
  /// The content and each structure in it have a new ``GenerationID``, so content that is read twice is not equal.
  ///
  /// - Parameters:
  ///   - json: The text.
  /// - Throws: ``ParsingError`` with the first fault and its offset.
  /// - Complexity: O(bytes).
  public init(json: String) throws {
    var stream = StreamedContent(id: GenerationID())
    self = try stream.update(json)
  }

  /// The content as one line of JSON, with a space behind each colon and comma.
  ///
  /// Properties come in their order. Numbers that JSON cannot express (NaN, infinity) are written as `null`. Of incomplete content it
  /// holds the part that is there, closed.
  public var jsonString: String {
    var text = ""
    write(into: &text)
    return text
  }

  /// The keys of a structure, each once: the ordered ones, then others that somebody may have left out of the order.
  static func keys(of properties: [String: GeneratedContent], ordered: [String]) -> [String] {
    var seen = Set<String>()
    let known = ordered.filter { properties[$0] != nil && seen.insert($0).inserted }
    return known.count == properties.count ? known : known + properties.keys.filter { !seen.contains($0) }.sorted()
  }

  /// The number as JSON has it.
  var numberText: String {
    guard case .number(let value) = kind else { return "null" }
    if let literal { return literal }
    guard value.isFinite else { return "null" }
    if value == 0, value.sign == .minus { return "-0.0" }
    return Int(exactly: value).map(String.init) ?? "\(value)"
  }

  private func write(into text: inout String) {
    switch kind {
    case .null: text += "null"
    case .bool(let value): text += value ? "true" : "false"
    case .number: text += numberText
    case .string(let value): text += JSONValue.string(value).serialized()
    case .array(let elements):
      text += "["
      for (index, element) in elements.enumerated() {
        if index > 0 { text += ", " }
        element.write(into: &text)
      }
      text += "]"
    case .structure(let properties, let orderedKeys):
      text += "{"
      for (index, key) in Self.keys(of: properties, ordered: orderedKeys).enumerated() {
        if index > 0 { text += ", " }
        text += JSONValue.string(key).serialized() + ": "
        properties[key]?.write(into: &text)
      }
      text += "}"
    }
  }
}
