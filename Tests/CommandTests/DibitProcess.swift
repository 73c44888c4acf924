import DibitJSON
import DibitTestSupport
import Foundation
import Glibc
import Testing

/// What a run of `dibit` left behind.
struct Outcome {
  let status: Int32
  let output: String
  let errors: String

  /// The lines of standard error that are failures; progress and notes go there too.
  var errorLines: [Substring] { errors.split(separator: "\n").filter { $0.hasPrefix("error: ") } }

  func json() throws -> JSONValue { try JSONValue(parsing: Array(output.utf8)) }
}

/// A `dibit` that runs: the executable beside the test bundle.
final class DibitProcess {
  private let process = Process()
  private let scratch = Scratch()

  static let executable: String = {
    let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return own[..<(own.lastIndex(of: "/") ?? own.endIndex)] + "/dibit"
  }()

  /// Starts it; `input` is what standard input holds, `output` a file or device to take standard output in place of the usual one.
  init(
    _ arguments: [String], environment: [String: String] = [:], in directory: String? = nil, input: String? = nil, output: String? = nil
  ) throws {
    process.executableURL = URL(filePath: Self.executable)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.filter { $0.key != "DIBIT_ISA" }.merging(environment) { $1 }
    if let directory { process.currentDirectoryURL = URL(filePath: directory) }
    for name in ["out", "err"] { try scratch.write("", to: name) }
    process.standardInput = try input.map { FileHandle(forReadingAtPath: try scratch.write($0, to: "in")) ?? .nullDevice } ?? .nullDevice
    process.standardOutput = FileHandle(forWritingAtPath: output ?? scratch("out"))
    process.standardError = FileHandle(forWritingAtPath: scratch("err"))
    try process.run()
  }

  /// What standard error holds so far.
  var errors: String { (try? text(scratch("err"))) ?? "" }

  /// Sends Ctrl-C.
  func interrupt() { process.interrupt() }

  /// Ends it as a power cut would.
  func kill() { Glibc.kill(process.processIdentifier, SIGKILL) }

  /// Waits for its end; the signal that killed it, or nil when it ended by itself.
  func waitForSignal() -> Int32? {
    process.waitUntilExit()
    return process.terminationReason == .uncaughtSignal ? process.terminationStatus : nil
  }

  var isRunning: Bool { process.isRunning }

  /// Waits until `condition` holds; fails the test when the process ends before it does, or in minutes.
  func wait(until condition: () -> Bool) throws {
    let hasCome = process.runs(until: condition)
    try #require(hasCome, "dibit \(process.arguments ?? []) never came so far; it wrote: \(errors)")
  }

  func finish() throws -> Outcome {
    process.waitUntilExit()
    #expect(
      process.terminationReason == .exit, "dibit \(process.arguments ?? []) was killed by signal \(process.terminationStatus): \(errors)")
    return Outcome(status: process.terminationStatus, output: try text(scratch("out")), errors: errors)
  }
}

extension Process {
  /// Waits until `condition` holds, while the process runs; false when it never does. A machine that runs all tests side by side may need
  /// many times what an idle one does, so the limit only ends what hangs.
  func runs(until condition: () -> Bool) -> Bool {
    let end = ContinuousClock.now + .seconds(300)
    while isRunning, ContinuousClock.now < end {
      if condition() { return true }
      usleep(5000)
    }
    return condition()
  }
}

/// Runs `dibit` to its end.
func dibit(_ arguments: String..., environment: [String: String] = [:], in directory: String? = nil, input: String? = nil) throws -> Outcome
{
  try dibit(arguments, environment: environment, in: directory, input: input)
}

/// Runs `dibit` to its end.
func dibit(_ arguments: [String], environment: [String: String] = [:], in directory: String? = nil, input: String? = nil) throws -> Outcome
{
  try DibitProcess(arguments, environment: environment, in: directory, input: input).finish()
}

/// Runs `dibit`, which must fail with `status` and say exactly `message` in one line; a late failure may come after progress.
func expectFailure(
  _ arguments: [String], status: Int32, message: String, isLate: Bool = false, environment: [String: String] = [:],
  sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let outcome = try DibitProcess(arguments, environment: environment).finish()
  #expect(outcome.status == status, "\(arguments): \(outcome.errors)", sourceLocation: sourceLocation)
  #expect(
    (isLate ? outcome.errorLines.map { $0 + "\n" }.joined() : outcome.errors) == "error: \(message)\n", sourceLocation: sourceLocation)
  #expect(outcome.output == "", sourceLocation: sourceLocation)
}
