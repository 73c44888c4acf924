package import DibitFailure
package import DibitJSON

/// The reasons for which bytes are not a saved report. `path` is the way to the value, as in `runs[0].confusion`.
package enum ReportError: EngineError, Equatable {
  case json(JSONError)
  case missing(path: String)
  case unexpected(path: String, expected: String, found: String)

  /// The kind of failure.
  package var kind: FailureKind { .badData }

  /// One line: what, where, expected and found.
  package var description: String {
    switch self {
    case .json(let error): "not a saved report: \(error)"
    case .missing(let path): "not a saved report: '\(path)' is missing"
    case .unexpected(let path, let expected, let found): "not a saved report: '\(path)': \(expected) expected, \(found) found"
    }
  }

  /// Text from a file for an error: short, on one line.
  static func quoted(_ text: String) -> String {
    let clean = String(
      String.UnicodeScalarView(text.unicodeScalars.prefix(40).map { $0.properties.generalCategory == .control ? " " : $0 }))
    return "'\(clean)\(text.unicodeScalars.count > 40 ? "…" : "")'"
  }
}
