internal import DibitDataset
internal import DibitEvaluation
internal import DibitFailure
internal import DibitFiles

/// The messages to a person while texts are tagged, and in the end.
struct PredictionProgress {
  /// Texts that were tagged by this job.
  private(set) var tagged = 0
  /// Inputs without a prediction.
  private(set) var failed = 0
  /// The reason for which the first of them has none.
  private(set) var firstFailure: Failure?
  private var (truncated, empty) = (0, 0)
  private var line = ProgressLine("tagging")
  private let isBrief: Bool
  private let showsLine: Bool

  /// The most faults that are told one by one.
  private static let toldFaults = 10
  /// With more inputs than this a job is worth a line about itself.
  private static let briefLimit = 64

  init(inputs: TextInputs, toFile: Bool) {
    isBrief = !toFile && !inputs.hasRows && inputs.count <= Self.briefLimit
    // A bar between results would tear both.
    showsLine = !isBrief && inputs.bytes != nil && (toFile || !StandardOutput.isTerminal)
    for finding in inputs.report.summary { line.note("note: \(Advice.options(in: finding))") }
  }

  /// Inputs of this job.
  var done: Int { tagged + failed }

  mutating func add(_ prediction: InputPrediction, isOnly: Bool) {
    switch prediction.result {
    case .success(let result):
      tagged += 1
      if result.scores.truncatedTokens > 0 { truncated += 1 }
      if result.scores.isEmpty { empty += 1 }
    case .failure(let fault):
      failed += 1
      let failure = Self.failure(fault, at: prediction.location)
      firstFailure = firstFailure ?? failure
      // The only one is told in the end.
      if !isOnly, failed <= Self.toldFaults { line.note("not tagged: \(failure.message)") }
    }
  }

  /// Shows how far the job is: `read` of `total`.
  mutating func show(read: Int, of total: Int) {
    guard showsLine, read < total else { return }
    let detail = "\(counted(done)), \(rate)/s"
    line.update(read, of: total, detail)
  }

  /// "4,000 texts in 12 s, 330 texts/s, 3 failed".
  mutating func finish() {
    line.finish()
    if failed > Self.toldFaults { line.note("not tagged: \(grouped(failed - Self.toldFaults)) more") }

    if empty > 0 { line.note("note: \(counted(empty, "empty text")), tagged by the prompt alone") }
    let cut = truncated > 0 ? ", \(grouped(truncated)) cut to fit" : ""
    if isBrief, truncated > 0 { line.note("note: \(counted(truncated)) cut to what the adapter learnt to read") }
    guard !isBrief, done > 0 else { return }
    line.note("\(counted(done)) in \(duration(line.elapsed)), \(rate) texts/s\(failed > 0 ? ", \(grouped(failed)) failed" : "")\(cut)")
  }

  private var rate: String {
    let rate = Double(done) / max(line.elapsed, 1e-9)
    return rate < 10 ? decimal(rate, 1) : grouped(Int(min(rate, 1e9)))
  }

  /// The fault of an input as a line with an exit code.
  private static func failure(_ fault: PredictionFault, at location: TextLocation) -> Failure {
    switch fault {
    case .input(let error): Failure(of: error)
    case .model(let error): Failure(.badData, "\(quoted(location.description)): \(error)")
    }
  }
}
