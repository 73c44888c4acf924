internal import DibitJSON
internal import DibitTokenizer

extension ChatMessage {
  /// Keys of a message that change what is said.
  private static let unsupported = [
    ("tools", "a tool"), ("tool_calls", "a call of a tool"), ("function_call", "a call of a tool"),
    ("response_format", "a response format"),
  ]

  /// The message at `index` of a list, whose content may be in OpenAI's parts.
  init(_ object: JSONObject, index: Int) throws(RowFault) {
    for (key, what) in Self.unsupported where object[key].map({ !$0.isNull && $0.array?.isEmpty != true }) ?? false {
      throw .unsupportedKey(key, what: what)
    }
    guard let name = object["role"] else { throw .missingKey("role", found: object.members.map(\.key)) }
    guard let name = name.string else { throw .wrongType(key: "role", expected: "a text", found: name.kind) }
    guard let role = Role(rawValue: name) else { throw .unknownRole(index: index, found: name) }
    guard let content = object["content"] else { throw .missingKey("content", found: object.members.map(\.key)) }
    if let weight = object["weight"], !weight.isNull {
      guard role == .assistant, let number = weight.double, number == 0 || number == 1 else {
        throw .wrongType(key: "weight", expected: "0 or 1, in an assistant's message", found: weight.double.map { "\($0)" } ?? weight.kind)
      }
    }
    guard let parts = content.array else {
      self.init(role: role, content: try Self.text(content, "content"))
      return
    }
    var text = ""
    for part in parts {
      guard part["type"]?.string == "text", let piece = part["text"]?.string else {
        throw .wrongType(
          key: "content", expected: "a text or parts of type text", found: part["type"]?.string.map { "'\($0)'" } ?? part.kind)
      }
      text += Self.normalized(piece)
    }
    self.init(role: role, content: text)
  }

  /// The text of a value.
  static func text(_ value: JSONValue, _ key: String) throws(RowFault) -> String {
    guard let text = value.string else { throw .wrongType(key: key, expected: "a text", found: value.kind) }
    return normalized(text)
  }

  /// With LF line ends, which escapes can spell otherwise.
  private static func normalized(_ text: String) -> String {
    guard text.utf8.contains(0x0D) else { return text }
    var output = UTF8Output(capacity: text.utf8.count)
    for byte in text.utf8 { output.append(byte: byte) }
    return String(decoding: output.bytes, as: UTF8.self)
  }
}
