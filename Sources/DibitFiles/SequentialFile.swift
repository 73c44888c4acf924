/// A regular file that is read from its first byte to its last, piece by piece, however large it is.
package struct SequentialFile: ~Copyable {
  /// The path it was opened with.
  package let path: String
  private let file: FileDescriptor

  /// Opens a file.
  ///
  /// - Throws: ``FileError`` when there is no regular file or it may not be read.
  package init(_ path: String) throws(FileError) {
    self.path = path
    file = try FileDescriptor.open(reading: path)
  }

  /// The next bytes, fewer than `count` only at the end of the file, none behind it.
  package mutating func read(upTo count: Int) throws(FileError) -> [UInt8] { try file.read(upTo: count) }
}
