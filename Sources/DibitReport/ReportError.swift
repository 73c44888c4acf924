package import DibitFailure
package import DibitJSON

/// The reasons for which bytes are not a saved report. `place` is the way to the value, as in `runs[0].confusion`.
package enum ReportError: EngineError, Equatable {
  case json(JSONError)
  case missing(place: String)
  case unexpected(place: String, expected: String, found: String)

  /// The kind of failure.
  package var kind: FailureKind { .badData }

  /// One line: what, where, expected and found.
  package var description: String {
    switch self {
    case .json(let error): "not a saved report: \(error)"
    case .missing(let place): "not a saved report: '\(place)' is missing"
    case .unexpected(let place, let expected, let found): "not a saved report: '\(place)': \(expected) expected, \(found) found"
    }
  }

  /// Text from a file for an error: short, on one line.
  static func quoted(_ text: String) -> String {
    let clean = String(
      String.UnicodeScalarView(text.unicodeScalars.prefix(40).map { $0.properties.generalCategory == .control ? " " : $0 }))
    return "'\(clean)\(text.unicodeScalars.count > 40 ? "…" : "")'"
  }
}
