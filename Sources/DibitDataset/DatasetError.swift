package import DibitFailure
package import DibitFiles

/// The faults of a dataset as a whole. Single files that cannot be used are findings of the `ScanReport` instead.
package enum DatasetError: EngineError, Equatable {
  /// Nothing lies at the path.
  case missing(path: String)
  /// A file lies where a folder of labelled texts was expected.
  case notAFolder(path: String)
  /// Something lies at the path that is neither a file nor a folder; `found` says in words what.
  case notAFile(path: String, found: String)
  /// A folder exists but its entries cannot be listed.
  case unreadableFolder(path: String, reason: UnreadableReason)
  /// The one file that was asked for cannot be read.
  case unreadableFile(path: String, reason: UnreadableReason)
  /// The one file that was asked for holds no text; what it is instead, where that is known.
  case notText(path: String, found: String? = nil)
  /// Rows in a format of columns, which is not read.
  case parquet(path: String)
  /// A file that is one text is longer than any text that fits a model.
  case tooLarge(path: String, limit: Int, found: Int)
  /// No file below the folder could be a text.
  case noTextFiles(folder: String)
  /// Folders of splits and folders of labels lie side by side.
  case mixedLayout(folder: String, splitFolder: String, labelFolder: String)
  /// Two folders name the same split.
  case splitTwice(folder: String, split: SplitName, first: String, second: String)
  /// A label's folder name holds a line break or another control character, or is not UTF-8.
  case badLabel(folder: String, label: String)
  /// The folder holds no text below a label; `skipped` says in words what was found and left out, if anything.
  case noLabelledText(folder: String, skipped: String)
  /// All texts have the same label; `skipped` says in words what could not be read, and may hold others.
  case singleLabel(folder: String, label: String, skipped: String = "")

  /// A file that is no folder and holds no rows of any known kind.
  case unknownFormat(path: String)
  /// A row of a file, or its first line, is not what it should be; lines and columns count from 1, columns in bytes of UTF-8.
  case row(file: String, line: Int, column: Int?, fault: RowFault)
  /// The files of rows hold no example; `skipped` says in words what was found and left out, if anything.
  case noRows(path: String, skipped: String)
  /// No row has a label: the column or key that was looked in, where that is known.
  case noLabels(path: String, key: String?, rows: Int)
  /// All rows have the same label; `skipped` says in words what was found and left out, if it may hold others.
  case oneLabelInRows(path: String, label: String, skipped: String)
  /// Labelled texts and conversations in one dataset.
  case mixedKinds(path: String, first: String, firstKind: DatasetExample.Kind, other: String, otherKind: DatasetExample.Kind)
  /// A folder holds files of rows that are named as splits, and folders beside them.
  case rowsBesideFolders(folder: String, file: String, subfolder: String)
  /// Conversations where labelled texts are needed.
  case notLabelled(path: String)
  /// Folds that would stay empty: `groups` counts texts that are nearly the same once.
  case tooFewTexts(texts: Int, groups: Int, folds: Int)

  /// The kind of failure.
  package var kind: FailureKind {
    switch self {
    case .missing, .notAFolder, .notAFile: .notFound
    case .unreadableFolder(_, let reason), .unreadableFile(_, let reason): reason.kind
    default: .badData
    }
  }

  /// One sentence: what, where, what was expected and found, and what to do.
  package var description: String {
    switch self {
    case .missing(let path):
      return "'\(path)' does not exist; check the path"
    case .notAFolder(let path):
      return "'\(path)' is a file, expected a folder with texts in <folder>/<label>/<file>"
    case .notAFile(let path, let found):
      return "\(quoted(path)): a file or a folder expected, \(found) found"
    case .unreadableFolder(let path, let reason):
      return "folder '\(path)' cannot be listed (\(reason))\(Self.advice(reason))"
    case .unreadableFile(let path, let reason):
      return "\(Self.file(path)) cannot be read (\(reason))\(Self.advice(reason))"
    case .notText(let path, let found):
      return "\(Self.file(path)) holds no text, expected UTF-8, UTF-16 with a byte order mark or Windows-1252 without NUL bytes"
        + (found.map { ", found \($0)" } ?? "")
    case .parquet(let path):
      let (file, rows) = Self.namesOfParquet(path)
      return "\(quoted(path)): rows in CSV, TSV or JSONL expected, a Parquet file found, which is not read; write its rows as JSONL: "
        + "python3 -c \"import pandas; pandas.read_parquet('\(file)').to_json('\(rows)', orient='records', lines=True, force_ascii=False)\""
    case .tooLarge(let path, let limit, let found):
      return "\(TextLocation(file: path).shown): at most \(limit) bytes expected in one text, \(found) found; "
        + "give it in pieces, or as rows or lines"
    case .noTextFiles(let folder):
      return "folder '\(folder)' holds no files, expected text files in it or in folders below it"
    case .mixedLayout(let folder, let splitFolder, let labelFolder):
      return "folder '\(folder)' mixes the split folder '\(splitFolder)' with the label folder '\(labelFolder)', expected either "
        + "<label>/<file> or train|validation|test/<label>/<file>; move or rename one of them"
    case .splitTwice(let folder, let split, let first, let second):
      return "folder '\(folder)' has two sources of the \(split.rawValue) split, '\(first)' and '\(second)', expected one; "
        + "merge or rename them"
    case .badLabel(let folder, let label):
      return "label folder '\(Self.escaped(label))' in '\(folder)' has a name with control characters or invalid UTF-8, expected "
        + "one line of text; rename it"
    case .noLabelledText(let folder, let skipped):
      return "folder '\(folder)' holds no labelled text\(Self.leftOut(skipped)), expected <folder>/<label>/<file>"
    case .singleLabel(let folder, let label, let skipped):
      return "all texts in '\(folder)' have the label '\(label)'\(Self.leftOut(skipped)), expected at least two labels; "
        + "add a folder for each other label, or pass the folder that holds the label folders"
    case .unknownFormat(let path):
      return "\(quoted(path)): a folder, or a file of rows in CSV, TSV or JSONL expected, something else found"
    case .row(let file, let line, let column, let fault):
      return "\(TextLocation(file: file).shown), line \(line)\(column.map { ", column \($0)" } ?? ""): \(fault)"
    case .noRows(let path, let skipped):
      return "\(quoted(path)): rows with examples expected, none found\(Self.leftOut(skipped))"
    case .noLabels(let path, let key, let rows):
      return "\(quoted(path)): labels expected\(key.map { " in \(quoted($0))" } ?? ""), none found in \(counted(rows, "row")); "
        + "name the column or key of the labels with \(optionName("labelColumn"))"
    case .oneLabelInRows(let path, let label, let skipped):
      return "\(quoted(path)): at least two labels expected, all rows have \(quoted(label))\(Self.leftOut(skipped))"
    case .mixedKinds(let path, let first, let firstKind, let other, let otherKind):
      return "\(quoted(path)): rows of one kind expected, \(firstKind.plural) (\(quoted(first))) and \(otherKind.plural) "
        + "(\(quoted(other))) found; train on them one after the other"
    case .rowsBesideFolders(let folder, let file, let subfolder):
      return "\(quoted(folder)): files of rows or folders expected, the file \(quoted(file)) and the folder \(quoted(subfolder)) found; "
        + "move one of them"
    case .notLabelled(let path):
      return "\(quoted(path)): labelled texts expected, conversations found"
    case .tooFewTexts(let texts, let groups, let folds):
      let found = groups < texts ? "\(counted(texts)) in \(counted(groups, "group")) of nearly the same words" : "\(texts)"
      return "\(folds) folds need \(folds) different texts at least, found \(found); ask for fewer folds or add texts"
    }
  }

  /// Returns the advice about an unreadable file or folder, where there is any.
  private static func advice(_ reason: UnreadableReason) -> String { reason == .noPermission ? "; check its permissions" : "" }

  /// The names of a Parquet file and of its rows in a command that can be pasted: placeholders where a shell would read the path otherwise.
  private static func namesOfParquet(_ path: String) -> (file: String, rows: String) {
    guard path.utf8.allSatisfy({ isAlphanumeric($0) || "._-/".utf8.contains($0) }) else { return ("FILE.parquet", "FILE.jsonl") }
    return (path, (path.hasSuffix(".parquet") ? String(path.dropLast(".parquet".count)) : path) + ".jsonl")
  }

  private static func isAlphanumeric(_ byte: UInt8) -> Bool {
    0x30...0x39 ~= byte || 0x41...0x5A ~= byte || 0x61...0x7A ~= byte
  }

  /// Returns the name of a file in a sentence.
  private static func file(_ path: String) -> String {
    path == TextLocation.standardInput ? TextLocation(file: path).shown : "file '\(path)'"
  }

  /// Returns the things found beside nothing, in brackets.
  private static func leftOut(_ skipped: String) -> String { skipped.isEmpty ? "" : " (left out: \(skipped))" }

  /// The name with control characters spelled as `\u{A}`, so that it stays on its line.
  private static func escaped(_ name: String) -> String {
    name.unicodeScalars.map { $0.isLineSafe ? String($0) : "\\u{\(String($0.value, radix: 16, uppercase: true))}" }.joined()
  }
}

extension Unicode.Scalar {
  /// True for a scalar that is no control character and no line or paragraph separator.
  var isLineSafe: Bool { !(value < 0x20 || 0x7F...0x9F ~= value || 0x2028...0x2029 ~= value) }
}
