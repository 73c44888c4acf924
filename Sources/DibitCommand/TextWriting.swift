internal import Dibit
internal import DibitDataset
internal import DibitFailure
internal import DibitFiles
internal import DibitKernels
internal import DibitModelStore

/// The writing of texts by a model, before a person's eyes: to standard output, or into a file that a stopped job goes on with.
struct TextWriting {
  /// The model and the labelled texts, as the caller named them.
  let (model, data): (String, String)
  let options: Synthesis.Options
  /// The file; nil for standard output.
  let output: String?
  var resumes = false
  var overwrites = false
  /// The inputs that the file may not destroy, besides the model and the texts.
  var inputs = JobInputs([])

  /// Writes texts like those of `dataset`; ends where nobody reads standard output any more.
  func run(like dataset: Dataset, on compute: Compute) throws {
    var job = try SynthesisJob(OpenedModels.open(model), like: dataset, at: data, options: options, on: compute)
    guard let output else {
      try OpenedModels.waitForChecks()
      var isRead = true
      let count = try run(&job, behind: []) { texts in
        isRead = try StandardOutput.write(WrittenTexts.lines(texts))
        return isRead
      }
      return isRead ? try check(count) : ()
    }
    var file = try WrittenTexts(
      at: output, limit: options.limit, resumes: resumes, overwrites: overwrites, inputs: inputs.adding([model, data]),
      identity: job.identity)
    for finding in file.findings { Terminal.note(finding) }
    if !file.kept.isEmpty { Terminal.write("going on behind \(counted(file.kept.count, "text"))\n") }
    try OpenedModels.waitForChecks()
    try file.begin()
    let count = try run(&job, behind: file.kept) { texts in
      try file.append(texts)
      return true
    }
    try file.sync()
    try check(count)
    Terminal.wrote(output)
  }

  /// Returns how many texts there are in the end, and after how many attempts: nil for a job that was stopped.
  private func run(
    _ job: inout SynthesisJob, behind kept: [Synthesis.Text], write: ([Synthesis.Text]) throws -> Bool
  ) throws -> (texts: Int, attempts: Int?) {
    var (line, count) = (ProgressLine("writing texts"), kept.count)
    let attempts = try job.run(behind: kept) { texts in
      guard try write(texts) else { return false }
      count += texts.count
      line.update(count, of: options.limit, counted(count))
      return !Interrupt.isRequested
    }
    line.finish()
    return (count, attempts)
  }

  private func check(_ outcome: (texts: Int, attempts: Int?)) throws {
    let (count, limit) = (outcome.texts, options.limit)
    guard let attempts = outcome.attempts else {
      let goesOn = output == nil ? "" : "; the same command with --resume\(overwrites ? " instead of --overwrite" : "") goes on"
      throw Failure(.interrupted, "interrupted after \(counted(count))\(goesOn)")
    }
    guard count > 0 else { throw Failure(.badData, "'\(data)': the model wrote no text like these; use a larger model") }
    guard count < limit else { return }
    Terminal.note(
      "\(counted(count, "text")) and not \(grouped(limit)) in \(counted(attempts, "attempt")): the rest was there already, or had no end")
  }
}
