/// A file that a walk found.
struct FoundFile {
  /// Relative to the folder where the walk was rooted, with '/' between names.
  let path: String
  let bytes: Int
}

/// Collects the files below a folder, however deep, and reports what it passes by.
struct FolderWalk {
  /// The folder to which all paths are relative.
  let root: String
  let options: ScanOptions

  /// The visible entries of the folder at `path` below the root, in the order of UTF-8 bytes. Hidden ones are reported.
  func visibleNames(in path: String, report: inout ScanReport) throws(DatasetError) -> [String] {
    var names: [String] = []
    for name in try FileSystem.names(in: absolute(path)) {
      if name.utf8.first == UInt8(ascii: ".") {
        report.note(.hidden, FileSystem.join(path, name))
      } else {
        names.append(name)
      }
    }
    return names
  }

  /// What lies at `path` below the root.
  func item(at path: String) -> FileSystem.Item { FileSystem.item(at: absolute(path)) }

  /// The path of an entry with the root in front.
  func absolute(_ path: String) -> String { path.isEmpty ? root : FileSystem.join(root, path) }

  /// All files below the folder at `path`, in the order of the UTF-8 bytes of their whole paths. Folders below it that cannot be listed are
  /// reported, as files are that cannot be read.
  func files(below path: String, report: inout ScanReport) throws(DatasetError) -> [FoundFile] {
    var found: [FoundFile] = []
    try collect(path, depth: 0, into: &found, report: &report)
    return found.sorted { $0.path.precedesInBytes($1.path) }
  }

  private func collect(_ path: String, depth: Int, into found: inout [FoundFile], report: inout ScanReport) throws(DatasetError) {
    for name in try visibleNames(in: path, report: &report) {
      let entry = FileSystem.join(path, name)
      switch item(at: entry) {
      case .file(let bytes): found.append(FoundFile(path: entry, bytes: bytes))
      case .folder where depth < options.maximumDepth:
        do throws(DatasetError) { try collect(entry, depth: depth + 1, into: &found, report: &report) } catch {
          report.note(.unreadable, entry, error.reason)
        }
      case .folder: report.note(.tooDeep, entry)
      case .linkToFolder: report.note(.linkedFolder, entry)
      case .other(let what), .unreachable(let what): report.note(.unreadable, entry, what)
      case .missing: report.note(.unreadable, entry, "not found under this name, which may not be UTF-8")
      }
    }
  }
}
