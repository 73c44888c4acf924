internal import DibitCheckpoint
internal import DibitFailure
internal import DibitFiles
internal import DibitJSON
internal import DibitTraining

/// A hidden file beside an output that grows, which says what the job was begun with: the output itself has room for its rows only.
///
/// It is written while the output holds no row, and rows follow when it is on the disk. So one that is torn belongs to an output without
/// rows, and counts as none.
struct IdentityFile {
  /// Its path: `.NAME.job` for an output called NAME. Jobs that read a folder leave hidden files out.
  let path: String
  private let inputs: JobInputs
  /// The identity that it tells; nil where there is no such file, or one that is torn.
  private(set) var identity: RunIdentity?

  private let job: String

  /// Reads the file that belongs to `output` of a command called `job`.
  ///
  /// - Throws: ``FileError`` where something else has its name.
  init(of output: String, job: String, inputs: JobInputs) throws(FileError) {
    let end = output.lastIndex(of: "/").map { output.index(after: $0) } ?? output.startIndex
    path = "\(output[..<end]).\(output[end...]).job"
    (self.inputs, self.job) = (inputs, job)
    guard isRegularFile(path) else { return }
    let bytes = try readFile(path, limit: 1 << 24)
    let isStart = zip(bytes, "{\"schema\":1,\"job\":\"\(job)\",".utf8).allSatisfy { $0 == $1 }
    guard bytes.last == UInt8(ascii: "\n") else {
      guard isStart else { throw foreign }
      return
    }
    guard isStart, let identity = (try? JSONValue(parsing: bytes)).flatMap(RunIdentity.init) else { throw foreign }
    self.identity = identity
  }

  private var foreign: FileError { .notOurs(path: path, expected: "a file about a job") }

  /// Says that the job was begun with `identity`, and waits until that is on the disk. The output holds no row, or nobody knows what they
  /// were begun with.
  mutating func write(_ identity: RunIdentity) throws(FileError) {
    guard self.identity?.json.serialized() != identity.json.serialized() else { return }
    var file = try JournalFile(path: path, inputs: inputs)
    try file.cut(after: 0)
    self.identity = nil
    let members = identity.json.object?.members ?? []
    let line = JSONValue.object(JSONObject([("schema", 1), ("job", .string(job))] + members)).serialized() + "\n"
    try file.append(Array(line.utf8).span)
    try file.sync()
    self.identity = identity
  }
}
