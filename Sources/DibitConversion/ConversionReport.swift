internal import DibitCheckpoint
package import DibitJSON
package import DibitKernels
internal import DibitModel
internal import DibitModelStore

/// The result of a conversion for each tensor.
package struct ConversionReport: Equatable, Sendable {
  /// The result for one tensor.
  package struct Tensor: Equatable, Sendable {
    /// The tensor's name in the checkpoint.
    package let name: String
    /// The dimensions of the source tensor.
    package let shape: [Int]
    /// "2 bits, groups of 64", "BF16", …
    package let storage: String
    /// Bytes of the source tensor.
    package let sourceBytes: Int
    /// Bytes of the stored tensor, scales included.
    package let bytes: Int
    /// The loss from rounding; nil for tensors that were kept.
    package let error: GridQuantization.Error?

    /// Rows whose scales the checkpoint brought along from training; nil where scales were fitted.
    package internal(set) var trainedScales: Int?
    /// The number of these that had to be rounded to F16.
    package internal(set) var roundedScales = 0

    /// The number of weights.
    package var elements: Int { shape.reduce(1, *) }
    /// True where every weight lay on the grid and was packed without loss.
    package var isExact: Bool { error?.noise == 0 }
  }

  /// The result for a layer that was trained behind its rounding.
  package struct TrainedLayer: Equatable, Sendable {
    /// The number of the layer.
    package let layer: Int
    /// The squared error of the stream behind it over the square of that, as the layer was rounded: the mean over tokens that were held out.
    package let before: Double
    /// The same in the end.
    package let after: Double
  }

  /// The path of the checkpoint.
  package let source: String
  /// The path of the model directory.
  package let output: String
  /// The family, as `model_type` names it.
  package let architecture: String
  /// Every stored tensor, in the order of the file.
  package internal(set) var tensors: [Tensor] = []
  /// The duration of the conversion.
  package internal(set) var seconds = 0.0
  /// Bytes of the written model.safetensors.
  package internal(set) var outputBytes = 0
  /// The digest that identifies the model.
  package internal(set) var digest = ""
  /// Bytes of the checkpoint's files, in which weights may lie in blocks.
  package internal(set) var fileBytes = 0
  /// The reason for which the tokenizer may be another model's; nil where nothing speaks for that.
  package internal(set) var tokenizerDoubt: String?

  /// The bits that were chosen for tensors, where a size was given; empty without.
  package internal(set) var choices: [BitChoice] = []

  /// The layers that were trained behind their rounding, in order; empty where none was.
  package internal(set) var layers: [TrainedLayer] = []

  /// A report with the tensors as they are planned, without errors.
  init(planned plan: ConversionPlan, source: String, output: String) {
    self.init(source: source, output: output, plan)
    tensors = plan.tensors.map { tensor in
      Tensor(
        name: tensor.name, shape: tensor.stored.shape, storage: tensor.storage, sourceBytes: tensor.sourceBytes,
        bytes: tensor.stored.byteCount, error: nil)
    }
  }

  /// A report without tensors yet.
  init(source: String, output: String, _ plan: ConversionPlan) {
    (self.source, self.output, architecture) = (source, output, plan.configuration.family.rawValue)
    fileBytes = plan.checkpoint.fileBytes
    tokenizerDoubt = plan.tokenizerDoubt
  }

  /// Weights of the model; a static scale of int8 keys or values, a tensor of one element, is none.
  package var elements: Int { tensors.reduce(0) { $0 + ($1.elements > 1 ? $1.elements : 0) } }
  /// Bytes of all source tensors as they are read: blocks as floats.
  package var sourceBytes: Int { tensors.reduce(0) { $0 + $1.sourceBytes } }
  /// Bits per weight over the whole model, scales and norms included.
  package var bitsPerWeight: Double { Double(tensors.reduce(0) { $0 + $1.bytes } * 8) / Double(max(elements, 1)) }

  /// True where every weight kept its value: rounded tensors lay on the grid, and the others got no narrower type.
  package var isLossless: Bool {
    tensors.allSatisfy { tensor in tensor.error.map { $0.noise == 0 } ?? (tensor.bytes >= tensor.sourceBytes) }
  }

  /// Signal-to-noise ratio in dB over all rounded tensors; nil when none was rounded or layers were trained, infinite when all lay on the grid.
  package var decibels: Double? {
    guard layers.isEmpty else { return nil }
    var total = GridQuantization.Error()
    let rounded = tensors.compactMap(\.error)
    for error in rounded {
      total.signal += error.signal
      total.noise += error.noise
    }
    return rounded.isEmpty ? nil : total.decibels
  }

  /// The rounded tensors that lost most, worst first.
  package func worst(_ count: Int) -> [Tensor] {
    Array(tensors.filter { ($0.error?.noise ?? 0) > 0 }.sorted { ($0.error?.decibels ?? 0) < ($1.error?.decibels ?? 0) }.prefix(count))
  }

  /// The report for machines; `schema` changes when a key changes its meaning. Exact tensors have `"snr_db": null`.
  package var json: JSONValue {
    var members = members
    if !choices.isEmpty {
      members["choices"] = .array(choices.map(\.json))
    }
    if !layers.isEmpty {
      members["layers"] = .array(
        layers.map { layer in
          ["layer": .integer(layer.layer), "error_rounded": .number(layer.before), "error_trained": .number(layer.after)]
        })
    }
    return .object(members)
  }

  private var members: JSONObject {
    let members: JSONValue = [
      "schema": 1, "source": .string(source), "output": .string(output), "architecture": .string(architecture), "digest": .string(digest),
      "parameters": .integer(elements), "source_bytes": .integer(sourceBytes), "source_file_bytes": .integer(fileBytes),
      "output_bytes": .integer(outputBytes),
      "bits_per_weight": .number(bitsPerWeight), "snr_db": decibels.map { .number($0) } ?? .null, "seconds": .number(seconds),
      "tensors": .array(
        tensors.map { tensor in
          [
            "name": .string(tensor.name), "shape": .array(tensor.shape.map { .integer($0) }), "storage": .string(tensor.storage),
            "bytes": .integer(tensor.bytes), "snr_db": tensor.error.map { .number($0.decibels) } ?? .null, "exact": .bool(tensor.isExact),
            "trained_scales": tensor.trainedScales.map { .integer($0) } ?? .null, "rounded_scales": .integer(tensor.roundedScales),
          ]
        }),
    ]
    return members.object ?? JSONObject()
  }
}
