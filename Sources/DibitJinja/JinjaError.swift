internal import DibitFailure

/// A position in a template, counted from 1; columns are Unicode scalars.
package struct JinjaPosition: Equatable, Sendable {
  /// The line.
  package let line: Int
  /// The scalar within the line.
  package let column: Int

  /// A position.
  package init(line: Int, column: Int) {
    self.line = line
    self.column = column
  }
}

/// The resources that a template may use up.
package enum JinjaLimit: String, Equatable, Sendable {
  case templateBytes = "bytes of template"
  case nesting = "levels of nesting"
  case depth = "levels of evaluation (macros calling macros included)"
  case valueDepth = "levels of nested values"
  case operations = "operations"
  case outputBytes = "bytes of output"
  case textBytes = "bytes in one text"
  case elements = "elements in one list"
  case range = "numbers in one range"
  case integer = "bits in an integer"
}

/// The reasons for which a template cannot be parsed or rendered.
///
/// Nothing of the rendered messages is in an error: it names words of the template and kinds of values only.
package enum JinjaError: Error, Equatable, Sendable {
  /// The template is not Jinja.
  case syntax(at: JinjaPosition, String)
  /// The template may be Jinja, but uses what this library does not have.
  case unsupported(at: JinjaPosition, String)
  /// The template called `raise_exception`; parts of the message that are not literals of the template are shown as `…`.
  case raised(at: JinjaPosition, String)
  /// A value that is not there was used.
  case undefined(at: JinjaPosition, String)
  /// A value does not fit what is done with it.
  case invalid(at: JinjaPosition, String)
  /// The sandbox refuses what the template asks for.
  case forbidden(at: JinjaPosition, String)
  /// The template uses more than it may.
  case limit(at: JinjaPosition, JinjaLimit, maximum: Int)

  /// The position of the fault.
  package var position: JinjaPosition {
    switch self {
    case .syntax(let position, _), .unsupported(let position, _), .raised(let position, _), .undefined(let position, _),
      .invalid(let position, _), .forbidden(let position, _), .limit(let position, _, _):
      position
    }
  }
}

extension JinjaError: CustomStringConvertible {
  /// One line: where and what.
  package var description: String {
    let prefix = "chat template, line \(position.line), column \(position.column): "
    return switch self {
    case .syntax(_, let reason): prefix + reason
    case .unsupported(_, let what): prefix + what + " lies outside the supported subset of Jinja"
    case .raised(_, let message): prefix + "the template refuses this chat: " + quoted(message)
    case .undefined(_, let what): prefix + what + " is undefined"
    case .invalid(_, let reason): prefix + reason
    case .forbidden(_, let what): prefix + what + " is refused by the sandbox"
    case .limit(_, let limit, let maximum): prefix + "more than \(maximum) \(limit.rawValue)"
    }
  }
}

/// The most that one rendering may use.
package struct JinjaLimits: Equatable, Sendable {
  /// Steps of evaluation; work on texts and lists counts by size.
  package var operations = 5_000_000
  /// Bytes of UTF-8 that are written, and that one text may have.
  package var outputBytes = 64 << 20
  /// Elements of one list.
  package var elements = 1 << 20
  /// Statements, expressions and macro calls inside each other while rendering.
  package var depth = 256

  /// The usual limits.
  package init() {}
}
