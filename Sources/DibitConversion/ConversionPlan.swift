internal import DibitCheckpoint
internal import DibitJSON
internal import DibitModel
internal import DibitModelStore
internal import DibitQuantization
internal import DibitTensor

/// What a conversion will write, settled before the first byte: every fault of the source that can be found early is found here.
struct ConversionPlan {
  let checkpoint: Checkpoint
  let configuration: ModelConfiguration
  let configurationJSON: JSONValue
  let tokenizer: [UInt8]
  /// In the order of the file: F32 first, so that every tensor is aligned.
  let tensors: [PlannedTensor]

  /// Buffers that some checkpoints carry and that the configuration already determines.
  private static let derivedSuffixes = [
    ".rotary_emb.inv_freq", ".attn.masked_bias", ".attn.bias", ".attention.masked_bias", ".attention.bias",
  ]

  init(source: String, scheme: QuantizationScheme) throws(ConversionError) {
    let source = source.count > 1 && source.hasSuffix("/") ? String(source.dropLast()) : source
    let (json, configuration) = try liftStore { () throws(ModelStoreError) in try StoredModel.configuration(in: source) }
    guard json[QuantizationScheme.key] == nil else { throw .alreadyConverted(path: source) }
    let (_, _, weights) = try liftStore { () throws(ModelStoreError) in try StoredModel.weights(in: source) }
    _ = try liftStore { () throws(ModelStoreError) in try StoredModel.tokenizer(in: source) }
    tokenizer = try liftStore { () throws(ModelStoreError) in try readBytes(StoreFile.tokenizer, in: source) }
    let checkpoint = try lift { () throws(CheckpointError) in try Checkpoint.open(source) }
    var planned: [PlannedTensor] = []
    var seen = Set<String>()
    for parameter in weights.parameters {
      let source = checkpoint.tensorName(of: parameter.name)
      guard seen.insert(source).inserted else { continue }
      let info = try lift { () throws(CheckpointError) in try checkpoint.tensor(source) }
      planned.append(PlannedTensor(parameter, from: source, info, scheme))
    }
    let names = ParameterNames(configuration)
    for (layer, block) in weights.blocks.enumerated() {
      for (scale, name) in [(block.keyScale, names.keyScale(layer)), (block.valueScale, names.valueScale(layer))] where scale != nil {
        let info = try lift { () throws(CheckpointError) in try checkpoint.tensor(name) }
        planned.append(PlannedTensor(scalar: name, info))
        seen.insert(name)
      }
    }
    for name in checkpoint.tensorNames where !seen.contains(name) {
      let isTiedHead = configuration.tiesEmbeddings && name == names.head.tensor
      guard isTiedHead || Self.derivedSuffixes.contains(where: { name.hasSuffix($0) }) else {
        throw .unknownTensor(name, path: source, architecture: configuration.family.rawValue)
      }
    }
    self.checkpoint = checkpoint
    self.configuration = configuration
    configurationJSON = json
    tensors = planned.filter { $0.format == .f32 } + planned.filter { $0.format != .f32 }
  }
}

/// One tensor of the source and how it will be stored.
struct PlannedTensor {
  let name: String
  /// Its name in the source.
  let source: String
  /// How the source orders it; what is written has a row for each output.
  let layout: ParameterLayout
  let shape: [Int]
  let rows: Int
  let columns: Int
  let format: WeightFormat
  let sourceBytes: Int
  /// How the tensor is stored, in words.
  let storage: String

  init(_ parameter: Parameter, from source: String, _ info: TensorInfo, _ scheme: QuantizationScheme) {
    name = parameter.name.tensor
    self.source = source
    layout = parameter.name.layout
    // Of a tensor with several parameters, this is one; those are never in another order.
    (rows, columns) = layout == .rows ? (info.rows, info.columns) : (parameter.weight.rows, parameter.weight.columns)
    shape = layout == .rows ? info.shape : ParameterLayout.rows.shape(rows: rows, columns: columns)
    sourceBytes = info.count * info.dtype.byteCount
    let bits = ParameterName.isEmbedding(parameter.name) ? scheme.embeddingBits : scheme.bits
    format = parameter.decays ? scheme.format(bits: bits, columns: columns, source: info.dtype) : .f32
    if case .grid(let bits, _) = format {
      storage = "\(bits) bits, " + (scheme.group.map { "groups of \($0)" } ?? "one scale per row")
    } else {
      storage = Self.dtype(of: format).rawValue
    }
  }

  /// A static scale, kept as F32.
  init(scalar name: String, _ info: TensorInfo) {
    self.name = name
    source = name
    layout = .rows
    shape = info.shape
    (rows, columns) = (1, 1)
    sourceBytes = info.dtype.byteCount
    format = .f32
    storage = DType.f32.rawValue
  }

  var isPacked: Bool { if case .grid = format { true } else { false } }

  var dtype: DType { Self.dtype(of: format) }

  private static func dtype(of format: WeightFormat) -> DType {
    switch format {
    case .f32: .f32
    case .f16: .f16
    case .bf16: .bf16
    case .grid: .u8
    }
  }

  /// Bytes of the stored tensor, scales included.
  var byteCount: Int {
    Weight.elementByteCount(rows: rows, columns: columns, format: format)
      + Weight.scaleByteCount(rows: rows, columns: columns, format: format)
  }

  /// What the file declares: the tensor, and the scales of a packed one.
  var declarations: [(name: String, dtype: DType, shape: [Int])] {
    guard case .grid(let bits, let group) = format else { return [(name: name, dtype: dtype, shape: shape)] }
    return [
      (name: name, dtype: .u8, shape: [rows, Weight.codeBytesPerRow(columns: columns, bits: bits)]),
      (name: ModelFiles.scalesName(name), dtype: .f16, shape: [rows, Weight.groups(columns: columns, group: group)]),
    ]
  }
}
