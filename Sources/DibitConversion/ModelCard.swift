internal import DibitFailure
internal import DibitFiles
internal import DibitJSON
internal import DibitModel
internal import DibitModelStore
internal import DibitQuantization
internal import DibitTensor

/// The README.md of a model: what it is, where it comes from and what opens it, for those who have only its files. Equal models have
/// equal cards.
enum ModelCard {
  /// The first commands for a model that only Dibit reads.
  private static let commands = """
    | for | command |
    |---|---|
    | text | `dibit generate MODEL --prompt TEXT` |
    | an adapter | `dibit train MODEL --data PATH --output ADAPTER` |
    """

  /// The card of a converted model.
  static func packed(_ report: ConversionReport, _ scheme: QuantizationScheme) -> String {
    let name = fileName(of: report.source) ?? report.source
    let group = scheme.group.map { "groups of \($0) weights share a scale" } ?? "each row has one scale"
    let raised =
      scheme.tensorBits.isEmpty ? "" : " (\(counted(scheme.tensorBits.count, "matrix", "matrices")) of others, see `config.json`)"
    let form =
      scheme.isQuantized
      ? "\(scheme.bits)-bit weights\(raised)\(scheme.family.words), \(group)" : "\(scheme.bits)-bit floats"
    // transformers does not know afm7.
    let tools = report.architecture == ModelFamily.afm7.rawValue ? "mlx-lm" : "transformers, mlx-lm"
    let gguf = "\n| llama.cpp | `dibit export MODEL --format gguf --output FILE` |"
    return """
      # \(name), converted by Dibit

      A language model (\(report.architecture)) of \(grouped(report.elements)) parameters: \(form), embedding and output head of \
      \(scheme.embeddingBits) bits.
      Made from `\(name)`. `manifest.json` has the digests.

      \(commands)
      | \(tools) | `dibit export MODEL --format safetensors --output DIRECTORY` |\(GGUFModel.knows(report.architecture) ? gguf : "")

      Only Dibit reads the packed weights.

      """
  }

  /// The card of a converted model with an adapter inside that brings back what rounding took.
  static func recovered(_ model: StoredModel, _ recovery: QuantizationScheme.Recovery) -> String {
    """
    # \(model.name), recovered by Dibit

    The model `\(model.name)` with a low-rank adapter inside, of rank \(recovery.rank) and \(recovery.levels.bits) bits, that brings it nearer to the \
    floats that it was made from. Every command applies it. `manifest.json` has the digests.

    \(commands)

    Only Dibit reads the packed weights.

    """
  }

  /// The card of a float checkpoint.
  static func floats(_ source: StoredModel, dtype: DType, adapters: [AdapterPart]) -> String {
    var text = """
      # \(source.name), exported by Dibit

      A language model (\(source.configuration.family.rawValue)) of \(grouped(source.weights.elementCount)) parameters in \(dtype.rawValue).

      """
    if let scheme = source.scheme, scheme.isQuantized {
      text +=
        "The weights are those of a model of \(scheme.bits) bits, expanded"
        + (dtype == .f32 ? ": every value is the same.\n" : " and rounded to \(dtype.rawValue).\n")
    }
    for adapter in adapters {
      text += "Merged into them: the adapter `\(fileName(of: adapter.path) ?? adapter.path)`, times \(adapter.weight).\n"
    }
    return text + """

      ```python
      from transformers import AutoModelForCausalLM, AutoTokenizer

      tokenizer = AutoTokenizer.from_pretrained("DIRECTORY")
      model = AutoModelForCausalLM.from_pretrained("DIRECTORY")
      ```

      """
  }
}

extension LevelFamily {
  /// The words behind "2-bit weights".
  fileprivate var words: String {
    switch self {
    case .symmetric: ""
    case .fullRange: " of full range"
    case .trellis: " on a trellis"
    }
  }
}
