internal import Glibc

/// Creates a file that must not exist yet; devices, such as /dev/null, are opened as they are.
func createFile(_ path: String) throws(FileError) -> FileDescriptor {
  if let file = FileDescriptor.open(path, flags: O_WRONLY | O_CREAT | O_EXCL) { return file }
  let code = errno
  guard code == EEXIST else { throw creationError(path, code) }
  guard FileStatus(path: path, followingLinks: false)?.type == .other, let device = FileDescriptor.open(path, flags: O_WRONLY) else {
    throw .outputExists(path: path)
  }
  return device
}

/// Returns the reason for which something could not be created at `path`.
func creationError(_ path: String, _ code: Int32) -> FileError {
  switch code {
  case EEXIST: return .outputExists(path: path)
  case ENOSPC, EDQUOT, EIO: return .system(operation: "create", path: path, code: code)
  default:
    guard let parent = splitOutput(path)?.parent else { return .notWritable(path: path, code: code) }
    switch FileStatus(path: parent, followingLinks: true)?.type {
    case .directory: return .notWritable(path: path, code: code)
    case let type?: return .parentNotADirectory(path: path, parent: parent, found: type)
    case nil: return .missingParent(path: path, parent: parent)
    }
  }
}
