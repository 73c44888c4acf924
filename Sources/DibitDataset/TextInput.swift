internal import DibitFailure

/// The file, or the row of a file, that a text is from.
package struct TextLocation: Equatable, Sendable, CustomStringConvertible {
  /// The file as the caller gave it, or found below the folder that the caller gave; ``standardInput`` for that.
  package let file: String
  /// The line on which the text's row begins, from 1; 0 when the text is the whole file.
  package let line: Int

  /// The name of standard input.
  package static let standardInput = "-"

  /// A file, or a row in it.
  package init(file: String, line: Int = 0) { (self.file, self.line) = (file, line) }

  /// The file, and the line if there is one: "rows.csv:12".
  package var description: String { line == 0 ? file : "\(file):\(line)" }

  /// The location in a message: "'rows.csv:12'", "standard input, line 12".
  package var shown: String {
    guard file == Self.standardInput else { return quoted(description) }
    return "standard input" + (line == 0 ? "" : ", line \(line)")
  }

  /// SHA-256 of ``description``, so that millions of locations can be told apart in little memory.
  package var digest: TextDigest { TextDigest(text: description) }

  /// Checks that both are the same bytes.
  package static func == (left: TextLocation, right: TextLocation) -> Bool {
    left.line == right.line && left.file.hasSameBytes(as: right.file)
  }
}

/// A text, or why there is none.
package struct TextInput: Equatable, Sendable {
  /// The location that it is from.
  package let location: TextLocation
  /// The text with LF line ends, or why it cannot be read.
  package let content: Result<String, DatasetError>

  /// A text of a location, or what is wrong there.
  package init(location: TextLocation, content: Result<String, DatasetError>) { (self.location, self.content) = (location, content) }
}

/// The formats by which files become texts.
package enum TextInputFormat: String, Equatable, Sendable, CaseIterable {
  /// Rows where the file's ending is csv, tsv, jsonl or ndjson, otherwise the whole file.
  case auto
  /// The whole file is one text.
  case text
  /// Every line that is not blank is a text.
  case lines
  /// Rows with a text each.
  case csv, tsv, jsonl
}

/// The input of ``TextInputs``, and its limits.
package struct TextInputOptions: Sendable {
  /// The format by which files become texts.
  package var format = TextInputFormat.auto
  /// The column or key of the text in rows; nil takes the first known name that is there.
  package var textColumn: String?
  /// Larger files that are one text are faults, in bytes.
  package var maximumTextBytes = ScanOptions.largestText
  /// The number of folders that may lie inside each other; deeper ones are left out and reported.
  package var maximumDepth = 64
  /// A file that is left out wherever it is found, such as the one that results are written to.
  package var excluded: String?
  /// Asked now and then whether to end early.
  package var isStopped: @Sendable () -> Bool = { false }

  /// The defaults.
  package init() {}

  /// Returns the format of a file's rows; nil where the file is one text or lines of text.
  func rowFormat(of path: String) -> RowFormat? {
    switch format {
    case .text, .lines: return nil
    case .csv: return .delimited(separator: nil)
    case .tsv: return .delimited(separator: UInt8(ascii: "\t"))
    case .jsonl: return .jsonLines
    case .auto:
      let ending = RowFormat.parts(of: path).ending
      // Many files of that ending are one document.
      return ending == "json" ? nil : RowFormat(ending: ending)
    }
  }

  /// The rows as their readers take them.
  var rows: RowOptions {
    var rows = RowOptions()
    (rows.textColumn, rows.needsLabels) = (textColumn, false)
    return rows
  }
}
