/// Stops the program when a caller broke a precondition; bad *data* throws instead.
///
/// Unlike `precondition`, the message survives `-O`.
@inlinable @inline(__always)
package func require(_ condition: Bool, _ message: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line) {
  if !condition { trap(message(), file: file, line: line) }
}

/// Out of line, so that the check costs one compare and one never-taken branch.
@usableFromInline @inline(never)
func trap(_ message: String, file: StaticString, line: UInt) -> Never { fatalError(message, file: file, line: line) }
