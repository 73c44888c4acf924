internal import Dibit
internal import DibitCheckpoint
internal import DibitEvaluation
internal import DibitFiles
internal import DibitTraining

/// The destination of predictions: standard output, or a file that grows record by record, so that an interrupted job can go on.
struct PredictionSink: ~Copyable {
  /// The records that an earlier job has written, behind which this one goes on.
  private(set) var completed: CompletedPredictions
  /// True while nothing but the header has been written.
  private var isFirst = true
  private let format: PredictionFormat
  private let output: String?
  private let inputs: JobInputs
  private let identity: RunIdentity
  private var file: JournalFile?
  /// The file that says what the output was begun with.
  private var begun: IdentityFile?
  /// Notes on how an output is gone on with.
  private(set) var findings: [String] = []

  /// Looks at the output, and locks one that exists; nothing is created, written or cut before ``begin()``.
  ///
  /// - Throws: when the file exists and is neither to be gone on with nor replaced, holds something else, is an input, was begun with
  ///   something else than `identity`, or another job has it.
  init(
    _ format: PredictionFormat, output: String?, resume: Bool, overwrite: Bool, inputs: JobInputs, identity: RunIdentity
  ) throws {
    (self.format, self.output, self.inputs, self.identity) = (format, output, inputs, identity)
    completed = CompletedPredictions(format)
    guard let output else { return }
    try inputs.check(output: output)
    let isThere = Self.exists(output)
    if isThere {
      guard resume || overwrite else {
        let advice = format.kind == .json ? "pass --overwrite to replace it" : "pass --resume to go on, or --overwrite to begin anew"
        throw Failure(.cannotCreate, "'\(output)': the output exists already; \(advice)")
      }
      let file = try JournalFile(path: output, inputs: inputs)
      if overwrite { try file.check(.predictions) }
      self.file = consume file
    }
    // An array has an end behind its last record: no job can go on there. Behind the lock: nobody else writes it now.
    if format.kind != .json { begun = try IdentityFile(of: output, job: "predict", inputs: inputs) }
    guard isThere, resume else { return }
    try Self.read(output, into: &completed)
    try checkIdentity(output)
  }

  /// Waits until the weights were found to be whole, opens the output and writes what stands before the predictions; false when nobody reads it.
  mutating func begin() throws -> Bool {
    try OpenedModels.waitForChecks()
    if let output, file == nil {
      let created = try JournalFile(path: output, inputs: inputs)
      // Another job made it since this one looked.
      guard created.byteCount == 0 else { throw FileError.outputExists(path: output) }
      file = consume created
    }
    if (file?.byteCount ?? 0) > completed.byteCount { try cut() }
    // Before the first row: what rows there are belong to what is said of them, whenever the job ends.
    try begun?.write(identity)
    guard completed.byteCount == 0 else { return true }
    return try write(format.header)
  }

  private mutating func cut() throws {
    try file?.cut(after: completed.byteCount)
    // Rows of another job must not come back beside what is said of this one.
    try file?.sync()
  }

  /// Checks that rows which are there were made as this job makes them. Without rows nothing depends on it.
  private mutating func checkIdentity(_ output: String) throws {
    guard completed.count > 0 else { return }
    guard let earlier = begun?.identity else {
      findings.append("'\(output)' has no file that says what it was begun with: model, adapter and options are taken to be the same")
      return
    }
    if let difference = identity.difference(from: earlier) { throw difference.failure(of: output) }
  }

  /// Writes the record of a prediction; false when nobody reads it any more.
  mutating func write(_ prediction: InputPrediction) throws -> Bool {
    let record = format.record(prediction, isFirst: isFirst) { Advice.sentence(of: $0) }
    if !record.isEmpty { isFirst = false }
    return try write(record)
  }

  /// Writes what stands behind the predictions, and waits until a file is on the disk.
  mutating func finish() throws {
    _ = try write(format.footer(isEmpty: isFirst))
    try file?.sync()
  }

  private mutating func write(_ text: String) throws -> Bool {
    guard !text.isEmpty else { return true }
    let bytes = Array(text.utf8)
    guard output != nil else { return try StandardOutput.write(bytes) }
    // One call for each record: whatever ends the job, at most the last one is torn.
    try file?.append(bytes.span)
    return true
  }

  /// Checks whether something lies there, readable or not.
  private static func exists(_ path: String) -> Bool {
    do throws(FileError) { _ = try SequentialFile(path) } catch {
      if case .notFound = error { return false }
    }
    return true
  }

  private static func read(_ path: String, into completed: inout CompletedPredictions) throws {
    var file = try SequentialFile(path)
    do {
      while true {
        let bytes = try file.read(upTo: 1 << 20)
        if bytes.isEmpty { break }
        try completed.add(bytes)
      }
      try completed.end()
    } catch let error as UnfitPredictions {
      throw Failure(.badData, "'\(path)', \(error): it cannot be gone on with; choose another name, or pass --overwrite to begin anew")
    }
  }
}

extension OutputMark {
  /// The mark of files that `predict` writes, in any form.
  static let predictions = OutputMark("a file of predictions", isBorne: PredictionFormat.isForm(ofStart:))
}
