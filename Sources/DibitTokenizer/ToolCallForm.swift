internal import DibitJSON
internal import DibitJinja

/// The text in which a model's own chat template writes calls of tools: what stands around a call's name and its arguments.
///
/// It is found by letting the template write calls of a made-up tool, so that a family is data and not code. Templates that know no tools,
/// or that write calls otherwise than with a name and, behind it, arguments as a JSON object, have none.
package struct ToolCallForm: Equatable, Sendable {
  /// Before the first call's name.
  package let opening: String
  /// Between a call's name and its arguments.
  package let middle: String
  /// Between the arguments of a call and the name of the next; nil where a message has one call at most.
  package let separator: String?
  /// Behind the last call's arguments, without what ends every message.
  package let closing: String
  /// The beginning of the opening that tells a call from words.
  package let marker: String

  /// The stand-ins for what a call says: nothing that a template looks for, changes or writes.
  private static let (name, key, value) = ("dibitMarkName", "dibitMarkKey", "dibitMarkValue")
  /// An identifier such as Mistral's templates ask for: nine letters and digits.
  private static let identifier = "dibitMrk0"

  /// Finds the form of a template; nil where it has none.
  init?(_ template: JinjaChatTemplate) {
    let tools: JSONValue = [Self.tool]
    let user: JSONValue = ["role": "user", "content": "dibitMarkText"]
    func rendered(_ messages: [JSONValue], asks: Bool = false) -> String? {
      try? template.renderUndated(messages, tools: tools, addingGenerationPrompt: asks)
    }
    /// Returns the text of a message behind the prompt for it.
    func said(_ message: JSONValue) -> Substring? {
      guard let prompt = rendered([user], asks: true), let whole = rendered([user, message]), whole.utf8.starts(with: prompt.utf8) else {
        return nil
      }
      return whole[whole.utf8.index(whole.startIndex, offsetBy: prompt.utf8.count)...]
    }
    let offered = rendered([user], asks: true)
    guard offered?.contains(Self.name) == true, let one = said(Self.calls(1)), let answer = said(Self.answer),
      let mark = answer.firstRange(of: Self.value)
    else { return nil }
    let tail = answer[mark.upperBound...]
    guard let first = Self.parts(of: one) else { return nil }
    opening = String(one[..<first.name.lowerBound])
    middle = String(one[first.name.upperBound..<first.arguments.lowerBound])
    closing = Self.dropping(tail, from: one[first.arguments.upperBound...])
    separator = said(Self.calls(2)).flatMap { two in
      guard let first = Self.parts(of: two), let second = Self.parts(of: two[first.arguments.upperBound...]) else { return nil }
      return String(two[first.arguments.upperBound..<second.name.lowerBound])
    }
    // A bracket or a tag says that a call begins; where JSON begins at once, as answers may too, the whole opening does.
    let bracket = opening.firstIndex { $0 == "{" } ?? opening.endIndex
    let head = opening[..<bracket].trimmingPrefix { $0.isWhitespace }
    let words = head.prefix { !$0.isWhitespace }
    marker = words.isEmpty ? String(opening.trimmingPrefix { $0.isWhitespace }) : String(words)
    guard !marker.isEmpty else { return nil }
  }

  /// The ranges of the first call's name and of its arguments, an object behind it.
  private static func parts(of text: Substring) -> (name: Range<Substring.Index>, arguments: Range<Substring.Index>)? {
    guard let name = text.firstRange(of: name), let key = text[name.upperBound...].firstRange(of: "\"" + key + "\""),
      let value = text[key.upperBound...].firstRange(of: "\"" + value + "\""),
      let open = text[name.upperBound..<key.lowerBound].lastIndex(of: "{"), let close = text[value.upperBound...].firstIndex(of: "}")
    else { return nil }
    let arguments = open..<text.index(after: close)
    // Nothing but one object: an escaped text of it, or a list of pairs, is another form.
    guard let object = try? JSONValue(parsing: Array(text[arguments].utf8)), object.object?.count == 1 else { return nil }
    return (name, arguments)
  }

  /// The text without the end that it shares with every message.
  private static func dropping(_ tail: Substring, from text: Substring) -> String {
    text.hasSuffix(tail) ? String(text.dropLast(tail.count)) : String(text)
  }

  private static var tool: JSONValue {
    let parameters: JSONValue = [
      "type": "object", "properties": .object(JSONObject([(key: key, value: ["type": "string", "description": "dibitMarkText"])])),
      "required": [.string(key)],
    ]
    return ["type": "function", "function": ["name": .string(name), "description": "dibitMarkText", "parameters": parameters]]
  }

  private static var answer: JSONValue { ["role": "assistant", "content": .string(value)] }

  private static func calls(_ count: Int) -> JSONValue {
    let arguments = JSONValue.object(JSONObject([(key: key, value: .string(value))]))
    let call: JSONValue = [
      "id": .string(identifier), "type": "function", "function": ["name": .string(name), "arguments": arguments],
    ]
    return ["role": "assistant", "content": "", "tool_calls": .array(Array(repeating: call, count: count))]
  }
}
