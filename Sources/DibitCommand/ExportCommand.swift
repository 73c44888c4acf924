internal import ArgumentParser
internal import DibitCheckpoint
internal import DibitConversion
internal import DibitTensor

struct ExportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Write a model, or an adapter of it, in a form that other tools read.",
    discussion: """
      Example: dibit export ./model --format safetensors --output ./model-float
      Example: dibit export ./model --adapter ./topics --format mlx --output ./topics-mlx

        safetensors: a checkpoint directory with the weights expanded to floats, which transformers and others load. F32, the default, \
      holds every weight of the 2-bit grid exactly.
        gguf: one file for llama.cpp, with the tokenizer inside; all weights of the 2-bit and 4-bit grids are exact in it too, and \
      smallest for models with one scale per row.
        peft, mlx, gguf: with --adapter, what PEFT, mlx-lm or llama.cpp loads.
      """)

  @Argument(help: "A model, converted or not.") var model: String
  @Option(help: ArgumentHelp("An adapter of the model, to be written instead of it.", valueName: "adapter")) var adapter: String?
  @Option(help: "What to write: safetensors or gguf; of an adapter peft, mlx or gguf.") var format: String
  @Option(name: .shortAndLong, help: "The directory to create; of gguf the file.") var output: String
  @Option(help: "The dtype of the floats of safetensors: f32, f16 or bf16.") var dtype = "f32"
  @Flag(help: "Replace an existing output.") var overwrite = false
  @OptionGroup var compute: ComputeOptions

  func validate() throws {
    let formats = adapter == nil ? ExportFormat.allCases.map(\.rawValue) : AdapterFormat.allCases.map(\.rawValue)
    guard formats.contains(format) else {
      throw ValidationError("--format: expected \(formats.dropLast().joined(separator: ", ")) or \(formats.last ?? ""), found \(format)")
    }
    guard ["f32", "f16", "bf16"].contains(dtype) else { throw ValidationError("--dtype: expected f32, f16 or bf16, found \(dtype)") }
  }

  func run() throws {
    Interrupt.listen()
    if let adapter, let format = AdapterFormat(rawValue: format) {
      let layers = try Failure.context("exporting '\(adapter)'") {
        try AdapterConverter.exportAdapter(adapter, base: model, format: format, output: output, overwrite: overwrite)
      }
      Output.print(counted(layers, "adapted layer"))
      return Terminal.wrote(output)
    }
    let exporter = Exporter(model: model, output: output, overwrite: overwrite, on: try compute.makeCompute())
    var line = ProgressLine("exporting")
    try Failure.context("exporting '\(model)'") {
      func update(_ progress: ExportProgress) -> Bool {
        line.update(progress.bytes, of: progress.totalBytes, size(progress.bytes))
        return !Interrupt.isRequested
      }
      switch ExportFormat(rawValue: format) {
      case .gguf: try exporter.writeGGUF(progress: update)
      default: try exporter.writeSafetensors(DType(rawValue: dtype.uppercased()) ?? .f32, progress: update)
      }
    }
    line.finish()
    Terminal.wrote(output)
  }
}
