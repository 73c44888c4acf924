internal import Glibc

/// The error stream, unbuffered.
package enum StandardError {
  /// True for a terminal.
  package static let isTerminal = isatty(STDERR_FILENO) == 1

  /// Columns of the terminal that it is, which may change at any time; what COLUMNS says where that does not; nil where neither does.
  package static var columns: Int? {
    if let columns = terminalSize(STDERR_FILENO)?.columns { return columns }
    // SAFETY: the string is copied before anything can change the environment.
    return unsafe getenv("COLUMNS").flatMap { unsafe String(validatingCString: $0) }.flatMap { Int($0) }
  }

  /// Writes `text`; what cannot be written is dropped, for there is nobody left to tell.
  package static func write(_ text: String) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      // SAFETY: the pointer is used within the closure only.
      let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }
}
