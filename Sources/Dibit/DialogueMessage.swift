package import DibitInference
package import DibitJSON

/// A call of a tool by a model.
package struct ToolCall: Equatable, Sendable {
  /// An identifier that tells calls apart: nine letters and digits, as some templates ask for.
  package var id: String
  /// The name of the tool.
  package var name: String
  /// The arguments, an object.
  package var arguments: JSONValue

  /// A call.
  package init(id: String, name: String, arguments: JSONValue) { (self.id, self.name, self.arguments) = (id, name, arguments) }
}

/// A tool that a model may call.
package struct OfferedTool: Equatable, Sendable {
  /// Its name, different from those of the others.
  package var name: String
  /// A sentence that says what it does.
  package var description: String
  /// The JSON Schema of its arguments as the model is shown it; nil for a tool that the model is not told of.
  package var shownSchema: JSONValue?
  /// The JSON Schema that arguments satisfy.
  package var schema: JSONValue

  /// A tool.
  package init(name: String, description: String, shownSchema: JSONValue?, schema: JSONValue) {
    (self.name, self.description, self.shownSchema, self.schema) = (name, description, shownSchema, schema)
  }
}

/// Something that was said in a dialogue.
package enum DialogueMessage: Equatable, Sendable {
  case system(String)
  case user(String)
  case assistant(String)
  /// Calls of tools, at least one, by the model, and what it says with them.
  case calls([ToolCall], saying: String = "")
  /// The text that the tool called by this call gave.
  case result(ToolCall, String)
}

/// A request for the next step of a dialogue: an answer, or calls of tools.
package struct DialogueRequest: Sendable {
  /// Rules for the use of tools.
  package enum ToolUse: Sendable {
    case allowed
    case required
    case disallowed
  }

  /// All that was said before; the last is the user's, or what tools gave.
  package var messages: [DialogueMessage]
  /// The tools that the model knows of.
  package var tools: [OfferedTool] = []
  /// The rule for their use.
  package var toolUse = ToolUse.allowed
  /// Calls that the model has made for this answer already: it is not let to make the same again.
  package var made: [ToolCall] = []
  /// Options for the answer, its form among them.
  package var options = Response.Options()

  /// A request for an answer behind these messages.
  package init(_ messages: [DialogueMessage]) { self.messages = messages }

  /// Rounds of tools for one answer; behind the last the model must answer.
  package static let roundLimit = 8

  /// The tools that may be called in this step.
  var callable: [OfferedTool] { toolUse == .disallowed ? [] : tools }
}

/// Tokens of a step of a dialogue.
package struct DialogueCounts: Equatable, Sendable {
  /// Those of the prompt.
  package var prompt = 0
  /// The number of these that had to be read.
  package var read = 0
  /// Those that were made, of calls and of the choice of a tool too.
  package var made = 0

  /// None.
  package init() {}
}

/// The next step of a dialogue.
package struct DialogueStep: Sendable {
  /// The answer; where ``calls`` are made, nothing.
  package var generation = Generation()
  /// The calls that the model makes instead of an answer.
  package var calls: [ToolCall] = []
  /// True where the answer ended because the context is full.
  package var isCutByContext = false
  /// Tokens that went in and out.
  package var counts = DialogueCounts()
  /// Seconds until the first token of the answer, or of the call, was there, from the turn of this dialogue on.
  package var firstSeconds = 0.0

  /// The text of the answer.
  package var text: String { generation.text }
  /// The reason for which the answer ended.
  package var end: Response.End { generation.finishReason == .length ? .length : .stop }
}
