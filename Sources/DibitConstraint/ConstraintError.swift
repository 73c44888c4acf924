package import DibitFailure
package import DibitJSON

/// The reasons for which choices or a schema cannot be made into a ``Constraint``, or a vocabulary cannot spell its output. Pointers name
/// the location in the schema: `#/properties/topics`.
package enum ConstraintError: EngineError, Equatable {
  case json(JSONError)
  case noChoices
  case duplicateChoice(String)
  /// The whole is no schema.
  case noSchema(found: String)
  case wrongType(keyword: String, pointer: String, expected: String, found: String)
  /// A keyword that would narrow the output and that this library does not have.
  case unsupportedKeyword(String, pointer: String)
  case unsupportedValue(keyword: String, pointer: String, reason: String)
  case unsupportedPattern(String, pointer: String, reason: String)
  case unknownReference(String, pointer: String)
  /// A reference that leads back to itself before any text is made.
  case endlessReference(String, pointer: String)
  /// Two keywords of one schema that no value can satisfy together.
  case contradiction(pointer: String, reason: String)
  case unsatisfiable(pointer: String, reason: String)
  case tooLarge(what: String, limit: Int, pointer: String)
  case badDepth(Int, allowed: ClosedRange<Int>)
  /// A token that is named as an end of the text and that the vocabulary does not have.
  case unknownEndToken(Int32, vocabulary: Int)
  /// The vocabulary has no tokens for text that the output must contain.
  case unspeakable
}

extension ConstraintError {
  /// The kind of failure.
  package var kind: FailureKind { .badData }

  /// One sentence: what, where, expected, found, and what to do where that is known.
  package var description: String {
    switch self {
    case .json(let error): "the schema is not JSON: \(error)"
    case .noChoices: "at least one choice expected, none found"
    case .duplicateChoice(let text): "the choice \(quoted(text)) is there twice; remove one"
    case .noSchema(let found): "a schema (an object, true or false) expected, \(found) found"
    case .wrongType(let keyword, let pointer, let expected, let found):
      "keyword \(quoted(keyword)) at \(shown(pointer)): \(expected) expected, \(found) found"
    case .unsupportedKeyword(let keyword, let pointer): "unsupported keyword \(quoted(keyword)) at \(shown(pointer)); remove it"
    case .unsupportedValue(let keyword, let pointer, let reason):
      "keyword \(quoted(keyword)) at \(shown(pointer)): \(reason)"
    case .unsupportedPattern(let pattern, let pointer, let reason):
      "unsupported pattern \(quoted(pattern)) at \(shown(pointer)): \(reason)"
    case .unknownReference(let reference, let pointer):
      "reference \(quoted(reference)) at \(shown(pointer)): a place in this schema (#/$defs/name) expected, nothing found there"
    case .endlessReference(let reference, let pointer):
      "reference \(quoted(reference)) at \(shown(pointer)) leads back to itself without an object or array between"
    case .contradiction(let pointer, let reason): "the schema at \(shown(pointer)) contradicts itself: \(reason)"
    case .unsatisfiable(let pointer, let reason): "no value satisfies the schema at \(shown(pointer)): \(reason)"
    case .tooLarge(let what, let limit, let pointer): "the schema at \(shown(pointer)) is too large: at most \(limit) \(what) expected"
    case .badDepth(let depth, let allowed):
      "a maximum depth from \(allowed.lowerBound) to \(allowed.upperBound) expected, \(depth) found"
    case .unknownEndToken(let id, let vocabulary): "the end token \(id) is outside the vocabulary of \(vocabulary)"
    case .unspeakable: "the vocabulary has no tokens for text that the output must contain"
    }
  }
}

/// The text in quotes, at most 160 characters of it, with nothing a terminal could take for a command.
func quoted(_ text: String) -> String { "'" + shown(text) + "'" }

/// At most 160 characters of the text, with nothing a terminal could take for a command.
func shown(_ text: String) -> String {
  var result = ""
  for (index, scalar) in text.unicodeScalars.enumerated() {
    guard index < 160 else { return result + "…" }
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
      result += "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
    default: result.unicodeScalars.append(scalar)
    }
  }
  return result
}
