internal import Glibc

/// A file that grows at its end while a job runs, such as a log of events.
///
/// Use it for what is read while it is written. Outputs that must appear whole are written through ``StagedFile``.
public struct JournalFile: ~Copyable {
  /// The path of the file.
  public let path: String
  /// The size of the file in bytes.
  public private(set) var byteCount: Int
  private let file: FileDescriptor

  /// Opens or creates the file and cuts it after `byteCount` bytes, or leaves it where it is shorter.
  ///
  /// - Throws: ``CheckpointError`` when it cannot be created, is no regular file, or cannot be cut.
  public init(path: String, keeping byteCount: Int) throws(CheckpointError) {
    guard let file = FileDescriptor.open(path, flags: O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK) else {
      throw creationError(path, errno)
    }
    let status = try file.status()
    guard status.type == .regular else { throw .notAFile(path: path, found: status.type.description) }
    if status.size > byteCount {
      guard ftruncate(file.number, byteCount) == 0 else { throw .system(operation: "cut", path: path, code: errno) }
    }
    self.path = path
    self.byteCount = min(status.size, byteCount)
    self.file = file
  }

  /// Adds bytes at the end.
  ///
  /// - Throws: ``CheckpointError/system(operation:path:code:)`` for a full disk; a part of the bytes may then be there.
  public mutating func append(_ bytes: Span<UInt8>) throws(CheckpointError) {
    try file.write(bytes)
    byteCount += bytes.count
  }

  /// Waits until everything is on the disk.
  public func sync() throws(CheckpointError) { try file.sync() }
}
