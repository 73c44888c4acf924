internal import DibitJSON
internal import Foundation
internal import Synchronization

/// The trace of a session: a line of JSON for each thing that took time, in the file that `DIBIT_TRACE` names. `docs/formats/trace.md` has its
/// members, and `dibit trace` prints it as a timeline.
///
/// It has names, numbers and times, and nothing that was said.
struct SessionTrace: Sendable {
  /// The events of a trace.
  enum Event: String {
    /// The model was opened.
    case load
    /// Instructions and the beginning of a prompt were read ahead.
    case prewarm
    /// The model answered, or called tools.
    case step
    /// A tool was called.
    case tool
    /// A request was answered, or failed.
    case turn
  }

  private let session: String
  private let file: TraceFile?

  /// The trace of a new session; it writes nothing where nobody asked for a trace.
  init() { (session, file) = (String(UUID().uuidString.prefix(8)), TraceFile.shared) }

  /// Calls `body` and notes how long it took, with the members that `members` makes of what it gave, or the kind of its failure.
  func measure<Value>(
    _ event: Event, _ members: (Value) -> [(key: String, value: JSONValue)] = { _ in [] }, _ body: () async throws -> Value
  ) async throws -> Value {
    guard file != nil else { return try await body() }
    let (date, start) = (Date(), ContinuousClock.now)
    do {
      let value = try await body()
      write(event, date, start, members(value))
      return value
    } catch {
      write(event, date, start, [("error", .string(Self.name(of: error)))])
      throw error
    }
  }

  /// The case of an error of the framework, and of any other its type alone: what it says may have been said.
  private static func name(of error: any Error) -> String {
    let type = String(describing: type(of: error))
    switch error {
    case LanguageModelSession.Error.concurrentRequests: return "concurrentRequests"
    case LanguageModelSession.Error.transcriptMutationWhileResponding: return "transcriptMutationWhileResponding"
    case is LanguageModelSession.GenerationError, is LanguageModelError, is SystemLanguageModel.Error:
      return Mirror(reflecting: error).children.first?.label ?? type
    default: return type
    }
  }

  private func write(_ event: Event, _ date: Date, _ start: ContinuousClock.Instant, _ members: [(key: String, value: JSONValue)]) {
    let head: [(key: String, value: JSONValue)] = [
      ("session", .string(session)), ("event", .string(event.rawValue)), ("time", .number(date.timeIntervalSince1970)),
      ("seconds", .number((ContinuousClock.now - start) / .seconds(1))),
    ]
    file?.write(JSONValue.object(JSONObject(head + members)).serialized() + "\n")
  }
}

/// The file of a trace: whole lines, whoever writes them.
private final class TraceFile: Sendable {
  private let handle: Mutex<FileHandle>

  /// The file that the environment names; nil where it names none, or it cannot be written.
  static let shared = ProcessInfo.processInfo.environment["DIBIT_TRACE"].flatMap { TraceFile($0) }

  private init?(_ path: String) {
    if !FileManager.default.fileExists(atPath: path) { _ = FileManager.default.createFile(atPath: path, contents: nil) }
    guard let handle = FileHandle(forWritingAtPath: path) else { return nil }
    self.handle = Mutex(handle)
  }

  func write(_ line: String) {
    handle.withLock { handle in
      // A full disk must not end an answer.
      _ = try? handle.seekToEnd()
      try? handle.write(contentsOf: Data(line.utf8))
    }
  }
}
