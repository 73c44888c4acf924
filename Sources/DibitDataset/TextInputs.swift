internal import DibitFiles

/// The texts of files, folders, rows and standard input, one after the other: what is to be tagged.
///
/// Listing walks the folders and reads no file. Iterating reads one file, or one row, at a time, so that any number of texts takes the
/// memory of one. Nothing here throws: what cannot be read is an input with its fault, in its place. A file below a folder that is no text,
/// such as a picture, is passed by, as it is in training; one that was asked for is a fault.
package struct TextInputs: Sendable, Sequence {
  /// The number of items listed; a file of rows counts once.
  package var count: Int { entries.count }
  /// True where there may be more texts than ``count``.
  package let hasRows: Bool
  /// The size of all files in bytes, for progress; nil with standard input.
  package let bytes: Int?
  /// The things that the walk passed by: hidden, linked, nested too deeply.
  package let report: ScanReport

  let entries: [Entry]
  let options: TextInputOptions

  /// Something that was asked for or found.
  enum Entry: Equatable {
    /// A file that was asked for, or was found below a folder.
    case file(path: String, bytes: Int, isFound: Bool)
    case standardInput
    case fault(path: String, DatasetError)

    var bytes: Int? {
      switch self {
      case .file(_, let bytes, _): bytes
      case .standardInput: nil
      case .fault: 0
      }
    }
  }

  /// Lists files, folders (all files below, in the order of the UTF-8 bytes of their paths; hidden ones are left out, links to folders are
  /// not followed) and standard input (``TextLocation/standardInput``), in the order given.
  package init(_ paths: [String], options: TextInputOptions = TextInputOptions()) {
    var (entries, report): ([Entry], ScanReport) = ([], ScanReport(limit: ScanOptions().maximumPathsPerFinding))
    for path in paths where !options.isStopped() {
      guard path != TextLocation.standardInput else {
        entries.append(.standardInput)
        continue
      }
      switch PathItem(path) {
      case .file(let bytes): entries.append(.file(path: path, bytes: bytes, isFound: false))
      case .folder, .linkToFolder: entries += Self.files(below: path, options, &report)
      case .other(let found): entries.append(.fault(path: path, .notAFile(path: path, found: found.description)))
      case .unreachable(let reason): entries.append(.fault(path: path, .unreadableFile(path: path, reason: reason)))
      case .missing: entries.append(.fault(path: path, .missing(path: path)))
      }
    }
    self.entries = entries
    self.options = options
    self.report = report
    let sizes = entries.map(\.bytes)
    bytes = sizes.contains(nil) ? nil : sizes.reduce(0) { $0 + ($1 ?? 0) }
    hasRows = entries.contains { entry in
      switch entry {
      case .file(let path, _, _): options.format == .lines || options.rowFormat(of: path) != nil
      case .standardInput: options.format != .auto && options.format != .text
      case .fault: false
      }
    }
  }

  /// A reader at the first text.
  package func makeIterator() -> TextInputIterator { TextInputIterator(self) }

  private static func files(below root: String, _ options: TextInputOptions, _ report: inout ScanReport) -> [Entry] {
    let scan = ScanOptions(maximumFileBytes: .max, maximumDepth: options.maximumDepth, maximumPathsPerFinding: .max)
    let walk = FolderWalk(root: root, options: scan)
    var found = ScanReport(limit: .max)
    let files: [FoundFile]
    do throws(DatasetError) { files = try walk.files(below: "", report: &found) } catch { return [.fault(path: root, error)] }
    var entries: [(path: String, entry: Entry)] = files.map {
      ($0.path, .file(path: walk.absolute($0.path), bytes: $0.bytes, isFound: true))
    }
    for entry in found[.unreadable].entries {
      let path = walk.absolute(entry.path)
      entries.append((entry.path, .fault(path: path, .unreadableFile(path: path, reason: entry.reason ?? .unknownName))))
    }
    for kind in found.kinds where kind != .unreadable {
      for entry in found[kind].entries { report.note(kind, walk.absolute(entry.path), entry.detail) }
    }
    if let excluded = options.excluded {
      let name = Self.name(of: excluded)
      entries.removeAll { Self.name(of: $0.path) == name && isSameFile(walk.absolute($0.path), excluded) }
    }
    guard !entries.isEmpty else { return [.fault(path: root, .noTextFiles(folder: root))] }
    return entries.sorted { $0.path.precedesInBytes($1.path) }.map(\.entry)
  }

  private static func name(of path: String) -> [UInt8] { Array(path.utf8.reversed().prefix { $0 != UInt8(ascii: "/") }) }
}
