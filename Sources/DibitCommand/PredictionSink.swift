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
  /// The file; nil for standard output.
  private var file: ResumableFile?
  /// Notes on how an output is gone on with.
  private(set) var findings: [String] = []

  /// Looks at the output; nothing is created, written or cut before ``begin()``.
  ///
  /// - Throws: as ``ResumableFile``, and when the file holds something else, or was begun with something else than `identity`.
  init(
    _ format: PredictionFormat, output: String?, resume: Bool, overwrite: Bool, inputs: JobInputs, identity: RunIdentity
  ) throws {
    self.format = format
    completed = CompletedPredictions(format)
    guard let output else { return }
    // An array has an end behind its last record.
    let file = try ResumableFile(
      at: output, of: format.kind == .json ? nil : "predict", mark: .predictions, resumes: resume, overwrites: overwrite, inputs: inputs,
      identity: identity)
    if file.isResumed {
      try Self.read(output, into: &completed)
      // Without rows nothing depends on it.
      if completed.count > 0, let note = try file.checkIdentity("model, adapter and options") { findings.append(note) }
    }
    self.file = consume file
  }

  /// Waits until the weights were found to be whole, opens the output and writes what stands before the predictions; false when nobody reads it.
  mutating func begin() throws -> Bool {
    try OpenedModels.waitForChecks()
    try file?.begin(behind: completed.byteCount)
    guard completed.byteCount == 0 else { return true }
    return try write(format.header)
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
    guard file != nil else { return try StandardOutput.write(bytes) }
    try file?.append(bytes.span)
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
