internal import Glibc

/// The output stream, unbuffered: for results that come one by one, where a reader that has gone away ends the work.
package enum StandardOutput {
  /// True for a terminal.
  package static let isTerminal = isatty(STDOUT_FILENO) == 1

  /// Columns and rows of the terminal that it is; nil where it is none, or does not say how wide it is. Some know their width alone.
  package static var size: (columns: Int, rows: Int?)? { terminalSize(STDOUT_FILENO) }

  /// Writes all bytes; false when nobody reads them any more. The signal SIGPIPE must be ignored, as every command does.
  ///
  /// - Throws: ``FileError/system(operation:path:code:)`` for a full disk and the like.
  package static func write(_ bytes: [UInt8]) throws(FileError) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      // SAFETY: the pointer is used within the closure only.
      let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      if count < 0, errno == EAGAIN {
        // A stream that does not wait, and a reader that is slow.
        var request = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
        // SAFETY: the structure is ours, and the call keeps no reference to it.
        _ = unsafe poll(&request, 1, -1)
        continue
      }
      if count < 0, errno == EPIPE { return false }
      guard count > 0 else { throw .system(operation: "write", path: "standard output", code: count == 0 ? EIO : errno) }
      rest = rest.dropFirst(count)
    }
    return true
  }
}

/// Columns and rows of the terminal that a descriptor is; nil where it is none, or does not say how wide it is. Some know their width alone.
func terminalSize(_ descriptor: Int32) -> (columns: Int, rows: Int?)? {
  var size = winsize()
  // SAFETY: the kernel writes one `winsize`, which lives until the call returns.
  guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
  return (Int(size.ws_col), size.ws_row > 0 ? Int(size.ws_row) : nil)
}
