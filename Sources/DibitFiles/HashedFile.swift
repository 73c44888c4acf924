internal import DibitTensor
internal import Glibc

/// A new file that is written from one end to the other and digested on the way; removed again when it is dropped before ``finalize()``.
package struct HashedFile: ~Copyable {
  /// The path of the file.
  package let path: String
  private let file: FileDescriptor
  private var buffer: [UInt8]
  private var hash = SHA256()
  private var isFinalized = false

  private static let bufferSize = 1 << 20

  /// Creates the file; `start` are its first bytes.
  ///
  /// - Throws: ``FileError`` when the file exists or cannot be created.
  package init(path: String, start: [UInt8]) throws(FileError) {
    let file = try createFile(path)
    self.path = path
    self.file = file
    buffer = start
    buffer.reserveCapacity(max(Self.bufferSize, start.count))
  }

  deinit {
    if !isFinalized, FileStatus(path: path, followingLinks: false)?.type == .regular { SystemCall.unlink(path) }
  }

  /// Adds bytes; ``FileError/system(operation:path:code:)`` for a full disk.
  package mutating func append(_ bytes: Span<UInt8>) throws(FileError) {
    // A large piece goes to the file as it lies.
    if bytes.count >= Self.bufferSize / 4 {
      try flush()
      hash.update(bytes)
      try file.write(bytes)
      return file.startWriteBack()
    }
    if buffer.count + bytes.count > Self.bufferSize { try flush() }
    // SAFETY: the bytes are valid within the closure, which copies them.
    unsafe bytes.withUnsafeBufferPointer { unsafe buffer.append(contentsOf: $0) }
  }

  private mutating func flush() throws(FileError) {
    hash.update(buffer)
    try file.write(buffer.span)
    buffer.removeAll(keepingCapacity: true)
  }

  /// The SHA-256 of all bytes so far in hexadecimal.
  package mutating func digest() throws(FileError) -> String {
    try flush()
    return hash.finalize()
  }

  /// Waits until the file is on the disk; returns the SHA-256 of all of it in hexadecimal.
  package mutating func finalize() throws(FileError) -> String {
    try flush()
    try file.sync()
    isFinalized = true
    return hash.finalize()
  }
}
