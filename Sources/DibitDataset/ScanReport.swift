internal import DibitFailure
package import DibitFiles

/// The findings of a scan about single files and folders: nothing here stops the work, everything here is worth a look.
package struct ScanReport: Equatable, Sendable {
  /// A kind of finding, in the order in which a report lists them.
  package enum Kind: String, CaseIterable, Sendable {
    /// The file is empty or has white space only; left out.
    case empty
    /// The file is larger than `ScanOptions.maximumFileBytes`; left out.
    case overLong
    /// The file is no text, for instance a picture; left out.
    case binary
    /// The file or folder cannot be read, points nowhere, or is no regular file; left out.
    case unreadable
    /// A symbolic link to a folder; not followed.
    case linkedFolder
    /// A folder below `ScanOptions.maximumDepth`; not entered.
    case tooDeep
    /// A file or folder whose name starts with a dot; ignored.
    case hidden
    /// A file that lies beside the label folders instead of in one, such as README.md; ignored.
    case loose
    /// A label folder that gave no text to its split.
    case emptyLabel
    /// The file is UTF-16 or Windows-1252; its text was kept.
    case reencoded
    /// A row without a text, or whose answers are; left out.
    case blankRow
    /// A row with a text that nobody has labelled; left out.
    case unlabelledRow
    /// A row that is no example; left out. Only where `RowOptions.toleratesFaults` asks for it: otherwise such a row is an error.
    case badRow
    /// The same text lies twice under one label of a split; kept once.
    case repeated
    /// The same text lies under several labels of a split; kept once, with all of them.
    case multipleLabels
    /// The same text lies in two splits; kept in both, so that scores on the later one flatter the model.
    case leakage
    /// A label that has no text in the training split although there is one.
    case untrainedLabel

    /// The words for one thing of the kind and for several, and for what was done; nil where nothing was.
    private var words: (one: String, several: String, done: String?) {
      switch self {
      case .empty: ("empty file", "empty files", "left out")
      case .overLong: ("file over the size limit", "files over the size limit", "left out")
      case .binary: ("file that is no text", "files that are no text", "left out")
      case .unreadable: ("file or folder that cannot be read", "files or folders that cannot be read", "left out")
      case .linkedFolder: ("link to a folder", "links to folders", "not followed")
      case .tooDeep: ("folder nested too deeply", "folders nested too deeply", "left out")
      case .hidden: ("hidden file or folder", "hidden files or folders", "ignored")
      case .loose: ("file outside of label folders", "files outside of label folders", "ignored")
      case .emptyLabel: ("label folder without text", "label folders without text", nil)
      case .reencoded: ("file converted to UTF-8", "files converted to UTF-8", nil)
      case .blankRow: ("row without text", "rows without text", "left out")
      case .unlabelledRow: ("row without a label", "rows without a label", "left out")
      case .badRow: ("row that is no example", "rows that are no example", "left out")
      case .repeated: ("repetition of a text under its label", "repetitions of a text under its label", "merged")
      case .multipleLabels: ("text under several labels", "texts under several labels", "merged")
      case .leakage: ("text found in more than one split", "texts found in more than one split", "kept")
      case .untrainedLabel: ("label without training text", "labels without training text", nil)
      }
    }

    /// So many of the kind: "3 empty files".
    package func counted(_ count: Int) -> String { DibitFailure.counted(count, words.one, words.several) }

    /// The same, and what was done: "3 empty files, left out".
    package func explained(_ count: Int) -> String { counted(count) + (words.done.map { ", " + $0 } ?? "") }
  }

  /// One path and what is to be said about it; `detail` may be empty.
  package struct Entry: Equatable, Sendable {
    /// The path relative to the scanned folder, with the line of a row (for `untrainedLabel` the label).
    package let path: String
    /// More about it: a size, an encoding, the path of the other copy.
    package let detail: String
    /// The reason for which it cannot be read, where that is the finding.
    package let reason: UnreadableReason?
  }

  /// The number of times that something was found, and the first locations.
  package struct Finding: Equatable, Sendable {
    /// The number of them in all.
    package fileprivate(set) var count = 0
    /// The first of them, at most `ScanOptions.maximumPathsPerFinding`.
    package fileprivate(set) var entries: [Entry] = []

    /// The paths of the entries.
    package var paths: [String] { entries.map(\.path) }
  }

  /// The number of files decoded as non-empty text, before equal texts were merged.
  package internal(set) var textFiles = 0

  /// The number of rows read, before equal texts were merged.
  package internal(set) var rows = 0

  private var findings: [Kind: Finding] = [:]
  private let limit: Int

  init(limit: Int) { self.limit = limit }

  /// The findings of a kind; count 0 if there are none.
  package subscript(kind: Kind) -> Finding { findings[kind] ?? Finding() }

  /// The kinds that were found, in the order of `Kind`.
  package var kinds: [Kind] { Kind.allCases.filter { self[$0].count > 0 } }

  /// The findings as phrases, such as "2 empty files, left out", in the order of `Kind`.
  package var summary: [String] { kinds.map { $0.explained(self[$0].count) + example(of: $0) } }

  /// The findings for an error that there is nothing else: "2 empty files; 1 row that is no example: rows.csv:2:1: …".
  var skipped: String { kinds.map { $0.counted(self[$0].count) + example(of: $0) }.joined(separator: "; ") }

  /// The first place of a kind whose places and details a person needs to put it right.
  private func example(of kind: Kind) -> String {
    guard [.overLong, .unreadable, .badRow].contains(kind), let first = self[kind].entries.first else { return "" }
    return (self[kind].count > 1 ? ", such as " : ": ") + first.path + (first.detail.isEmpty ? "" : ": " + first.detail)
  }

  mutating func note(_ kind: Kind, _ path: String, _ detail: String = "") {
    add(kind, Entry(path: path, detail: detail, reason: nil))
  }

  /// Notes what cannot be read.
  mutating func note(unreadable path: String, _ reason: UnreadableReason) {
    add(.unreadable, Entry(path: path, detail: reason.description, reason: reason))
  }

  /// Notes what an error of reading is about.
  mutating func note(unreadable path: String, _ error: DatasetError) {
    switch error {
    case .unreadableFile(_, let reason), .unreadableFolder(_, let reason): note(unreadable: path, reason)
    default: note(unreadable: path, .unknownName)
    }
  }

  private mutating func add(_ kind: Kind, _ entry: Entry) {
    var finding = self[kind]
    finding.count += 1
    if finding.entries.count < limit { finding.entries.append(entry) }
    findings[kind] = finding
  }
}
