package import DibitTensor
internal import Glibc

/// A file without a name, for numbers that would take too much memory: it goes with its owner, however the process ends.
///
/// Use it for what is read and written in large pieces. Do not use it for what a job goes on with after a stop.
package struct ScratchFile: ~Copyable {
  private let file: FileDescriptor

  /// Creates a file that will take up to `bytes` bytes.
  ///
  /// - Parameter path: where it is for a moment, until its name is gone; nothing may be there.
  /// - Throws: ``FileError`` where it cannot be created, or the disk has no space for so much.
  package init(path: String, bytes: Int) throws(FileError) {
    try FreeSpace().check(bytes, at: path)
    guard let file = FileDescriptor.open(path, flags: O_RDWR | O_CREAT | O_EXCL) else { throw .notWritable(path: path, code: errno) }
    SystemCall.unlink(path)
    self.file = file
  }

  /// Writes the elements of a matrix from the byte `offset` on.
  package func write(_ matrix: borrowing Matrix, at offset: Int) throws(FileError) {
    let span = matrix.span
    // SAFETY: every float is four bytes without padding.
    try file.write(unsafe span.bytes, at: offset)
  }

  /// Overwrites the elements of a matrix with those that were written from the byte `offset` on.
  package func read(into matrix: inout Matrix, at offset: Int) throws(FileError) {
    var span = matrix.mutableSpan
    // SAFETY: any four bytes are a float.
    var bytes = unsafe span.mutableBytes
    try file.read(into: &bytes, at: offset)
  }
}
