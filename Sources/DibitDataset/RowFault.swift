internal import DibitFailure
internal import DibitJSON

/// A fault in one row of a file of rows.
package enum RowFault: Error, Equatable, Sendable {
  /// The JSON is broken; the row's error tells the column.
  case json(expected: String, found: String)
  case repeatedKey(String)
  case nestedTooDeeply(limit: Int)
  case notUTF8
  case notARow(found: String)
  /// Rows in one JSON document, where each should be one.
  case listOfRows
  /// None of the shapes of a row: its keys, and those that were looked for.
  case unknownShape(keys: [String], expected: String)
  case missingKey(String, found: [String])
  case wrongType(key: String, expected: String, found: String)
  case noLabel(key: String)
  /// A text that nobody has labelled; no fault where other rows have labels.
  case unlabelled(key: String, text: String)
  case badLabel(String)
  /// A key that changes what is said and that training cannot honour.
  case unsupportedKey(String, what: String)
  case unknownRole(index: Int, found: String)
  case messageOrder(index: Int, expected: String, found: String)
  case noMessages
  case noAnswer
  case nothingLearnt
  case fieldCount(expected: Int, found: Int)
  case afterQuote(found: UInt8)
  /// A field in quotes that does not end; so many lines are in it below its first.
  case openQuote(linesBelow: Int)
  case tooLong(limit: Int)
  case missingColumn(expected: String, found: [String])
  case repeatedColumn(String)
  /// One column or key that is asked for as the text and as the label.
  case sameColumn(String)
  case tooManyColumns(limit: Int)
  /// No text, of the name that was asked for if one was; the keys or columns that are there, and whether another name can be asked for.
  case noText(key: String?, found: [String], takesName: Bool)
}

extension RowFault: CustomStringConvertible {
  /// The fault in words, without the location.
  package var description: String {
    switch self {
    case .json(let expected, let found): "\(expected) expected, \(found) found; every line must be a JSON document of its own"
    case .repeatedKey(let key): "the key \(quoted(key)) appears twice"
    case .nestedTooDeeply(let limit): "nested deeper than \(limit) levels"
    case .notUTF8: "the text is not valid UTF-8"
    case .listOfRows: "an object or a list of messages expected, a list of objects found: write each row on a line of its own (JSONL)"
    case .notARow(let found): "an object or a list of messages expected, \(found) found"
    case .unknownShape(let keys, let expected):
      "\(expected) expected, the keys \(listed(keys)) found; "
        + (keys.contains { Self.answerNames.contains($0.lowercased()) } ? "call a text and its answer prompt and completion, or " : "")
        + "name yours with \(optionName("textColumn")) and \(optionName("labelColumn"))"
    case .missingKey(let key, let keys): "the key \(quoted(key)) expected, \(listed(keys)) found"
    case .wrongType(let key, let expected, let found): "\(quoted(key)): \(expected) expected, \(found) found"
    case .noLabel(let key), .unlabelled(let key, _): "\(quoted(key)): a label expected, nothing found"
    case .badLabel(let label): "a label of one line without control characters expected, \(quoted(label)) found"
    case .unsupportedKey(let key, let what): "\(what) (key \(quoted(key))) cannot be learnt; take it out of the row, or leave the row out"
    case .unknownRole(let index, let found): "message \(index + 1): the role system, user or assistant expected, \(quoted(found)) found"
    case .messageOrder(let index, let expected, let found): "message \(index + 1): one of \(expected) expected, one of \(found) found"
    case .noMessages: "messages expected, an empty list found"
    case .noAnswer: "a last message of the assistant expected, one of somebody else found"
    case .nothingLearnt: "at least one answer with a weight of 1 expected, none found"
    case .fieldCount(let expected, let found): "\(expected) fields expected, as in the first line, \(found) found"
    case .afterQuote(let byte):
      "a separator or the end of the line expected after the closing quote, \(shown(byte)) found; double the quotes inside a quoted field"
    case .openQuote(let lines):
      "a closing quote expected for the field that begins here, the end of the file found"
        + (lines > 0 ? "; it takes in \(counted(lines, "line")) below" : "")
    case .tooLong(let limit): "a row of at most \(limit) bytes expected, more found; is a quote not closed?"
    case .missingColumn(let expected, let found) where found.isEmpty:
      "\(expected) expected in the first line, nothing found: the file is empty"
    case .missingColumn(let expected, let found):
      "\(expected) expected in the first line, the columns \(listed(found)) found; "
        + (Self.separatorHint(found) ?? "name yours with \(optionName("textColumn")) and \(optionName("labelColumn"))")
    case .sameColumn(let name):
      "a text and a label expected, \(quoted(name)) asked for as both; name another with \(optionName("textColumn")) or \(optionName("labelColumn"))"
    case .repeatedColumn(let name): "columns with names of their own expected, \(quoted(name)) found twice"
    case .tooManyColumns(let limit): "at most \(limit) columns expected, more found"
    case .noText(let key, let keys, let takesName):
      "\(key.map { "a text called \(quoted($0))" } ?? "a text") expected, \(listed(keys)) found; "
        + (Self.separatorHint(keys) ?? (takesName ? "name yours with \(optionName("textColumn"))" : "call yours 'text'"))
    }
  }

  /// Other names for an answer, in small letters.
  private static let answerNames: Set = ["output", "response", "answer"]

  /// Returns the advice about a first line that is one column only because its fields are separated by what separates none here.
  private static func separatorHint(_ columns: [String]) -> String? {
    guard columns.count == 1, columns[0].contains("|") else { return nil }
    return "separate fields by commas, semicolons or tabs instead of '|'"
  }

  /// The fault behind an error of the JSON parser, and the column where it lies.
  static func json(_ error: JSONError) -> (fault: RowFault, column: Int) {
    switch error {
    case .unexpected(let offset, let expected, let found): (.json(expected: expected, found: found), offset + 1)
    case .invalidUTF8(let offset): (.notUTF8, offset + 1)
    case .nestedTooDeeply(let offset, let limit): (.nestedTooDeeply(limit: limit), offset + 1)
    case .duplicateKey(let key, let offset): (.repeatedKey(key), offset + 1)
    }
  }
}

/// At most eight of the names.
private func listed(_ names: [String]) -> String {
  guard !names.isEmpty else { return "nothing" }
  return names.prefix(8).map(quoted).joined(separator: ", ") + (names.count > 8 ? " and \(names.count - 8) more" : "")
}

/// The byte as a character where it is one of ASCII's visible ones.
private func shown(_ byte: UInt8) -> String {
  0x21...0x7E ~= byte ? "'\(Unicode.Scalar(byte))'" : "byte 0x" + String(byte, radix: 16, uppercase: true)
}
