internal import Dibit
internal import DibitFailure
internal import DibitFiles
internal import DibitJSON
internal import DibitTraining

/// The destination of texts that a model writes: standard output, or a file that grows line by line, so that an interrupted job can go on.
struct SynthesisSink: ~Copyable {
  /// The texts that an earlier job wrote, behind which this one goes on.
  private(set) var kept: [Synthesis.Text] = []
  /// Notes on how an output is gone on with.
  private(set) var findings: [String] = []
  private let output: String?
  private let inputs: JobInputs
  private let identity: RunIdentity
  private var file: JournalFile?
  private var begun: IdentityFile?
  private var keptBytes = 0

  private static let mark = OutputMark("a file of written texts", text: "\"attempt\":")

  /// Looks at the output, and locks one that exists; nothing is created, written or cut before ``begin()``.
  ///
  /// - Throws: when the file exists and is neither to be gone on with nor replaced, holds something else, is an input, was begun with
  ///   something else than `identity`, or another job has it.
  init(output: String?, limit: Int, resume: Bool, overwrite: Bool, inputs: JobInputs, identity: RunIdentity) throws {
    (self.output, self.inputs, self.identity) = (output, inputs, identity)
    guard let output else { return }
    try inputs.check(output: output)
    let isThere = isRegularFile(output)
    if isThere {
      guard resume || overwrite else {
        throw Failure(
          .cannotCreate, "'\(output)': the output exists already; pass --resume to go on, or --overwrite to begin anew")
      }
      let file = try JournalFile(path: output, inputs: inputs)
      if overwrite { try file.check(Self.mark) }
      self.file = consume file
    }
    begun = try IdentityFile(of: output, job: "synthesize", inputs: inputs)
    guard isThere, resume else { return }
    try read(output, limit)
    guard !kept.isEmpty else { return }
    guard let earlier = begun?.identity else {
      findings.append("'\(output)' has no file that says what it was begun with: model, data and options are taken to be the same")
      return
    }
    if let difference = identity.difference(from: earlier) { throw difference.failure(of: output) }
  }

  /// Reads the texts of an earlier job: all where they are as many as are wanted, and otherwise those up to its last attempt, which may have
  /// brought more and is made again.
  private mutating func read(_ output: String, _ limit: Int) throws {
    var (read, whole) = (0, 0)
    let bytes = try readFile(output, limit: 1 << 32)
    // Of what was torn in its first line only the beginning tells.
    guard zip(bytes, "{\"text\":\"".utf8).allSatisfy({ $0 == $1 }) else { throw unfit(output) }
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast() {
      guard let row = try? JSONValue(parsing: line, depthLimit: 8), let text = row["text"]?.string, let label = row["label"]?.string,
        let attempt = row["attempt"]?.int, attempt >= kept.last?.attempt ?? 0
      else {
        throw Failure(
          .badData,
          "'\(output)', line \(kept.count + 1): expected a text that was written here; choose another name, or pass --overwrite to begin anew"
        )
      }
      if kept.last.map({ $0.attempt < attempt }) ?? true { (whole, keptBytes) = (kept.count, read) }
      kept.append(Synthesis.Text(text: text, label: label, attempt: attempt))
      read += line.count + 1
    }
    if kept.count < limit { kept.removeLast(kept.count - whole) } else { keptBytes = read }
  }

  private func unfit(_ output: String) -> Failure {
    Failure(
      .badData,
      "'\(output)', line \(kept.count + 1): expected a text that 'dibit synthesize' wrote; choose another name")
  }

  /// Waits until the weights were found to be whole, and opens the output.
  mutating func begin() throws {
    try OpenedModels.waitForChecks()
    guard let output else { return }
    if file == nil {
      let created = try JournalFile(path: output, inputs: inputs)
      // Another job made it since this one looked.
      guard created.byteCount == 0 else { throw FileError.outputExists(path: output) }
      file = consume created
    }
    try file?.cut(after: keptBytes)
    // Rows of another job must not come back beside what is said of this one, which is there before the first row.
    try file?.sync()
    try begun?.write(identity)
  }

  /// Writes the texts of an attempt; false when nobody reads them any more.
  mutating func write(_ texts: [Synthesis.Text]) throws -> Bool {
    let rows = texts.map { text -> JSONValue in
      ["text": .string(text.text), "label": .string(text.label), "attempt": .integer(text.attempt)]
    }
    let bytes = Array(rows.map { $0.serialized() + "\n" }.joined().utf8)
    guard output != nil else { return try StandardOutput.write(bytes) }
    try file?.append(bytes.span)
    return true
  }

  /// Waits until a file is on the disk.
  func finish() throws { try file?.sync() }
}
