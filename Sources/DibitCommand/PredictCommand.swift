internal import ArgumentParser
internal import Dibit
internal import DibitDataset
internal import DibitEvaluation
internal import DibitFailure
internal import DibitJSON
internal import DibitModel
internal import DibitModelStore

struct PredictCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "predict",
    abstract: "Print the tags of texts: files, folders of files, rows, standard input.",
    discussion: """
      Example: dibit predict ./model --adapter ./notes-adapter note.txt letter.txt
      Example: dibit predict ./model --adapter ./notes-adapter ./mail --format csv --output tags.csv
      Example: dibit predict ./model --adapter ./notes-adapter --lines - < titles.txt

      One line for each text: its path, its tag, and the tag's probability among all labels. Files that end in csv, tsv, jsonl or ndjson \
      are rows, each with a text; the path of a row has its line behind it.

      What cannot be read is told, and the rest goes on; files below a folder that are no text are left out and counted. A job with --output that was interrupted goes on with --resume, to the same bytes. \
      A hidden file beside the output, .NAME.job, says which model, adapter and options it was begun with; --resume refuses others.
      """)

  @Argument(help: "The model: the output of 'dibit convert'.") var model: String
  @Option(help: "The adapter, which knows the labels.") var adapter: String
  @OptionGroup var input: TextInputArguments

  @Option(
    help: ArgumentHelp("Every label with at least this probability, of 0 to 1, is a tag; there may be none.", valueName: "p"))
  var threshold: Double?
  @Option(help: ArgumentHelp("Up to this many tags for a text; more than one for adapters that learnt several.", valueName: "n"))
  var tags: Int?
  @Option(
    help: ArgumentHelp("What a text loses that is too long: its tail, head or middle.", valueName: "part"),
    transform: { try choice($0, "--cut") })
  var cut = TagOptions.Cut.tail

  @Option(
    help: ArgumentHelp("What is written: text, csv, jsonl (an object on each line) or json.", valueName: "form"),
    transform: { try choice($0, "--format") })
  var format: PredictionFormat.Kind?
  @Flag(help: "The probabilities of all labels too; json has them always.") var scores = false
  @Flag(help: "Print the result as JSON: as --format json.") var json = false
  @Option(name: .shortAndLong, help: "The file to write to, line by line, instead of standard output.") var output: String?
  @Flag(help: "Go on behind what an interrupted job wrote into the output.") var resume = false
  @Flag(help: "Replace an existing output.") var overwrite = false
  @OptionGroup var compute: RuntimeOptions

  var kind: PredictionFormat.Kind { json ? .json : format ?? .text }

  func validate() throws {
    if let threshold, !(0...1).contains(threshold) {
      throw ValidationError("--threshold: expected a number from 0 to 1, found \(threshold)")
    }
    if let tags, tags < 1 { throw ValidationError("--tags: expected at least 1, found \(tags)") }
    if json, let format, format != .json { throw ValidationError("--json: expected either it or --format, found both") }
    if scores, kind == .text { throw ValidationError("--scores: goes with --format csv, jsonl or json") }
    if resume || overwrite, output == nil { throw ValidationError("--\(resume ? "resume" : "overwrite"): expected --output beside it") }
    if resume, overwrite { throw ValidationError("--resume: expected either it or --overwrite, found both") }
    if resume, kind == .json { throw ValidationError("--resume: goes with --format text, csv or jsonl") }
  }

  func run() throws {
    Interrupt.listen()
    let compute = try compute.makeScoringCompute()
    let model = try OpenedModels.openConverted(model)
    let manifest = try StoredAdapter.readManifest(adapter)
    let description = try AdapterDescription(manifest: manifest, of: adapter)
    let form = PredictionFormat(
      kind, labels: description.labels, key: description.task.key, hasScores: scores || kind == .json, severalLabels: tags ?? 1 > 1)
    var sink = try PredictionSink(
      form, output: output, resume: resume, overwrite: overwrite, inputs: input.jobInputs(beside: [self.model, adapter]),
      identity: identity(model, description, adapter: manifest))
    var options = TagOptions()
    (options.threshold, options.mostTags, options.cut) = (threshold, tags, cut)
    var job = try PredictionJob(adapter: OpenedAdapter(adapter, of: model, on: compute), of: model, options, on: compute)
    try tag(input.texts(excluding: output), with: &job, to: &sink)
  }

  private func tag(_ inputs: TextInputs, with job: inout PredictionJob, to sink: inout PredictionSink) throws {
    let earlier = (count: sink.completed.count, failures: sink.completed.failures)
    var progress = PredictionProgress(inputs: inputs, toFile: output != nil)
    for finding in sink.findings { Terminal.note(finding) }
    if earlier.count > 0 { Terminal.write("going on behind \(counted(earlier.count))\n") }
    guard try sink.begin() else { return }
    let feed = PendingInputs(inputs, completed: sink.completed)
    let isOnly = inputs.count == 1 && !inputs.hasRows
    var (isRead, fault): (Bool, (any Error)?) = (true, nil)
    job.run(feed) { prediction in
      progress.add(prediction, isOnly: isOnly)
      do { isRead = try sink.write(prediction) } catch { fault = error }
      if inputs.hasRows {
        progress.show(read: feed.bytesRead, of: inputs.bytes ?? 0)
      } else {
        progress.show(read: feed.skipped + feed.skippedFiles + progress.done, of: inputs.count)
      }
      return isRead && fault == nil && !Interrupt.isRequested
    }
    guard isRead else { return }
    if let fault { throw fault }
    try sink.finish()
    progress.finish()
    if Interrupt.isRequested {
      let goesOn =
        output != nil && kind != .json ? "; the same command with --resume\(overwrite ? " instead of --overwrite" : "") goes on" : ""
      throw Failure(.interrupted, "interrupted after \(counted(feed.skipped + progress.done))\(goesOn)")
    }
    if feed.unclaimed > 0 {
      Terminal.note("\(counted(feed.unclaimed)) in the output are not among the inputs; they were left there")
    }
    if feed.skippedFiles > 0 { Terminal.note("\(ScanReport.Kind.binary.explained(feed.skippedFiles))") }
    if feed.skipped + progress.done == 0 {
      guard feed.skippedFiles == 0 else { throw Failure(.badData, "there was no text to tag") }
      Terminal.note("there was no text to tag")
    }
    try tellFailures(progress, earlier: earlier.failures, of: feed.skipped + progress.done)
  }

  /// Fails if anything could not be tagged.
  private func tellFailures(_ progress: PredictionProgress, earlier: Int, of total: Int) throws {
    let failed = progress.failed + earlier
    guard failed > 0 else { return }
    let code = progress.firstFailure?.code ?? .badData
    guard failed == total else { throw Failure(code, "\(grouped(failed)) of \(counted(total)) could not be tagged") }
    let reason = progress.firstFailure?.message ?? "see the output"
    throw Failure(code, total == 1 ? reason : "none of \(counted(total)) could be tagged, the first because: \(reason)")
  }
}
