internal import ArgumentParser
internal import DibitConversion
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

      CHECKPOINT is a directory or a file: Hugging Face's config.json, tokenizer.json (or tokenizer.model) and weights in safetensors,
      PyTorch or HDF5 files, whole or sharded; a KerasHub preset; a GGUF file; or a llama2.c file. Each is recognised by its contents.
      A tensor that already lies on the grid of --bits is packed as it is; the trained scales of ParetoQ are kept. Norms stay F32.
      """)

  @Argument(help: "The checkpoint's directory or file.") var checkpoint: String
  @Option(name: .shortAndLong, help: "The model directory to create; with --base the adapter directory.") var output: String
  @Option(help: "Bits of a weight: 2, 4, 16 or 32. 16 and 32 keep floats.") var bits = 2
  @Option(help: ArgumentHelp("Weights that share a scale: 32, 64, 128 or 'row'.", valueName: "size")) var groupSize = "64"
  @Option(
    help: ArgumentHelp(
      "Bits of the embedding and the output head: 4, 16 or 32; by default 4, or what --bits says above 4.", valueName: "bits"))
  var embeddingBits: Int?
  @Option(help: ArgumentHelp("A tokenizer file to use instead of the one beside or inside the checkpoint.", valueName: "file"))
  var tokenizer: String?
  @Option(
    help: ArgumentHelp("The converted model that CHECKPOINT, then an adapter of PEFT, mlx-lm or llama.cpp, belongs to.", valueName: "model")
  )
  var base: String?
  @OptionGroup var task: AdapterTaskArguments
  @Flag(help: "Replace an existing output.") var overwrite = false
  @Flag(help: "Print the report as JSON.") var json = false
  @OptionGroup var compute: ComputeOptions

  func validate() throws {
    guard [2, 4, 16, 32].contains(bits) else { throw ValidationError("--bits: expected 2, 4, 16 or 32, found \(bits)") }
    if let embeddingBits, ![4, 16, 32].contains(embeddingBits) {
      throw ValidationError("--embedding-bits: expected 4, 16 or 32, found \(embeddingBits)")
    }
    if task.labels != nil, base == nil { throw ValidationError("--labels: only an adapter has labels: give --base MODEL") }
    guard groupSize == "row" || QuantizationScheme.groups.contains(where: { "\($0)" == groupSize }) else {
      throw ValidationError("--group-size: expected 32, 64, 128 or row, found \(groupSize)")
    }
  }

  func run() throws {
    Interrupt.listen()
    if let base { return try importAdapter(of: base) }
    var options = ConversionOptions()
    options.scheme.bits = bits
    options.scheme.embeddingBits = embeddingBits ?? max(4, bits)
    options.scheme.group = Int(groupSize)
    options.tokenizer = tokenizer
    options.overwrite = overwrite
    let converter = Converter(source: checkpoint, output: output, options: options, on: try compute.makeCompute())
    var line = ProgressLine("converting")
    let report = try Failure.context("converting '\(checkpoint)'") {
      try converter.run { progress in
        line.update(progress.bytes, of: progress.totalBytes, size(progress.bytes))
        return !Interrupt.isRequested
      }
    }
    line.finish()
    if json { printJSON(report.json) } else { show(report) }
  }

  private func importAdapter(of base: String) throws {
    let (layers, facts) = try Failure.context("converting '\(checkpoint)'") {
      let model = try StoredModel.openConverted(base)
      var facts = try AdapterFacts.read(checkpoint)
      for (key, value) in try task.members(for: model).members { facts.manifest[key] = value }
      facts.card = AdapterCard(base: model, facts: facts).text
      let layers = try AdapterConverter.importAdapter(checkpoint, base: model, facts: facts, output: output, overwrite: overwrite)
      return (layers, facts)
    }
    if facts.manifest["labels"] == nil {
      Terminal.write("note: '\(checkpoint)' says no labels, which 'dibit predict' and 'dibit evaluate' need: --labels gives them\n")
    }
    print("\(layers) adapted layers; wrote \(output)")
  }

  private func show(_ report: ConversionReport) {
    let rate = Double(report.sourceBytes) / max(report.seconds, 1e-9)
    print("\(report.architecture) model with \(report.elements) parameters: \(size(report.sourceBytes)) -> \(size(report.outputBytes)),")
    print(
      "\(decimal(report.bitsPerWeight, 2)) bits per weight over all, in \(duration(report.seconds)) (\(size(Int(rate)))/s)"
        + (report.decibels.map { $0.isFinite ? "; signal to noise \(decimal($0, 2)) dB" : "; every rounded tensor was on the grid: exact" }
          ?? ""))
    let worst = report.worst(5)
    if !worst.isEmpty {
      print("\nThe tensors that lost most:")
      printTable(worst.map { ["  " + $0.name, "\($0.shape)", $0.storage, "\(decimal($0.error?.decibels ?? 0, 2)) dB"] })
    }
    let exact = report.tensors.filter(\.isExact).count
    if exact > 0 { print("\n\(exact) tensors were on the grid already and were packed without loss.") }
    print("\nwrote \(report.output)")
  }
}
