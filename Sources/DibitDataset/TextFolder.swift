internal import DibitFiles
internal import DibitTensor

/// The texts of a folder, or of one file, for training on plain text.
///
/// Opening it lists the files and reads none. Iterating reads one file after the other, in the order of the UTF-8 bytes of their paths, and
/// gives its text in pieces, so that a file of any size takes a few pieces of memory. A file of rows, as its ending tells, has a document in
/// each row:
///
/// ```swift
/// var reader = try TextFolder.open(path: "corpus").makeIterator()
/// while let piece = reader.next() { … }
/// let report = reader.report
/// ```
package struct TextFolder: Sendable, Sequence {
  /// The folder or file that was opened.
  package let path: String
  /// The files, relative to `path`, in reading order. Whether they hold text is known when they are read.
  package let files: [String]
  /// The size of all files in bytes, for progress.
  package let bytes: Int
  /// Findings of the listing: hidden, linked, nested too deeply, too long.
  package let report: ScanReport
  /// About how many bytes of a file one piece holds.
  package let pieceBytes: Int

  private let root: String
  private let sizes: [Int]

  /// Lists the text files of a folder, or takes one file.
  ///
  /// - Parameters:
  ///   - path: a folder, which is walked to `options.maximumDepth`, or a file.
  ///   - options: files above `maximumFileBytes` are left out; by default there is no limit here.
  ///   - pieceBytes: about how much text `next()` gives at once.
  /// - Throws: if nothing is there, a folder cannot be listed or holds no files, or the one file cannot be read or is no text.
  package static func open(
    path: String, options: ScanOptions = ScanOptions(maximumFileBytes: .max), pieceBytes: Int = 1 << 20
  ) throws(DatasetError) -> TextFolder {
    var report = ScanReport(limit: options.maximumPathsPerFinding)
    guard try FolderWalk.isFolder(path) else {
      guard case .file(let bytes) = PathItem(path) else { throw .missing(path: path) }
      let content = try FolderWalk.bytes(of: path, mapped: bytes > mappedFromBytes)
      guard TextDecoding.encoding(of: content.bytes) != nil else {
        throw .noText(at: path)
      }
      return TextFolder(
        path: path, found: [FoundFile(path: path, bytes: bytes)], report: report, pieceBytes: pieceBytes, root: "")
    }
    let found = try FolderWalk(root: path, options: options).files(below: "", report: &report)
    var kept: [FoundFile] = []
    for file in found {
      if file.bytes > options.maximumFileBytes {
        report.note(.overLong, file.path, ScanOptions.excess(file.bytes, limit: options.maximumFileBytes))
      } else {
        kept.append(file)
      }
    }
    guard !kept.isEmpty else { throw .noTextFiles(folder: path) }
    return TextFolder(path: path, found: kept, report: report, pieceBytes: pieceBytes, root: path)
  }

  private init(path: String, found: [FoundFile], report: ScanReport, pieceBytes: Int, root: String) {
    self.path = path
    self.root = root
    self.report = report
    self.pieceBytes = Swift.max(pieceBytes, 16)
    files = found.map(\.path)
    sizes = found.map(\.bytes)
    bytes = sizes.reduce(0, +)
  }

  /// Takes files out, by their absolute paths or those that were given.
  ///
  /// - Returns: those that are taken out, and a folder of the others, nil where there are none.
  package func separating(_ isTaken: (String) -> Bool) -> (taken: [String], others: TextFolder?) {
    var (taken, others): ([String], [FoundFile]) = ([], [])
    for index in files.indices {
      let file = file(index).path
      if isTaken(file) { taken.append(file) } else { others.append(FoundFile(path: files[index], bytes: sizes[index])) }
    }
    return (taken, others.isEmpty ? nil : TextFolder(path: path, found: others, report: report, pieceBytes: pieceBytes, root: root))
  }

  /// A reader at the first file.
  package func makeIterator() -> TextReader { TextReader(folder: self) }

  /// The absolute path and the size of a file.
  func file(_ index: Int) -> (path: String, bytes: Int) {
    (root.isEmpty ? files[index] : join(root, files[index]), sizes[index])
  }
}

/// Files above this size are mapped instead of copied.
let mappedFromBytes = 1 << 20
