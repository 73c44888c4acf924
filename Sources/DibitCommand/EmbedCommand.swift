internal import ArgumentParser
internal import Dibit
internal import DibitDataset
internal import DibitEvaluation
internal import DibitFailure
internal import DibitFiles
internal import DibitInference
internal import DibitModel
internal import DibitModelStore

struct EmbedCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "embed",
    abstract: "Print texts as vectors.",
    discussion: """
      Example: dibit embed ./model --normalize notes.jsonl > vectors.jsonl
      Example: dibit embed ./model ./mail --format safetensors --output mail.safetensors

      A text's vector is the mean of the model's hidden states over its tokens, behind the last norm (--pooling last: that of its last \
      token), as the baselines of 'dibit evaluate' use it. Files that end in csv, tsv, jsonl or ndjson are rows, each with a text.

      What cannot be read is told, and the rest goes on.
      """)

  @Argument(help: "A model, converted or not: a directory or a file.") var model: String
  @OptionGroup var input: TextInputArguments
  @Option(help: "An adapter of this model.") var adapter: String?
  @Option(
    help: ArgumentHelp("What of the tokens' hidden states stands for the text: mean or last.", valueName: "which"),
    transform: { try choice($0, "--pooling") })
  var pooling = Model.Pooling.mean
  @Flag(help: "Give every vector the length 1.") var normalize = false
  @Option(
    help: ArgumentHelp("The most tokens of a text; longer ones lose their end. By default the model's context.", valueName: "n"))
  var maxTokens: Int?
  @Option(
    help: ArgumentHelp("What is written: jsonl (an object on each line), csv or safetensors.", valueName: "form"),
    transform: { try choice($0, "--format") })
  var format = EmbeddingSink.Format.jsonl
  @Option(name: .shortAndLong, help: "The file to write to instead of standard output; it appears when it is whole.") var output: String?
  @Flag(help: "Replace an existing output.") var overwrite = false
  @OptionGroup var compute: RuntimeOptions

  func validate() throws {
    try checkRange("max-tokens", maxTokens, 1...1_048_576)
    if format == .safetensors, output == nil { throw ValidationError("--format safetensors: expected --output beside it") }
    if overwrite, output == nil { throw ValidationError("--overwrite: expected --output beside it") }
  }

  func run() throws {
    Interrupt.listen()
    let compute = try compute.makeScoringCompute()
    let model = try OpenedModels.open(model)
    let adapter = try adapter.map { LoadedAdapter(try StoredAdapter.open($0, for: model, on: compute)) }
    let inputs = input.texts(excluding: output)
    var sink = try EmbeddingSink(
      format, size: model.configuration.hiddenSize, output: output, overwrite: overwrite,
      inputs: input.jobInputs(beside: [self.model, self.adapter]))
    var job = EmbeddingJob(
      model, adapter: adapter, pooling: pooling, maximumTokens: maxTokens, normalizes: normalize, on: compute)
    for finding in inputs.report.summary { Terminal.note(finding) }
    var progress = EmbeddingProgress(inputs: inputs, showsLine: !StandardOutput.isTerminal || sink.isFile)
    let feed = PendingInputs(inputs)
    var isRead = true
    try job.run(feed) { location, result in
      if case .success(let embedding) = result { isRead = try sink.write(embedding, of: location) }
      if isRead { progress.add(result, of: location, bytesRead: feed.bytesRead) }
      return isRead && !Interrupt.isRequested
    }
    guard isRead else { return }
    progress.finish()
    if Interrupt.isRequested { throw Failure(.interrupted, "interrupted after \(counted(progress.done))") }
    if progress.done > 0 {
      try sink.finish()
      if progress.truncated > 0 { Terminal.note("\(counted(progress.truncated)) cut to fit \(grouped(job.context)) tokens") }
      if let output { Terminal.wrote(output) }
    }
    try progress.tellFailures()
  }
}

/// The messages to a person while texts are embedded, and in the end.
private struct EmbeddingProgress {
  /// Texts with a vector, and those of them that were cut.
  private(set) var (done, truncated) = (0, 0)
  private var (failed, firstFailure): (Int, Failure?) = (0, nil)
  private var line = ProgressLine("embedding")
  private let bytes: Int?
  /// True for one input alone, whose fault is told in the end.
  private let isOnly: Bool

  /// Few texts need no bar.
  private static let quietLimit = 64

  init(inputs: TextInputs, showsLine: Bool) {
    bytes = showsLine ? inputs.bytes : nil
    isOnly = inputs.count == 1 && !inputs.hasRows
  }

  mutating func add(_ result: Result<TextEmbedding, PredictionFault>, of location: TextLocation, bytesRead: Int) {
    switch result {
    case .success(let embedding):
      done += 1
      if embedding.truncatedTokens > 0 { truncated += 1 }
      // The reader is ahead of the vectors: the end is when the last of them is there.
      if let bytes, done > Self.quietLimit { line.update(min(bytesRead, bytes - 1), of: bytes, counted(done)) }
    case .failure(let fault):
      let failure =
        switch fault {
        case .input(let error): Failure(of: error)
        case .model(let error): Failure(.badData, "\(location.shown): \(error)")
        }
      failed += 1
      firstFailure = firstFailure ?? failure
      if !isOnly, failed <= 10 { line.note("not embedded: \(failure.message)") }
    }
  }

  mutating func finish() {
    if let bytes, done > Self.quietLimit, !Interrupt.isRequested { line.update(bytes, of: bytes, counted(done)) }
    line.finish()
  }

  /// Fails if anything has no vector.
  func tellFailures() throws {
    guard failed == 0, done > 0 else {
      guard let firstFailure else { throw Failure(.badData, "there was no text to embed") }
      throw Failure(
        firstFailure.code,
        done == 0 && failed == 1 ? firstFailure.message : "\(grouped(failed)) of \(counted(done + failed)) could not be embedded")
    }
  }
}
