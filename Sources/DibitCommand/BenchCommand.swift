internal import ArgumentParser
internal import Dibit
internal import DibitBenchmark
internal import DibitFailure
internal import DibitFiles
internal import DibitJSON
internal import DibitKernels
internal import DibitQuantization

struct BenchCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bench",
    abstract: "Measure how fast a model opens, reads prompts and decodes, or how fast its adapters are trained.",
    discussion: """
      Example: dibit bench --shape 1b --json
               dibit bench --shape 1b --train --batch 4

      MODEL is measured as it is; --shape measures random weights of that size, written to the folder for temporary files and removed
      again: 110m and 1b have the sizes of known llamas, 3b is the on-device architecture afm7. Rates are medians over the runs.
      """)

  @Argument(help: "A model, converted or not: a directory or a file.") var model: String?
  @Option(help: ArgumentHelp("Random weights of this size: 110m, 1b or 3b.", valueName: "size")) var shape: String?
  @Option(
    help: ArgumentHelp(
      "With --shape, bits of a weight: \(QuantizationScheme.words(QuantizationScheme.tensorBitChoices)); default 2.", valueName: "n"))
  var bits: Int?
  @Option(help: ArgumentHelp("With --shape, weights that share a scale: 32, 64, 128 or row; default 64.", valueName: "n"))
  var groupSize: String?
  @Option(
    help: ArgumentHelp(
      "With --shape, bits of the embedding: \(QuantizationScheme.words(QuantizationScheme.tableBitChoices)); default 4.", valueName: "n"))
  var embeddingBits: Int?
  @Option(
    help: ArgumentHelp("With --shape, levels of 2 and 4 bits: symmetric, full-range or trellis; default symmetric.", valueName: "levels"),
    transform: { try choice($0, "--levels") })
  var levels: Conversion.Levels?
  @Option(help: "Tokens of the prompt.") var promptTokens = 512
  @Option(help: "Tokens to decode.") var decodeTokens = 32
  @Option(help: "Tokens in the cache when decoding begins.") var context = 0
  @Option(help: "How often everything is repeated.") var runs = 5
  @Flag(help: "Measure training steps of an adapter instead.") var train = false
  @Option(help: "With --train, sequences of a step; default 8.") var batch: Int?
  @Option(help: "With --train, tokens of a sequence; default 256.") var tokens: Int?
  @Option(help: "With --train, the adapter's rank; default 32.") var rank: Int?
  @Option(help: ArgumentHelp("With --train, the most memory to hold, for instance 800M or 2G.", valueName: "size")) var memoryLimit: String?
  @Option(help: ArgumentHelp("Show where the time goes, op by op, and write a trace for Perfetto.", valueName: "file")) var profile: String?
  @Flag(help: "Replace an existing trace.") var overwrite = false
  @Flag(help: "Print the result as JSON.") var json = false
  @OptionGroup var compute: ComputeOptions

  func validate() throws {
    guard (model == nil) != (shape == nil) else { throw ValidationError("expected either a model or --shape") }
    if let shape, BenchmarkShape(rawValue: shape) == nil {
      throw ValidationError("--shape: expected 110m, 1b or 3b, found '\(shape)'")
    }
    for (name, isGiven) in [
      ("bits", bits != nil), ("group-size", groupSize != nil), ("embedding-bits", embeddingBits != nil), ("levels", levels != nil),
    ]
    where isGiven && shape == nil {
      throw ValidationError("--\(name): a model has its own; goes with --shape")
    }
    _ = try scheme()
    for (name, value, least) in [("prompt-tokens", promptTokens, 1), ("decode-tokens", decodeTokens, 1), ("context", context, 0)] {
      guard (least...1 << 20).contains(value) else {
        throw ValidationError("--\(name): expected a number from \(least) to \(1 << 20), found \(value)")
      }
    }
    for (name, value) in [("batch", batch), ("tokens", tokens), ("rank", rank)] {
      guard let value else { continue }
      guard train else { throw ValidationError("--\(name): goes with --train") }
      guard (1...4096).contains(value) else { throw ValidationError("--\(name): expected a number from 1 to 4096, found \(value)") }
    }
    if let memoryLimit {
      guard train else { throw ValidationError("--memory-limit: goes with --train") }
      _ = try MemorySize(option: "--memory-limit", memoryLimit)
    }
    guard (1...1000).contains(runs) else { throw ValidationError("--runs: expected a number from 1 to 1000, found \(runs)") }
  }

  private func scheme() throws -> QuantizationScheme {
    var scheme = QuantizationScheme()
    if let bits {
      try QuantizationScheme.check(bits, "--bits", QuantizationScheme.tensorBitChoices)
      scheme.bits = bits
    }
    if let embeddingBits {
      try QuantizationScheme.check(embeddingBits, "--embedding-bits", QuantizationScheme.tableBitChoices)
      scheme.embeddingBits = embeddingBits
    }
    if let groupSize {
      let group = groupSize == "row" ? nil : Int(groupSize)
      guard groupSize == "row" || group.map({ QuantizationScheme.groups.contains($0) }) ?? false else {
        throw ValidationError("--group-size: expected 32, 64, 128 or row, found \(groupSize)")
      }
      scheme.group = group
    }
    if let levels { scheme.family = levels.family(bits: scheme.bits) }
    return scheme
  }

  func run() throws {
    Interrupt.listen()
    let compute = try compute.makeCompute()
    if let model { return try measure(model, name: model, on: compute) }
    guard let shape = shape.flatMap({ BenchmarkShape(rawValue: $0) }) else { return }
    let directory = try StagedDirectory(temporary: "dibit-bench-\(shape.rawValue)")
    let synthetic = SyntheticModel(shape.configuration, scheme: try scheme())
    var line = ProgressLine(BenchmarkStep.writing.rawValue)
    try synthetic.write(into: directory) { done, total in
      line.update(done, of: total, size(done))
      return !Interrupt.isRequested
    }
    line.finish()
    try measure(directory.partialPath, name: shape.rawValue, on: compute)
    _ = consume directory  // here it may go, and not before
  }

  private var inputs: JobInputs { JobInputs([model]) }

  /// The mark that a trace must bear to be replaced.
  private var mark: OutputMark? { overwrite ? OutputMark("a trace", text: Profile.generator) : nil }

  private func measure(_ path: String, name: String, on compute: Compute) throws {
    if train { return try measureTraining(path, name: name, on: compute) }
    var options = BenchmarkOptions()
    (options.promptTokens, options.decodeTokens, options.context, options.runs) = (promptTokens, decodeTokens, context, runs)
    // A file that may not be replaced is found before the work, not behind it.
    if let profile { _ = try StagedFile(destination: profile, replacing: mark, inputs: inputs) }
    let benchmark = Benchmark(model: path, name: name, options: options, on: compute)
    let steps = Steps()
    let report = try benchmark.run { steps.show($0, $1, $2) }
    let profiled = try profile.map { _ in try benchmark.profile { steps.show($0, $1, $2) } }
    steps.finish()
    if json { printJSON(report.json) } else { show(report) }
    if let profiled { try show(profiled) }
  }

  private func measureTraining(_ path: String, name: String, on compute: Compute) throws {
    var options = TrainingBenchmarkOptions()
    (options.batch, options.tokens, options.rank) = (batch ?? options.batch, tokens ?? options.tokens, rank ?? options.rank)
    options.steps = runs
    options.memoryLimit = try memoryLimit.map { try MemorySize(option: "--memory-limit", $0).bytes }
    if let profile { _ = try StagedFile(destination: profile, replacing: mark, inputs: inputs) }
    var line = ProgressLine("training")
    let (report, profiled) = try TrainingBenchmark(model: path, name: name, options: options, on: compute).run {
      line.update($0, of: $1)
      return !Interrupt.isRequested
    }
    line.finish()
    if json { printJSON(report.json) } else { show(report) }
    if profile != nil { try show(profiled) }
  }

  private func show(_ report: TrainingBenchmarkReport) {
    Output.print("\(report.shape), \(report.isa), \(counted(report.threads, "thread")), products: \(report.productLibrary)")
    Output.print(
      "rank \(report.options.rank): \(report.parameters) parameters; a step: \(report.options.batch) sequences of \(report.options.tokens) tokens"
    )
    printTable([
      ["", "median", "least to most of \(report.options.steps)"], row("training", report.rate, " tokens/s", places: 1),
      row("forward", report.forward, " s", places: 3), row("loss", report.loss, " s", places: 3),
      row("backward", report.backward, " s", places: 3), row("optimizer", report.optimizer, " s", places: 3),
    ])
    Output.print("activations of \(counted(report.keptLayers, "layer")) kept; planned memory \(size(report.plannedMemory))")
    if let peak = report.peakMemory { Output.print("peak memory \(size(peak))") }
  }

  private func row(_ name: String, _ measurement: Measurement, _ unit: String, places: Int) -> [String] {
    [
      name, decimal(measurement.median, places) + unit,
      "\(decimal(measurement.spread.lowerBound, places)) to \(decimal(measurement.spread.upperBound, places))",
    ]
  }

  private func show(_ profiled: Profile) throws {
    guard let profile else { return }
    for phase in profiled.phases { show(phase) }
    try writeFileAtomically(path: profile, bytes: Array(profiled.trace.serialized().utf8), replacing: mark, inputs: inputs)
  }

  private func show(_ report: BenchmarkReport) {
    Output.print("\(report.shape), \(report.isa), \(counted(report.threads, "thread")), products: \(report.productLibrary)")
    printTable([
      ["", "median", "least to most of \(report.options.runs)"], row("decode", report.decode, " tokens/s", places: 2),
      row("prefill of \(report.options.promptTokens)", report.prefill, " tokens/s", places: 1),
      row("first token", report.firstToken, " s", places: 3), row("load", report.load, " s", places: 3),
    ])
    Output.print(
      """
      a token reads \(size(report.weightBytesPerToken)) of weights: \(percent(report.bandwidthFraction.median)) of the \
      \(size(Int(report.readBandwidth.median)))/s that this machine reads (\(size(Int(report.readBandwidth.spread.lowerBound)))/s to \
      \(size(Int(report.readBandwidth.spread.upperBound)))/s)
      """
    )
    if let peak = report.peakMemory { Output.print("peak memory \(size(peak))") }
  }

  private func show(_ phase: Profile.Phase) {
    let total = Double(phase.duration)
    var rows = [
      ["\(phase.name.rawValue): \(decimal(total / 1e6, 1)) ms in \(phase.passes.count) passes", "calls", "ms", "share", "weights"]
    ]
    rows += phase.summary.map { op in
      [
        "  " + op.name, "\(op.calls)", decimal(Double(op.duration) / 1e6, 2), percent(Double(op.duration) / total),
        op.bytesPerSecond.map { size(Int($0)) + "/s" } ?? "",
      ]
    }
    if json { Terminal.write(table(rows).joined(separator: "\n") + "\n") } else { printTable(rows) }
  }
}

/// A progress line for each step.
private final class Steps {
  private var step: BenchmarkStep?
  private var line = ProgressLine("")

  func show(_ step: BenchmarkStep, _ done: Int, _ total: Int) -> Bool {
    if step != self.step {
      line.finish()
      line = ProgressLine(step.rawValue)
      self.step = step
    }
    line.update(done, of: total)
    return !Interrupt.isRequested
  }

  func finish() { line.finish() }
}

extension QuantizationScheme {
  /// Checks the value of an option against what it may be.
  fileprivate static func check(_ bits: Int, _ option: String, _ choices: [Int]) throws {
    guard choices.contains(bits) else { throw ValidationError("\(option): expected \(words(choices)), found \(bits)") }
  }
}
