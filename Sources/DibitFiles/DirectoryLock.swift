internal import Glibc

/// Keeps other processes out of a directory that several jobs may use one after the other, as long as it lives.
package final class DirectoryLock {
  private let directory: FileDescriptor

  /// Locks the directory at `path`.
  ///
  /// - Throws: ``FileError/outputInUse(path:partial:)`` when another process has it.
  package init(_ path: String) throws(FileError) {
    guard let directory = FileDescriptor.open(path, flags: O_RDONLY | O_DIRECTORY) else {
      throw .notReadable(path: path, code: errno)
    }
    guard directory.lock() else { throw .outputInUse(path: path, partial: path) }
    self.directory = directory
  }
}
