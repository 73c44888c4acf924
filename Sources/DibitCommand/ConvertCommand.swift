internal import ArgumentParser
internal import Dibit
internal import DibitCheckpoint
internal import DibitConversion
internal import DibitFailure
internal import DibitJSON
internal import DibitKernels
internal import DibitModelStore
internal import DibitQuantization

struct ConvertCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "convert",
    abstract: "Turn a float checkpoint into a 2-bit model, or another tool's adapter into one of a model.",
    discussion: """
      Example: dibit convert ./llama-checkpoint --output ./llama-2bit
      Example: dibit convert ./their-adapter --base ./llama-2bit --labels good,bad --output ./my-adapter

      CHECKPOINT is a directory or a file: Hugging Face's config.json, tokenizer.json (or tokenizer.model) and weights in safetensors, \
      PyTorch or HDF5 files, whole or sharded; a KerasHub preset; a GGUF file; or a llama2.c file. Each is recognised by its contents. \
      A tensor that already lies on the grid of --bits is packed as it is; the trained scales of ParetoQ are kept. Norms stay F32.

      Weights are rounded to the nearest level, which takes seconds. With --calibrate what counts is the error of each layer's outputs \
      on a text, which the source writes itself unless --calibration-text gives one: minutes, and far nearer to the source.

      With a number between those of --bits, or with --size, matrices differ: the rounding of each is tried on a text, and bits go where \
      they bring the predictions nearest to the source's, until the model is as large as it may be.

      In the end the source writes a short text, and the converted model is compared with it there: close to the source, noticeably worse, \
      or destroyed, as 2 bits do to most models that were not trained for them. Nothing is checked where no weight changed its value.
      """)

  @Argument(help: "The checkpoint's directory or file.") var checkpoint: String
  @Option(name: .shortAndLong, help: "The model directory to create; with --base the adapter directory.") var output: String
  @Option(
    name: .customLong("bits"),
    help: ArgumentHelp(
      "Bits of a weight: \(QuantizationScheme.words(QuantizationScheme.bitChoices)); by default 2. 16 and 32 keep floats. Another number between 2 and 8 is the mean over the whole model, scales included, of matrices that differ.",
      valueName: "bits"))
  var bitsPerWeight: Double?
  @Option(
    name: .customLong("size"),
    help: ArgumentHelp("The most that the file of weights may take, for instance 60M: matrices get 2, 3, 4 or 8 bits.", valueName: "size"))
  var sizeLimit: String?
  @Option(
    help: ArgumentHelp(
      "Weights that share a scale: 32, 64, 128 or 'row'; by default 64. With --calibrate at 2 bits, by default 128, with the bytes of the other scales spent on matrices that bear rounding least.",
      valueName: "size")) var groupSize: String?
  @Option(
    help: ArgumentHelp(
      "Bits of the embedding and the output head: \(QuantizationScheme.words(QuantizationScheme.tableBitChoices)); by default 4, or what --bits says above 4.",
      valueName: "bits"))
  var embeddingBits: Int?
  @Option(
    help: ArgumentHelp(
      "Levels of 2 and 4 bits: symmetric, -3/2 to 3/2 without zero; full-range, -2 to 1 with a scale of either sign; or trellis, at 2 bits -7 to 7, of which each code and the two before it choose one, and full range at 4. By default those that the checkpoint lies on, and else with --calibrate a trellis at 2 bits and full-range at 4, symmetric without.",
      valueName: "levels"), transform: { try choice($0, "--levels") })
  var levels: Conversion.Levels?
  @Option(help: ArgumentHelp("A tokenizer file to use instead of the one beside or inside the checkpoint.", valueName: "file"))
  var tokenizer: String?
  @Option(
    help: ArgumentHelp("The converted model that CHECKPOINT, then an adapter of PEFT, mlx-lm or llama.cpp, belongs to.", valueName: "model")
  )
  var base: String?
  @Option(help: ArgumentHelp("A converted model: each matrix gets the bits and groups that it has there.", valueName: "model"))
  var like: String?
  @Flag(help: "Round by the inputs of each layer on a text: minutes, and far nearer to the source.") var calibrate = false
  @Option(
    help: ArgumentHelp(
      "A file or a folder of text for --calibrate, where .csv, .tsv and .jsonl files are rows: texts, or conversations; may be given more than once, for three quarters of the text; the source writes the rest, and without this option all.",
      valueName: "text"))
  var calibrationText: [String] = []
  @Option(
    help: ArgumentHelp(
      "The effort of --calibrate: quick, which rounds layer by layer; standard, which does so by twice as much text and below 4 bits, or 8 with --calibration-text, trains all scales behind that: two to three times as long, and nearer; or thorough, with more text, which trains each layer, too, and at 2 bits all scales four times as long: four times as long again.",
      valueName: "effort"), transform: { try choice($0, "--effort") })
  var effort: Conversion.Effort?
  @OptionGroup var task: AdapterTaskArguments
  @Flag(help: "Replace an existing output.") var overwrite = false
  @Flag(help: "Go on with --calibrate behind the layers that are kept of it after it was stopped; to the same bytes.") var resume = false
  @Flag(help: "Say what would be written, and about how long it takes; write nothing.") var dryRun = false
  @Flag(inversion: .prefixedNo, help: "Compare the converted model with its source on a short text that the source writes.")
  var check = true
  @Flag(help: "Print the report as JSON.") var json = false
  @OptionGroup var compute: ComputeOptions

  /// The bits of every matrix, if they are given; a mean of bits gives none.
  private var givenBits: Int? { bitsPerWeight.flatMap { Int(exactly: $0) }.flatMap { isMean ? nil : $0 } }

  /// True when the bits are a mean over matrices that differ.
  private var isMean: Bool {
    guard let bitsPerWeight else { return false }
    return bitsPerWeight > 2 && bitsPerWeight < 8 && !QuantizationScheme.bitChoices.contains { Double($0) == bitsPerWeight }
  }

  private func options() throws -> Conversion.Options {
    var options = Conversion.Options(bits: givenBits)
    if isMean { options.budget = bitsPerWeight.map { .bitsPerWeight($0) } }
    if let sizeLimit { options.budget = .bytes(try MemorySize(option: "--size", sizeLimit).bytes) }
    (options.embeddingBits, options.tokenizer, options.overwrites) = (embeddingBits, tokenizer, overwrite)
    if let groupSize { options.groupSize = Int(groupSize).map { .weights($0) } ?? .row }
    (options.like, options.resumes, options.levels) = (like, resume, levels)
    if calibrate { options.rounding = .calibrated(texts: calibrationText, effort: effort ?? .standard) }
    return options
  }

  func validate() throws {
    if task.labels != nil, base == nil { throw ValidationError("--labels: only an adapter has labels: give --base MODEL") }
    if calibrate, let givenBits, givenBits >= 16 {
      throw ValidationError("--calibrate: \(givenBits) bits are not rounded to a grid: there is nothing to calibrate")
    }
    if effort != nil, !calibrate { throw ValidationError("--effort: goes with --calibrate") }
    if resume, !calibrate { throw ValidationError("--resume: goes with --calibrate") }
    if resume, overwrite { throw ValidationError("--resume: expected either it or --overwrite, found both") }
    if !calibrationText.isEmpty, !calibrate { throw ValidationError("--calibration-text: goes with --calibrate") }
    if let bitsPerWeight, !isMean, givenBits == nil || !QuantizationScheme.bitChoices.contains(where: { $0 == givenBits }) {
      throw ValidationError(
        "--bits: expected \(QuantizationScheme.words(QuantizationScheme.bitChoices)), or a mean between 2 and 8, found \(Int(exactly: bitsPerWeight).map { "\($0)" } ?? "\(bitsPerWeight)")"
      )
    }
    if isMean, sizeLimit != nil { throw ValidationError("--size: with a mean of --bits the size is given already") }
    let formats = [
      ("bits", bitsPerWeight != nil), ("size", sizeLimit != nil), ("group-size", groupSize != nil),
      ("embedding-bits", embeddingBits != nil), ("levels", levels != nil),
    ]
    if like != nil, let other = formats.first(where: \.1) {
      throw ValidationError("--\(other.0): goes without --like, which says all bits and groups")
    }
    let options = try options()
    if let groupSize, groupSize != "row", !QuantizationScheme.groups.contains(where: { "\($0)" == groupSize }) {
      throw ValidationError("--group-size: expected 32, 64, 128 or row, found \(groupSize)")
    }
    try checkOptions { () throws(DibitError) in _ = try options.engineOptions() }
    // Of an adapter nothing is rounded, and the model brings the tokenizer.
    let ofModels = [
      ("bits", bitsPerWeight != nil), ("group-size", groupSize != nil), ("embedding-bits", embeddingBits != nil),
      ("tokenizer", tokenizer != nil), ("dry-run", dryRun), ("no-check", !check), ("calibrate", calibrate), ("size", sizeLimit != nil),
      ("levels", levels != nil),
      ("like", like != nil), ("resume", resume),
    ]
    if base != nil, let stray = ofModels.first(where: \.1) { throw ValidationError("--\(stray.0): goes without --base") }
  }

  func run() throws {
    Interrupt.listen()
    if let base { return try importAdapter(of: base) }
    let compute = try compute.makeCompute()
    let report = try Failure.context("converting '\(checkpoint)'") { () throws -> ConversionReport? in
      let job = try ConversionJob(checkpoint, to: output, options: options(), on: compute)
      if dryRun {
        showForecast(try follow { progress in try job.forecast(progress: progress) })
        return nil
      }
      return try follow { progress in try job.run(progress: progress) }
    }
    guard let report else { return }
    warnOfTokenizer(report)
    if !json { show(report) }
    Terminal.wrote(report.output)
    let result = check ? try compare(report, on: compute) : nil
    if json {
      var members = report.json.object ?? JSONObject()
      members["check"] = result?.json ?? .null
      printJSON(.object(members))
    } else if let result {
      Output.print("check: \(result.line)")
    }
    if result?.verdict == .destroyed { warn() }
    if Interrupt.isRequested { throw Failure(.interrupted, "interrupted while the model was checked; '\(report.output)' is whole") }
  }

  /// Shows the progress of a job.
  private func follow(_ job: ((ConversionJob.Progress) -> Bool) throws -> ConversionReport) throws -> ConversionReport {
    let stages = calibrate || isMean || sizeLimit != nil
    var (line, shown) = (ProgressLine(stages ? "reading text" : "converting"), 0)
    defer { line.finish() }
    func begin(_ stage: Int, _ title: String) {
      guard stage > shown else { return }
      line.finish()
      (line, shown) = (ProgressLine(title), stage)
    }
    return try job { progress in
      switch progress {
      case .noticed(let finding): Terminal.note(finding)
      case .expected(let seconds):
        if seconds >= 60 { Terminal.note("this takes about \(duration(seconds)) on this machine") }
      case .writingText(let tokens, let total):
        begin(1, "writing text")
        line.update(tokens, of: total, counted(tokens, "token"))
      case .trainingScales(let step, let total):
        begin(4, "training scales")
        line.update(step, of: total, "step \(step) of \(total)")
      case .converting(let progress):
        switch progress.stage {
        case .measuring(let fraction):
          begin(2, "measuring")
          line.update(Int(fraction * 1_000_000), of: 1_000_000)
        case .calibrating(let layers, let total, let fraction):
          begin(3, "calibrating")
          line.update(Int(fraction * 1_000_000), of: 1_000_000, "\(layers) of \(total) layers")
        case .writing(_, let bytes, let total):
          if stages { begin(5, "converting") }
          line.update(bytes, of: total, size(bytes))
        }
      }
      return !Interrupt.isRequested
    }
  }

  /// The model beside its source; nil where nothing was lost, or the source cannot be run, which is told.
  private func compare(_ report: ConversionReport, on compute: Compute) throws -> ConversionCheck? {
    guard !report.isLossless else {
      Terminal.note("every weight kept its value, so there is nothing to check")
      return nil
    }
    var line = ProgressLine("checking")
    defer { line.finish() }
    do {
      return try ConversionCheck.run(source: checkpoint, model: OpenedModels.open(report.output), on: compute) { done, total in
        line.update(done, of: total)
        return !Interrupt.isRequested
      }
    } catch {
      guard let failure = Failure(error) else { throw error }
      line.note(
        "note: not checked: \(failure.message); 'dibit perplexity \(report.output) --reference \(checkpoint) --data TEXT' compares the two")
      return nil
    }
  }

  /// Says what to do about a model that is of no use.
  private func warn() {
    let bits = givenBits ?? 2
    let isMixed = isMean || sizeLimit != nil || like != nil
    let more = isMixed || bits < 4 ? "--bits 4 or --bits 16" : bits < 16 ? "--bits 16" : "--bits 32"
    let mended =
      calibrate
      ? "'dibit qat \(checkpoint) --from \(output) --data TEXT' trains it towards its source; or convert it with \(more)"
      : bits < 16 ? "convert it with --calibrate, or with \(more)" : "convert it with \(more)"
    Terminal.write(
      "warning: \(isMixed ? "this size" : "\(bits) bits") destroyed this model: \(mended); "
        + "'dibit perplexity \(output) --reference \(checkpoint) --data TEXT' measures it on texts of yours\n")
  }

  /// Says that a model may not be asked in its own tokens.
  private func warnOfTokenizer(_ report: ConversionReport) {
    guard let doubt = report.tokenizerDoubt else { return }
    Terminal.write("warning: the tokenizer\(tokenizer.map { " '\($0)'" } ?? "") may be that of another model: \(doubt)\n")
  }

  /// The size of the source; where its weights lie in blocks, that of its files, and of the floats that they are read as.
  private func sourceSize(_ report: ConversionReport) -> String {
    let floats = size(report.sourceBytes)
    return report.sourceBytes > report.fileBytes ? "\(size(report.fileBytes)) (\(floats) as floats)" : floats
  }

  private func showForecast(_ report: ConversionReport) {
    warnOfTokenizer(report)
    if json {
      var members = report.json.object ?? JSONObject()
      members["digest"] = .null
      members["dry_run"] = true
      return printJSON(.object(members))
    }
    printTable(report.tensors.map { [$0.name, "\($0.shape)", $0.storage, size($0.bytes)] })
    Output.print(
      "\n\(report.architecture) model with \(counted(report.elements, "parameter")): \(sourceSize(report)) -> "
        + "\(size(report.outputBytes)), \(decimal(report.bitsPerWeight, 2)) bits per weight over all")
    showChoices(report)
    Output.print("about \(duration(report.seconds)) on this machine, without the time of writing and of the check; nothing was written")
  }

  /// Says which bits were chosen, and why.
  private func showChoices(_ report: ConversionReport) {
    guard !report.choices.isEmpty else { return }
    let levels = Set(report.choices.map(\.bits)).sorted()
    let counts = levels.map { bits in "\(report.choices.count { $0.bits == bits }) of \(bits) bits" }.joined(separator: ", ")
    Output.print("\nMatrices by what the rounding of each alone costs, in nats of divergence for each token: \(counts)")
    let sorted = report.choices.sorted { $0.leastDivergence > $1.leastDivergence }
    printTable(
      sorted.prefix(10).map { choice in
        [
          "  " + choice.name, "\(decimal(choice.leastDivergence, 4)) at \(choice.leastBits) bits",
          choice.bits > choice.leastBits ? "\(decimal(choice.divergence, 4)) at \(choice.bits) bits" : "stays",
        ]
      })
    if sorted.count > 10 { Output.print("  and \(sorted.count - 10) more, which --json lists") }
  }

  /// Says what the training of layers brought.
  private func showLayers(_ report: ConversionReport) {
    guard !report.layers.isEmpty else { return }
    func mean(_ share: (ConversionReport.TrainedLayer) -> Double) -> String {
      percent(report.layers.reduce(0) { $0 + share($1) } / Double(report.layers.count))
    }
    Output.print(
      "\nLayers that were trained behind their rounding: \(report.layers.count); squared error of the stream behind one, on text that was held "
        + "out: \(mean(\.before)) before, \(mean(\.after)) after, in the mean")
  }

  private func importAdapter(of base: String) throws {
    let (layers, manifest) = try Failure.context("converting '\(checkpoint)'") {
      try AdapterExchange.importAdapter(
        checkpoint, base: OpenedModels.openConverted(base), task: task.task, output: output, overwrites: overwrite,
        on: compute.makeCompute(), note: Terminal.note)
    }
    if manifest["labels"] == nil {
      Terminal.note("'\(checkpoint)' says no labels, which 'dibit predict' and 'dibit evaluate' need: --labels gives them")
    }
    Output.print(counted(layers, "adapted layer"))
    Terminal.wrote(output)
  }

  private func show(_ report: ConversionReport) {
    let rate = Double(report.sourceBytes) / max(report.seconds, 1e-9)
    Output.print(
      "\(report.architecture) model with \(counted(report.elements, "parameter")): \(sourceSize(report)) -> \(size(report.outputBytes)),"
    )
    Output.print(
      "\(decimal(report.bitsPerWeight, 2)) bits per weight over all, in \(duration(report.seconds)) (\(size(Int(rate)))/s)"
        + (report.decibels.map { $0.isFinite ? "; signal to noise \(decimal($0, 2)) dB" : "; every rounded tensor was on the grid: exact" }
          ?? ""))
    showChoices(report)
    showLayers(report)
    let worst = report.worst(5)
    if !worst.isEmpty {
      Output.print("\nThe tensors that lost most:")
      printTable(worst.map { ["  " + $0.name, "\($0.shape)", $0.storage, "\(decimal($0.error?.decibels ?? 0, 2)) dB"] })
    }
    let exact = report.tensors.filter(\.isExact).count
    if exact > 0 {
      Output.print("\n\(counted(exact, "tensor")) on the grid already, packed without loss")
    }
  }
}
