package import DibitFailure

/// The reasons for which a recipe cannot be read. Lines count from 1; line 0 is a setting of the command line, and `file` says so.
package enum RecipeError: EngineError, Equatable {
  case syntax(file: String, line: Int, problem: String)
  case unknownKey(file: String, line: Int, key: String, suggestion: String?, allowed: [String])
  case duplicateKey(file: String, line: Int, key: String)
  case missingKey(file: String, key: String)
  case conflictingKeys(file: String, first: String, second: String)
  /// `found` is text in quotes, or the kind of what is there.
  case wrongValue(file: String, line: Int, key: String, expected: String, found: String)
  case badSetting(String)

  /// The kind of failure.
  package var kind: FailureKind { .badData }

  /// One sentence that begins with file and line.
  package var description: String {
    switch self {
    case .syntax(let file, let line, let problem): "\(Self.location(file, line)): \(problem)"
    case .unknownKey(let file, let line, let key, let suggestion, let allowed):
      "\(Self.location(file, line)): unknown key '\(key)'; "
        + (suggestion.map { "did you mean '\($0)'?" } ?? "allowed keys are \(allowed.joined(separator: ", "))")
    case .duplicateKey(let file, let line, let key): "\(Self.location(file, line)): the key '\(key)' appears twice"
    case .missingKey(let file, let key): "\(file): the key '\(key)' is missing"
    case .conflictingKeys(let file, let first, let second): "\(file): '\(first)' and '\(second)' exclude each other: keep one"
    case .badSetting(let setting):
      "\(RecipeSetting.file): expected KEY=VALUE with a value in YAML, found '\(setting)'"
        + (setting.contains(": ") ? "; text with a colon needs quotes: KEY=\"…\"" : "")
    case .wrongValue(let file, let line, let key, let expected, let found):
      "\(Self.location(file, line)): '\(key)': expected \(expected), found \(found)"
    }
  }

  private static func location(_ file: String, _ line: Int) -> String { line > 0 ? "\(file):\(line)" : file }
}
