internal import Synchronization

/// The response to a system that refuses memory.
package enum MemoryFailure {
  private static let handler = Mutex<(@Sendable (Int) -> Never)?>(nil)

  /// From now on `handler` ends the process; it is told how many bytes were refused. Without one the process traps.
  package static func handle(by handler: @escaping @Sendable (_ bytes: Int) -> Never) { self.handler.withLock { $0 = handler } }

  /// Ends the process because `bytes` bytes were refused.
  static func end(_ bytes: Int) -> Never {
    if let handler = handler.withLock({ $0 }) { handler(bytes) }
    trap("Buffer: no memory for \(bytes) bytes", file: #fileID, line: #line)
  }
}
