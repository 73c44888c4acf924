internal import Glibc

/// The kinds of things that a path can name.
package enum FileType: Equatable, Sendable, CustomStringConvertible {
  case regular, directory, symbolicLink, other

  /// The name in plain words, with its article.
  package var description: String {
    switch self {
    case .regular: "a regular file"
    case .directory: "a directory"
    case .symbolicLink: "a symbolic link"
    case .other: "a device, pipe or socket"
    }
  }
}

/// The part of `stat` that somebody asks for.
package struct FileStatus: Equatable {
  /// The type of the file.
  package let type: FileType
  /// Its size in bytes.
  package let size: Int
  let device: UInt64
  let inode: UInt64

  init(_ status: stat) {
    type =
      switch status.st_mode & S_IFMT {
      case S_IFREG: .regular
      case S_IFDIR: .directory
      case S_IFLNK: .symbolicLink
      default: .other
      }
    size = Int(status.st_size)
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
  }

  /// The status of what `path` names, or nil when it names nothing that can be examined; `errno` has the reason.
  package init?(path: String, followingLinks: Bool) {
    var status = stat()
    // SAFETY: the structure is ours, and Swift passes a terminated copy of the path.
    let result = unsafe followingLinks ? stat(path, &status) : lstat(path, &status)
    guard result == 0 else { return nil }
    self.init(status)
  }

  /// The status of an open file; nil when there is none.
  init?(descriptor: Int32) {
    var status = stat()
    // SAFETY: the structure is ours and large enough.
    guard unsafe fstat(descriptor, &status) == 0 else { return nil }
    self.init(status)
  }

  /// Checks that both describe the same file.
  func isSameFile(as other: FileStatus) -> Bool { device == other.device && inode == other.inode }
}

/// Checks that `name` names a file of the directory itself: no separator, no parent, nothing hidden from the system by a NUL.
package func isPlainFileName(_ name: String) -> Bool {
  !name.isEmpty && name != "." && name != ".." && !name.utf8.contains(UInt8(ascii: "/")) && !name.utf8.contains(0)
}

/// `name` within `directory`, whatever slashes the directory's path ends with.
package func join(_ directory: String, _ name: String) -> String {
  let directory = outputPath(directory)
  return directory.utf8.last == UInt8(ascii: "/") ? directory + name : directory + "/" + name
}

/// A path as it was given, without the slashes at its end.
package func outputPath(_ path: String) -> String {
  var bytes = path.utf8[...]
  while bytes.count > 1, bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
  return String(Substring(bytes))
}

/// Splits an output path into its directory and its name; nil when there is no name.
package func splitOutput(_ path: String) -> (parent: String, name: String)? {
  let slash = UInt8(ascii: "/")
  let bytes = Array(outputPath(path).utf8)
  let cut = bytes.lastIndex(of: slash)
  let name = String(decoding: bytes[(cut.map { $0 + 1 } ?? 0)...], as: UTF8.self)
  guard isPlainFileName(name) else { return nil }
  return (parent: cut.map { $0 == 0 ? "/" : String(decoding: bytes[..<$0], as: UTF8.self) } ?? ".", name: name)
}

/// The last name of a path; nil where it ends in none, as `..` does.
package func fileName(of path: String) -> String? { splitOutput(path)?.name }

/// The path without links, `.` and `..`; nil for what cannot be reached.
package func realPath(_ path: String) -> String? {
  guard !path.utf8.contains(0) else { return nil }
  // SAFETY: realpath allocates a terminated string, which is copied and freed once.
  guard let found = unsafe realpath(path, nil) else { return nil }
  defer { unsafe free(found) }
  return unsafe String(validatingCString: found)
}

/// The names in a directory, sorted by their bytes, without `.` and `..`.
package func directoryNames(_ path: String) throws(FileError) -> [String] {
  // SAFETY: the stream is closed once, below, and used by this function alone.
  guard let stream = unsafe opendir(path) else {
    switch errno {
    case ENOENT, ENOTDIR: throw .notFound(path: path)
    case EACCES, EPERM: throw .notReadable(path: path, code: errno)
    default: throw .system(operation: "list", path: path, code: errno)
    }
  }
  defer { unsafe closedir(stream) }
  let nameOffset = MemoryLayout<dirent>.offset(of: \.d_name) ?? 0
  var names: [String] = []
  while let entry = unsafe readdir(stream) {
    // SAFETY: readdir's record holds a terminated name at this offset until the next call; it may be shorter than `dirent`.
    let name = unsafe String(cString: (UnsafeRawPointer(entry) + nameOffset).assumingMemoryBound(to: CChar.self))
    if name != "." && name != ".." { names.append(name) }
  }
  return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
}

/// Removes a file or a directory with everything in it; links are removed, not followed. Does what it can and reports nothing.
func removeTree(_ path: String) {
  guard let status = FileStatus(path: path, followingLinks: false) else { return }
  guard status.type == .directory else {
    SystemCall.unlink(path)
    return
  }
  for name in (try? directoryNames(path)) ?? [] { removeTree(join(path, name)) }
  SystemCall.removeDirectory(path)
}

/// Creates a directory unless it is there, into which files are to be put beside those that are.
///
/// - Throws: ``FileError`` when it lies in one of the job's inputs, or cannot be created.
package func makeDirectory(_ path: String, inputs: JobInputs) throws(FileError) {
  try inputs.check(folder: path)
  let code = SystemCall.makeDirectory(path)
  guard code == 0 || (code == EEXIST && isDirectory(path)) else { throw creationError(path, code) }
}

/// Checks that `path` names a directory, or a link to one.
package func isDirectory(_ path: String) -> Bool { FileStatus(path: path, followingLinks: true)?.type == .directory }

/// Checks that `path` names a regular file, or a link to one.
package func isRegularFile(_ path: String) -> Bool { FileStatus(path: path, followingLinks: true)?.type == .regular }
