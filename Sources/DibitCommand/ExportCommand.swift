internal import ArgumentParser
internal import Dibit
internal import DibitCheckpoint
internal import DibitConversion
internal import DibitFailure
internal import DibitFiles
internal import DibitKernels
internal import DibitModelStore
internal import DibitTensor

struct ExportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Write a model, or adapters of it, in a form that other tools read.",
    discussion: """
      Example: dibit export ./model --format safetensors --output ./model-float
      Example: dibit export ./model --adapter ./topics --format mlx --output ./topics-mlx
      Example: dibit export ./model --adapter ./topics --format safetensors --output ./model-topics
      Example: dibit export ./model --adapter ./topics=0.7 --adapter ./style=0.3 --format peft --output ./both

        safetensors: a checkpoint directory with the weights expanded to floats, which transformers, mlx-lm and others load. F32, the \
      default, holds every weight of the 2-bit grid exactly. With --adapter, the adapter is merged into the weights.
        gguf: one file for llama.cpp, with the tokenizer inside; all weights of the grids of 2, 4 and 8 bits are exact in it too, and \
      smallest for models with one scale per row.
        peft, mlx, gguf: with --adapter, what PEFT, mlx-lm or llama.cpp loads; labels, prompt and training go along, and \
      'dibit convert --base' makes an adapter of it again. That of peft is one as it is, for all other commands too. Several adapters \
      become one, the sum of their updates, each times its weight.
        fmadapter: the same as of peft, with the metadata.json of a package for apps that use the library FoundationModels; name it NAME.fmadapter.
      """)

  @Argument(help: "A model, converted or not.") var model: String
  @Option(
    help: ArgumentHelp(
      "An adapter of the model, to be written instead of it or merged into it; with =WEIGHT that much of it. May be repeated.",
      valueName: "adapter"))
  var adapter: [String] = []
  @Option(help: "What to write: safetensors or gguf; of adapters peft, fmadapter, mlx, gguf or safetensors.") var format: String
  @Option(name: .shortAndLong, help: "The directory to create; of gguf the file.") var output: String
  @Option(help: "The dtype of the floats of safetensors: f32, f16 or bf16.") var dtype = "f32"
  @Option(
    help: ArgumentHelp(
      "What an exported adapter names as its base, such as the name on a hub; by default the name of the model's directory.",
      valueName: "name"))
  var baseName: String?
  @Flag(help: "Replace an existing output.") var overwrite = false
  @OptionGroup var compute: ComputeOptions

  private var formats: [String] {
    let models = ExportFormat.allCases.map(\.rawValue)
    return adapter.isEmpty ? models : AdapterFormat.allCases.map(\.rawValue) + models.filter { AdapterFormat(rawValue: $0) == nil }
  }

  func validate() throws {
    guard formats.contains(format) else {
      throw ValidationError("--format: expected \(formats.dropLast().joined(separator: ", ")) or \(formats.last ?? ""), found \(format)")
    }
    guard ["f32", "f16", "bf16"].contains(dtype) else { throw ValidationError("--dtype: expected f32, f16 or bf16, found \(dtype)") }
    guard baseName == nil || (!adapter.isEmpty && AdapterFormat(rawValue: format) != nil) else {
      throw ValidationError("--base-name: only an adapter names its base: give --adapter and one of its formats")
    }
    guard baseName != "" else { throw ValidationError("--base-name: a name expected, found ''") }
  }

  func run() throws {
    Interrupt.listen()
    let compute = try compute.makeCompute()
    let parts = try adapter.map { try AdapterPart(argument: $0) }
    if !parts.isEmpty, let format = AdapterFormat(rawValue: format) { return try exportAdapter(parts, format, on: compute) }
    let exporter = Exporter(model: model, output: output, overwrite: overwrite, on: compute)
    var line = ProgressLine("exporting")
    try Failure.context("exporting '\(model)'") {
      func update(_ progress: ExportProgress) -> Bool {
        line.update(progress.bytes, of: progress.totalBytes, size(progress.bytes))
        return !Interrupt.isRequested
      }
      switch ExportFormat(rawValue: format) {
      case .gguf: try exporter.writeGGUF(progress: update)
      default:
        try exporter.writeSafetensors(
          DType(rawValue: dtype.uppercased()) ?? .f32, merging: parts,
          note: AdapterExchange.mergedNote(parts, base: { try OpenedModels.openConverted(model) }, note: Terminal.note), progress: update)
      }
    }
    line.finish()
    Terminal.wrote(output)
  }

  private func exportAdapter(_ parts: [AdapterPart], _ format: AdapterFormat, on compute: Compute) throws {
    let layers = try Failure.context("exporting '\(parts[0].path)'") {
      try AdapterExchange.export(
        parts, base: OpenedModels.openConverted(model), format: format, baseName: baseName, output: output, overwrites: overwrite,
        on: compute, note: Terminal.note)
    }
    Output.print(counted(layers, "adapted layer"))
    Terminal.wrote(output)
  }
}

extension AdapterPart {
  /// `DIRECTORY` or `DIRECTORY=WEIGHT`; a directory whose name has the sign in it is taken as it is.
  fileprivate init(argument: String) throws {
    guard !isDirectory(argument), let sign = argument.lastIndex(of: "=") else {
      self.init(path: argument)
      return
    }
    let (path, number) = (String(argument[..<sign]), argument[argument.index(after: sign)...])
    guard !path.isEmpty, let weight = Double(number), Self.weights.contains(weight) else {
      throw Failure(.usage, "--adapter: expected a directory, and behind '=' a weight from -1000000 to 1000000, found '\(argument)'")
    }
    self.init(path: path, weight: weight)
  }
}
