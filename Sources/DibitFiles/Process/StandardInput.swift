internal import Glibc

/// The input stream, unbuffered.
package enum StandardInput {
  /// True for a terminal.
  package static let isTerminal = isatty(STDIN_FILENO) == 1

  /// The time for which a read waits before it asks whether it shall go on, in milliseconds.
  private static let patience: Int32 = 200

  /// Up to `count` bytes, as soon as some are there; none at the end, and none once `isStopped` says so.
  ///
  /// - Throws: ``FileError/system(operation:path:code:)`` where the stream is closed or broken.
  package static func read(upTo count: Int, isStopped: () -> Bool) throws(FileError) -> [UInt8] {
    while !isStopped() {
      var request = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
      // SAFETY: the structure is ours, and the call keeps no reference to it.
      let ready = unsafe poll(&request, 1, patience)
      if ready == 0 || ready < 0 && errno == EINTR { continue }
      var failure: Int32 = 0
      let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        // SAFETY: the buffer has room for `count` bytes.
        let got = unsafe Glibc.read(STDIN_FILENO, buffer.baseAddress, count)
        if got < 0 { failure = errno }
        filled = max(got, 0)
      }
      if failure == EINTR || failure == EAGAIN { continue }
      guard failure == 0 else { throw .system(operation: "read", path: "standard input", code: failure) }
      return bytes
    }
    return []
  }
}
