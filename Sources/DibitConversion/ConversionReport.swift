public import DibitJSON
public import DibitKernels

/// What a conversion made of each tensor.
public struct ConversionReport: Equatable, Sendable {
  /// What became of one tensor.
  public struct Tensor: Equatable, Sendable {
    /// The tensor's name in the checkpoint.
    public let name: String
    /// The dimensions of the source tensor.
    public let shape: [Int]
    /// "2 bits, groups of 64", "BF16", …
    public let storage: String
    /// Bytes of the source tensor.
    public let sourceBytes: Int
    /// Bytes of the stored tensor, scales included.
    public let bytes: Int
    /// What rounding lost; nil for tensors that were kept.
    public let error: GridQuantization.Error?

    /// Rows whose scales the checkpoint brought along from training; nil where scales were fitted.
    public internal(set) var trainedScales: Int?
    /// How many of these had to be rounded to F16.
    public internal(set) var roundedScales = 0

    /// The number of weights.
    public var elements: Int { shape.reduce(1, *) }
    /// Whether every weight lay on the grid and was packed without loss.
    public var isExact: Bool { error?.noise == 0 }
  }

  /// The path of the checkpoint.
  public let source: String
  /// The path of the model directory.
  public let output: String
  /// The family, as `model_type` names it.
  public let architecture: String
  /// Every stored tensor, in the order of the file.
  public internal(set) var tensors: [Tensor] = []
  /// How long the conversion took.
  public internal(set) var seconds = 0.0
  /// Bytes of the written model.safetensors.
  public internal(set) var outputBytes = 0
  /// What identifies the model.
  public internal(set) var digest = ""

  /// Weights of the model; a static scale of int8 keys or values, a tensor of one element, is none.
  public var elements: Int { tensors.reduce(0) { $0 + ($1.elements > 1 ? $1.elements : 0) } }
  /// Bytes of all source tensors.
  public var sourceBytes: Int { tensors.reduce(0) { $0 + $1.sourceBytes } }
  /// Bits per weight over the whole model, scales and norms included.
  public var bitsPerWeight: Double { Double(tensors.reduce(0) { $0 + $1.bytes } * 8) / Double(max(elements, 1)) }

  /// Whether every weight kept its value: rounded tensors lay on the grid, and the others got no narrower type.
  public var isLossless: Bool {
    tensors.allSatisfy { tensor in tensor.error.map { $0.noise == 0 } ?? (tensor.bytes >= tensor.sourceBytes) }
  }

  /// Signal-to-noise ratio in dB over all rounded tensors; nil when none was rounded, infinite when all lay on the grid.
  public var decibels: Double? {
    var total = GridQuantization.Error()
    let rounded = tensors.compactMap(\.error)
    for error in rounded {
      total.signal += error.signal
      total.noise += error.noise
    }
    return rounded.isEmpty ? nil : total.decibels
  }

  /// The rounded tensors that lost most, worst first.
  public func worst(_ count: Int) -> [Tensor] {
    Array(tensors.filter { ($0.error?.noise ?? 0) > 0 }.sorted { ($0.error?.decibels ?? 0) < ($1.error?.decibels ?? 0) }.prefix(count))
  }

  /// The report for machines; `schema` changes when a key changes its meaning. Exact tensors have `"snr_db": null`.
  public var json: JSONValue {
    [
      "schema": 1, "source": .string(source), "output": .string(output), "architecture": .string(architecture), "digest": .string(digest),
      "parameters": .integer(elements), "source_bytes": .integer(sourceBytes), "output_bytes": .integer(outputBytes),
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
  }
}
