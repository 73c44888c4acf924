internal import Glibc

/// An open file, closed with its owner. Every call repeats itself when a signal interrupts it.
package struct FileDescriptor: ~Copyable {
  /// The system's number of it.
  package let number: Int32
  /// The path it was opened with, for messages.
  package let path: String

  private init(number: Int32, path: String) {
    self.number = number
    self.path = path
  }

  deinit { _ = close(number) }

  /// Opens with `flags`, or returns nil and leaves the reason in `errno`.
  static func open(_ path: String, flags: Int32) -> FileDescriptor? {
    // A NUL would hide the rest of the path from the system.
    guard !path.utf8.contains(0) else {
      errno = ENOENT
      return nil
    }
    while true {
      // SAFETY: Swift passes a terminated copy of the path that lives until the call returns.
      let number = unsafe Glibc.open(path, flags | O_CLOEXEC, 0o666)
      if number >= 0 { return FileDescriptor(number: number, path: path) }
      if errno != EINTR { return nil }
    }
  }

  /// Opens a regular file for reading.
  package static func open(reading path: String) throws(FileError) -> FileDescriptor {
    // O_NONBLOCK: opening a pipe must not wait for its writer; it means nothing for a regular file.
    guard let file = open(path, flags: O_RDONLY | O_NONBLOCK) else {
      switch errno {
      case ENOENT, ENOTDIR: throw .notFound(path: path)
      case EACCES, EPERM: throw .notReadable(path: path, code: errno)
      default: throw .system(operation: "open", path: path, code: errno)
      }
    }
    let type = try file.status().type
    guard type == .regular else { throw .notAFile(path: path, found: type) }
    return file
  }

  /// Size, type and identity.
  package func status() throws(FileError) -> FileStatus {
    var status = stat()
    // SAFETY: the structure is ours and large enough.
    guard unsafe fstat(number, &status) == 0 else { throw .system(operation: "examine", path: path, code: errno) }
    return FileStatus(status)
  }

  /// Reads until `count` bytes or the end of the file.
  func read(upTo count: Int) throws(FileError) -> [UInt8] {
    var failure: Int32 = 0
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        // SAFETY: bytes from `filled` to `count` lie within the buffer.
        let got = unsafe Glibc.read(number, buffer.baseAddress.map { unsafe $0 + filled }, count - filled)
        if got > 0 { filled += got }
        if got < 0, errno == EINTR { continue }
        if got < 0 { failure = errno }
        if got <= 0 { break }
      }
    }
    guard failure == 0 else { throw .system(operation: "read", path: path, code: failure) }
    return bytes
  }

  /// Writes all bytes, however many calls that takes.
  func write(_ bytes: Span<UInt8>) throws(FileError) {
    var written = 0
    while written < bytes.count {
      // SAFETY: the address is valid for `count` bytes within the closure.
      let step = unsafe bytes.extracting(written...).withUnsafeBufferPointer { unsafe Glibc.write(number, $0.baseAddress, $0.count) }
      if step < 0, errno == EINTR { continue }
      guard step > 0 else { throw .system(operation: "write", path: path, code: step == 0 ? EIO : errno) }
      written += step
    }
  }

  /// Writes all bytes from the byte `offset` of the file on.
  func write(_ bytes: RawSpan, at offset: Int) throws(FileError) {
    var written = 0
    while written < bytes.byteCount {
      // SAFETY: the address is valid for `count` bytes within the closure.
      let step = unsafe bytes.extracting(written...).withUnsafeBytes { unsafe pwrite(number, $0.baseAddress, $0.count, offset + written) }
      if step < 0, errno == EINTR { continue }
      guard step > 0 else { throw .system(operation: "write", path: path, code: step == 0 ? EIO : errno) }
      written += step
    }
  }

  /// Fills `bytes` from the byte `offset` of the file on, which has to have so many.
  func read(into bytes: inout MutableRawSpan, at offset: Int) throws(FileError) {
    var filled = 0
    while filled < bytes.byteCount {
      // SAFETY: bytes from `filled` on lie within the buffer.
      let got = unsafe bytes.withUnsafeMutableBytes { buffer in
        unsafe pread(number, buffer.baseAddress.map { unsafe $0 + filled }, buffer.count - filled, offset + filled)
      }
      if got < 0, errno == EINTR { continue }
      guard got > 0 else { throw .system(operation: "read", path: path, code: got == 0 ? EIO : errno) }
      filled += got
    }
  }

  /// Asks the system to write to the disk what it has collected so far, without waiting, so that ``sync()`` finds little to do.
  func startWriteBack() {
    SystemCall.startWriteBack(number)
  }

  /// Waits until the contents are on the disk.
  func sync() throws(FileError) {
    while fsync(number) != 0 {
      if errno == EINTR { continue }
      // Devices, and directories of some file systems, have nothing to wait for.
      if errno == EINVAL || errno == EROFS { return }
      throw .system(operation: "flush", path: path, code: errno)
    }
  }

  /// Takes the advisory lock that lives as long as this descriptor; false when another holds it.
  func lock() -> Bool { flock(number, LOCK_EX | LOCK_NB) == 0 }

  /// Releases it: closing alone does not where a child that was forked meanwhile has the descriptor, too.
  func unlock() { flock(number, LOCK_UN) }
}

/// The system's own words for an error number.
package func systemMessage(_ code: Int32) -> String {
  // SAFETY: strerror returns a terminated string that lives until this thread's next call.
  guard let text = unsafe strerror(code) else { return "error \(code)" }
  return unsafe String(cString: text)
}
