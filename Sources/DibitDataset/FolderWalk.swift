internal import DibitFiles
internal import DibitTensor

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
    for name in try Self.names(in: absolute(path)) {
      if name.utf8.first == UInt8(ascii: ".") {
        report.note(.hidden, Self.path(name, in: path))
      } else {
        names.append(name)
      }
    }
    return names
  }

  /// Returns the item at `path` below the root.
  func item(at path: String) -> PathItem { PathItem(absolute(path)) }

  /// The path of an entry with the root in front.
  func absolute(_ path: String) -> String { path.isEmpty ? root : Self.path(path, in: root) }

  /// A name in a folder, where no folder is the root.
  static func path(_ name: String, in folder: String) -> String { folder.isEmpty ? name : join(folder, name) }

  /// The names in a folder in the order of their UTF-8 bytes, hidden ones included.
  static func names(in folder: String) throws(DatasetError) -> [String] {
    do throws(FileError) { return try directoryNames(folder) } catch {
      throw .unreadableFolder(path: folder, reason: error.unreadableReason)
    }
  }

  /// Returns true where a folder, or a link to one, lies at a path, and false where a file does.
  ///
  /// - Throws: where neither does.
  static func isFolder(_ path: String) throws(DatasetError) -> Bool {
    switch PathItem(path) {
    case .file: return false
    case .folder, .linkToFolder: return true
    case .other(let found): throw .notAFile(path: path, found: found.description)
    case .unreachable(let reason): throw .unreadableFile(path: path, reason: reason)
    case .missing: throw .missing(path: path)
    }
  }

  /// The bytes of a file; from a size on, the pages of the file itself, which must not shrink meanwhile.
  static func bytes(of file: String, mapped: Bool = false) throws(DatasetError) -> Bytes {
    do throws(FileError) {
      return try mapped ? MappedFile(path: file).bytes : Bytes(SharedBytes(readFile(file, limit: .max)))
    } catch { throw .unreadableFile(path: file, reason: error.unreadableReason) }
  }

  /// All files below the folder at `path`, in the order of the UTF-8 bytes of their whole paths. Folders below it that cannot be listed are
  /// reported, as files are that cannot be read.
  func files(below path: String, report: inout ScanReport) throws(DatasetError) -> [FoundFile] {
    var found: [FoundFile] = []
    try collect(path, depth: 0, into: &found, report: &report)
    return found.sorted { $0.path.precedesInBytes($1.path) }
  }

  private func collect(_ path: String, depth: Int, into found: inout [FoundFile], report: inout ScanReport) throws(DatasetError) {
    for name in try visibleNames(in: path, report: &report) {
      let entry = Self.path(name, in: path)
      switch item(at: entry) {
      case .file(let bytes): found.append(FoundFile(path: entry, bytes: bytes))
      case .folder where depth < options.maximumDepth:
        do throws(DatasetError) { try collect(entry, depth: depth + 1, into: &found, report: &report) } catch {
          report.note(unreadable: entry, error)
        }
      case .folder: report.note(.tooDeep, entry)
      case .linkToFolder: report.note(.linkedFolder, entry)
      case .other(let reason), .unreachable(let reason): report.note(unreadable: entry, reason)
      case .missing: report.note(unreadable: entry, .unknownName)
      }
    }
  }
}
