internal import Glibc

/// A file that grows at its end while a job runs, such as a log of events. One process at a time writes it: it is locked.
///
/// Use it for what is read while it is written. Outputs that must appear whole are written through ``StagedFile``.
package struct JournalFile: ~Copyable {
  /// The path of the file.
  package let path: String
  /// The size of the file in bytes.
  package private(set) var byteCount: Int
  private let file: FileDescriptor

  /// Opens or creates the file, which nobody else may be writing, and leaves its bytes alone.
  ///
  /// - Throws: ``FileError`` when it would destroy one of `inputs`, cannot be created, is no regular file, or another process has it.
  package init(path: String, inputs: JobInputs) throws(FileError) {
    try inputs.check(output: path)
    guard let file = FileDescriptor.open(path, flags: O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK) else {
      throw creationError(path, errno)
    }
    let status = try file.status()
    guard status.type == .regular else { throw .notAFile(path: path, found: status.type) }
    guard file.lock() else { throw .outputInUse(path: path, partial: path) }
    // Once more: until the lock another process may have written.
    let size = try file.status().size
    self.path = path
    byteCount = size
    self.file = file
  }

  /// Cuts the file after `byteCount` bytes, or leaves it where it is shorter.
  ///
  /// - Throws: ``FileError/system(operation:path:code:)``.
  package mutating func cut(after byteCount: Int) throws(FileError) {
    guard self.byteCount > byteCount else { return }
    guard ftruncate(file.number, byteCount) == 0 else { throw .system(operation: "cut", path: path, code: errno) }
    self.byteCount = byteCount
  }

  /// Checks that what the file holds may be replaced.
  ///
  /// - Throws: ``FileError/notOurs(path:expected:)``.
  package func check(_ mark: OutputMark) throws(FileError) { try mark.check(path) }

  /// Adds bytes at the end.
  ///
  /// - Throws: ``FileError/system(operation:path:code:)`` for a full disk; a part of the bytes may then be there.
  package mutating func append(_ bytes: Span<UInt8>) throws(FileError) {
    try file.write(bytes)
    byteCount += bytes.count
  }

  /// Waits until everything is on the disk.
  package func sync() throws(FileError) { try file.sync() }
}
