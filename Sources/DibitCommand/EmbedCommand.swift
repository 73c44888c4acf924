internal import ArgumentParser
internal import DibitDataset
internal import DibitEvaluation
internal import DibitFailure
internal import DibitFiles
internal import DibitInference
internal import DibitModel
internal import DibitModelStore
internal import DibitTokenizer

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
  var pooling = Pooling.mean
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

  /// Texts that go through the model together.
  private static let batch = 64

  func validate() throws {
    try checkRange("max-tokens", maxTokens, 1...1_048_576)
    if format == .safetensors, output == nil { throw ValidationError("--format safetensors: expected --output beside it") }
    if overwrite, output == nil { throw ValidationError("--overwrite: expected --output beside it") }
  }

  func run() throws {
    Interrupt.listen()
    let compute = try compute.makeCompute(usesBLAS: false)
    let model = try OpenedModels.open(model)
    let adapter = try adapter.map { LoadedAdapter(try StoredAdapter.open($0, for: model, on: compute)) }
    let inputs = input.texts(excluding: output)
    var sink = try EmbeddingSink(
      format, size: model.configuration.hiddenSize, output: output, overwrite: overwrite,
      inputs: input.jobInputs(beside: [self.model, self.adapter]))
    var features = TextFeatures(
      MeasuredModel(model.configuration, weights: model.weights, adapter: adapter), tokenizer: model.tokenizer, pooling: pooling,
      maximumTokens: maxTokens, on: compute)
    for finding in inputs.report.summary { Terminal.write("note: \(Advice.options(in: finding))\n") }
    var job = EmbeddingJob(normalizes: normalize, line: ProgressLine("embedding"), isOnly: inputs.count == 1 && !inputs.hasRows)
    guard try job.run(inputs, batch: Self.batch, &features, into: &sink) else { return }
    if Interrupt.isRequested { throw Failure(.interrupted, "interrupted after \(counted(job.done))") }
    if job.done > 0 {
      try sink.finish()
      if job.truncated > 0 { Terminal.write("note: \(counted(job.truncated)) cut to fit \(grouped(features.context)) tokens\n") }
      if let output { Terminal.wrote(output) }
    }
    try job.tellFailures()
  }
}

/// Texts on their way to vectors.
private struct EmbeddingJob {
  let normalizes: Bool
  var line: ProgressLine
  /// Texts with a vector, those of them that were cut, and inputs without one.
  private(set) var (done, truncated, failed) = (0, 0, 0)
  private var firstFailure: Failure?

  /// Standard output that is a terminal, and few texts, need no bar.
  private static let quietLimit = 64

  /// True for one input alone, whose fault is told in the end.
  private let isOnly: Bool

  init(normalizes: Bool, line: ProgressLine, isOnly: Bool) {
    (self.normalizes, self.line, self.isOnly) = (normalizes, line, isOnly)
  }

  /// Embeds all inputs; false when nobody reads the results any more.
  mutating func run(_ inputs: TextInputs, batch: Int, _ features: inout TextFeatures, into sink: inout EmbeddingSink) throws -> Bool {
    var iterator = inputs.makeIterator()
    var (locations, texts): ([TextLocation], [String]) = ([], [])
    while !Interrupt.isRequested {
      let input = iterator.next()
      switch input?.content {
      case .success(let text)?:
        locations.append(input?.location ?? TextLocation(file: ""))
        texts.append(text)
      case .failure(let error)?: tell(Failure(of: error))
      case nil: break
      }
      guard texts.count == batch || input == nil else { continue }
      for (location, result) in zip(locations, features.embeddings(texts)) {
        switch result {
        case .success(let embedding):
          done += 1
          if embedding.truncatedTokens > 0 { truncated += 1 }
          guard try sink.write(normalizes ? embedding.normalized : embedding, of: location) else { return false }
        case .failure(let error): tell(Failure(.badData, "\(location.shown): \(error)"))
        }
      }
      (locations, texts) = ([], [])
      if let bytes = inputs.bytes, done > Self.quietLimit, !StandardOutput.isTerminal || sink.isFile {
        // The reader is ahead of the vectors: the end is when the last of them is there.
        line.update(input == nil ? bytes : min(iterator.bytesRead, bytes - 1), of: bytes, counted(done))
      }
      if input == nil { break }
    }
    line.finish()
    return true
  }

  private mutating func tell(_ failure: Failure) {
    failed += 1
    firstFailure = firstFailure ?? failure
    if !isOnly, failed <= 10 { line.note("not embedded: \(failure.message)") }
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
