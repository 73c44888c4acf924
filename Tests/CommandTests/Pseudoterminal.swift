import Foundation
import Glibc
import Testing

/// A `dibit` whose standard input and standard error are a terminal: what a person would see and type.
final class TerminalProcess {
  private let process = Process()
  private let master: FileHandle
  private let output = Pipe()
  private var screen: [UInt8] = []

  init(_ arguments: [String]) throws {
    var (number, slave): (Int32, Int32) = (-1, -1)
    // SAFETY: both numbers are ours, and the call keeps no reference to them. It makes no terminal the one that controls the tests.
    let status = unsafe openpty(&number, &slave, nil, nil, nil)
    try #require(status == 0)
    _ = fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK)
    _ = fcntl(number, F_SETFD, FD_CLOEXEC)
    master = FileHandle(fileDescriptor: number, closeOnDealloc: true)
    let handle = FileHandle(fileDescriptor: slave, closeOnDealloc: true)
    process.executableURL = URL(filePath: DibitProcess.executable)
    process.arguments = arguments
    (process.standardInput, process.standardError, process.standardOutput) = (handle, handle, output)
    try process.run()
  }

  /// What came on the screen since the last time.
  private var seen: String {
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let size = buffer.count
      // SAFETY: the buffer has room for as many bytes.
      let count = unsafe Glibc.read(master.fileDescriptor, &buffer, size)
      guard count > 0 else { break }
      screen += buffer.prefix(count)
    }
    return String(decoding: screen, as: UTF8.self).replacing("\r\n", with: "\n")
  }

  /// Waits until the screen ends with one of `texts`, with `part` somewhere before, and returns what came since the last time; fails the test
  /// when that never comes.
  @discardableResult
  func wait(for texts: String..., behind part: String = "") throws -> String {
    var now = seen
    let isThere = process.runs {
      now = seen
      return texts.contains { now.hasSuffix($0) } && (part.isEmpty || now.contains(part))
    }
    try #require(isThere, "never came so far; it wrote: \(now)")
    screen = []
    return now
  }

  /// Types text.
  func type(_ text: String) { master.write(Data(text.utf8)) }

  /// Sends Ctrl-C.
  func interrupt() { process.interrupt() }

  /// Waits for the end; the status, the rest on the screen, and what went to standard output.
  func finish() -> (status: Int32, screen: String, output: String) {
    process.waitUntilExit()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    return (process.terminationStatus, seen, String(decoding: data, as: UTF8.self))
  }
}
