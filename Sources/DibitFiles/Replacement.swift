internal import Glibc

/// Giving finished files and directories their final names.
enum Replacement {
  /// The ways in which an existing directory is replaced.
  enum Method {
    /// Both names are exchanged in one step where the file system can do that, otherwise as `setAside`.
    case exchange
    /// The old directory is renamed first; a crash between the two renames leaves it under `.<name>.previous-<pid>`.
    case setAside
  }

  /// Renames a directory to a name that is free.
  static func rename(_ partial: String, to destination: String) throws(FileError) {
    // rename() would replace an empty directory; a full one it refuses by itself.
    guard FileStatus(path: destination, followingLinks: false) == nil else { throw .outputExists(path: destination) }
    let code = SystemCall.rename(partial, destination)
    switch code {
    case 0: return
    case EEXIST, ENOTEMPTY, ENOTDIR: throw .outputExists(path: destination)
    default: throw .system(operation: "rename the finished output", path: destination, code: code)
    }
  }

  /// Puts `partial` in the place of the directory `destination`, which is removed.
  static func replace(_ destination: String, with partial: String, by method: Method = .exchange) throws(FileError) {
    if method == .exchange {
      let code = SystemCall.exchange(partial, destination)
      if code == 0 {
        // The exchange reaches the disk before the old output leaves it; commit() reports what goes wrong here.
        try? syncDirectory(splitOutput(destination)?.parent ?? ".")
        removeTree(partial)
        return
      }
      guard code == EINVAL || code == ENOSYS || code == ENOTSUP else {
        throw .system(operation: "replace", path: destination, code: code)
      }
    }
    guard let (parent, name) = splitOutput(destination) else { throw .badOutputName(path: destination) }
    let aside = join(parent, ".\(name).previous-\(getpid())")
    let first = SystemCall.rename(destination, aside)
    guard first == 0 else { throw .system(operation: "set aside", path: destination, code: first) }
    let second = SystemCall.rename(partial, destination)
    guard second == 0 else {
      _ = SystemCall.rename(aside, destination)
      throw .system(operation: "replace", path: destination, code: second)
    }
    try? syncDirectory(parent)
    removeTree(aside)
  }

  /// Waits until the directory's entries are on the disk.
  static func syncDirectory(_ path: String) throws(FileError) {
    guard let directory = FileDescriptor.open(path, flags: O_RDONLY | O_DIRECTORY) else {
      throw .system(operation: "flush", path: path, code: errno)
    }
    try directory.sync()
  }

  /// Waits until everything below the directory is on the disk.
  static func syncTree(_ path: String) throws(FileError) {
    for name in try directoryNames(path) {
      let child = join(path, name)
      switch FileStatus(path: child, followingLinks: false)?.type {
      case .directory: try syncTree(child)
      case .regular: try FileDescriptor.open(reading: child).sync()
      default: break
      }
    }
    try syncDirectory(path)
  }
}
