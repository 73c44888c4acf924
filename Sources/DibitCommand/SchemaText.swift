internal import Dibit
internal import DibitConstraint
internal import DibitFiles

/// A JSON Schema that answers satisfy: the text of a file, or what was typed.
struct SchemaText {
  /// The form of the answer.
  let format: Response.Format
  /// The origin, as messages say it.
  let origin: String

  /// The most bytes of a schema.
  private static let limit = 1 << 20

  /// Reads the file that `argument` names, unless it is a schema itself, behind an option or a command of this name.
  init(_ argument: String, _ name: String) throws {
    if Self.isJSON(argument) {
      (format, origin) = (.schema(argument), name)
    } else {
      format = .schema(String(decoding: try readFile(argument, limit: Self.limit), as: UTF8.self))
      origin = "reading '\(argument)'"
    }
  }

  /// Refuses a schema that cannot be enforced.
  func check() throws { if case .schema(let text) = format { try Failure.context(origin) { _ = try Constraint(schema: text) } } }

  /// Checks whether a text is a schema, or what somebody may take for one, and not the name of a file with it.
  private static func isJSON(_ text: String) -> Bool {
    let start = text.drop(while: \.isWhitespace)
    return start.first == "{" || start.first == "[" || start == "true" || start == "false"
  }
}
