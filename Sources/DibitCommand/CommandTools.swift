internal import Dibit
internal import DibitConstraint
internal import DibitFailure
internal import DibitFiles
internal import DibitJSON

/// Tools of a chat that are commands of this machine: each gets its arguments as JSON on standard input, and gives what it prints.
struct CommandTools {
  /// The tools as the model is told of them.
  let offered: [OfferedTool]
  private let commands: [String: TimedCommand]

  /// A command, and the seconds after which nobody waits for it any more.
  private struct TimedCommand {
    var command: ChildCommand
    var timeout: Double
  }

  /// No tools.
  init() { (offered, commands) = ([], [:]) }

  /// Bytes of a file with tools, and of what one of them gives.
  private static let (fileLimit, outputLimit) = (1 << 20, 1 << 20)

  /// Seconds that a tool may take which does not say how many, and at most.
  private static let (timeout, longestTimeout) = (60.0, 86_400.0)

  /// Reads the tools in a file: a JSON list of functions as OpenAI's requests have them, each with a `command`.
  init(reading path: String) throws {
    let bytes = try readFile(path, limit: Self.fileLimit)
    let value = try Failure.context("reading '\(path)'") { try JSONValue(parsing: bytes, depthLimit: 64) }
    guard let list = value.array, !list.isEmpty else {
      throw Failure(.badData, "'\(path)': a list of tools expected, found \(value.array == nil ? value.kind : "an empty one")")
    }
    var (offered, commands) = ([OfferedTool](), [String: TimedCommand]())
    for (index, value) in list.enumerated() {
      let location = "'\(path)': tool \(index + 1)"
      let tool = try Self.tool(value, location)
      guard commands.updateValue(try Self.command(value, location), forKey: tool.name) == nil else {
        throw Failure(.badData, "\(location): a name of its own expected, found \(quoted(tool.name)) again")
      }
      offered.append(tool)
    }
    (self.offered, self.commands) = (offered, commands)
  }

  private static func tool(_ value: JSONValue, _ location: String) throws -> OfferedTool {
    let function = value["function"] ?? value
    guard let name = function["name"]?.string, !name.isEmpty else {
      throw Failure(.badData, "\(location): a function with a 'name' expected, found \(value.kind) without one")
    }
    let about = function["description"] ?? ""
    guard let description = about.string else {
      throw Failure(.badData, "\(location), \(quoted(name)): 'description': a text expected, found \(about.kind)")
    }
    let schema = function["parameters"] ?? ["type": "object", "properties": .object(JSONObject())]
    guard schema["type"] == "object" else {
      throw Failure(.badData, "\(location), \(quoted(name)): 'parameters': a JSON Schema of type object expected, found another")
    }
    try Failure.context("\(location), \(quoted(name)): 'parameters'") { _ = try Constraint(schema: schema.serialized()) }
    return OfferedTool(name: name, description: description, shownSchema: schema, schema: schema)
  }

  private static func command(_ value: JSONValue, _ location: String) throws -> TimedCommand {
    let words = value["command"]?.array?.compactMap(\.string)
    guard let words, !words.isEmpty, words.count == value["command"]?.array?.count else {
      throw Failure(
        .badData, "\(location): a 'command' expected, a list of a program and its arguments, found \(value["command"]?.kind ?? "none")")
    }
    let timeout = value["timeout"].map(\.double) ?? timeout
    guard let timeout, timeout > 0, timeout <= longestTimeout else {
      throw Failure(
        .badData,
        "\(location): 'timeout': seconds above 0 and up to \(Int(longestTimeout)) expected, found \(value["timeout"]?.serialized() ?? "none")"
      )
    }
    return TimedCommand(command: ChildCommand(words), timeout: timeout)
  }

  /// Calls a tool and returns what it gave, without the line end at its end.
  ///
  /// - Throws: `DibitError.cancelled` where Ctrl-C ended it.
  func call(_ call: ToolCall) throws -> String {
    guard let timed = commands[call.name] else { throw Failure(.badData, "there is no tool \(quoted(call.name))") }
    let end = ContinuousClock.now + .seconds(timed.timeout)
    let text: String? = try Failure.context("the tool '\(call.name)'") {
      let input = Array((call.arguments.serialized() + "\n").utf8)
      let isStopped = { Interrupt.isRequested || ContinuousClock.now >= end }
      guard let result = try timed.command.run(input: input, limit: Self.outputLimit, isStopped: isStopped) else {
        if Interrupt.isRequested { return nil }
        throw Failure(.badData, "an answer within \(timed.timeout) s expected; give it more time with a 'timeout' in its file")
      }
      guard result.status == 0 else { throw Failure(.badData, "the exit status 0 expected, found \(result.status)") }
      if let offset = UTF8Text.fault(in: result.output) { throw Failure(.badData, UTF8Text.message(result.output, offset)) }
      return String(decoding: result.output, as: UTF8.self)
    }
    guard let text else { throw DibitError.cancelled }
    return text.hasSuffix("\n") ? String(text.dropLast()) : text
  }
}
