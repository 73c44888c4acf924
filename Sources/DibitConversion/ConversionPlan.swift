internal import DibitCheckpoint
internal import DibitJSON
internal import DibitModel
internal import DibitModelStore
internal import DibitQuantization
internal import DibitTensor
internal import DibitTokenizer

/// What a conversion will write, settled before the first byte: every fault of the source that can be found early is found here.
struct ConversionPlan {
  let checkpoint: Checkpoint
  let configuration: ModelConfiguration
  let configurationJSON: JSONValue
  let tokenizer: [UInt8]
  /// The tokenizer_config.json to write; nil where the source says nothing about chats.
  let chat: JSONValue?
  /// In the order of the file.
  let tensors: [PlannedTensor]

  init(source: String, tokenizer tokenizerPath: String? = nil, scheme: QuantizationScheme) throws(ConversionError) {
    let source = source.count > 1 && source.hasSuffix("/") ? String(source.dropLast()) : source
    let opened = try liftStore { () throws(ModelStoreError) in try ModelSource.open(source) }
    guard opened.scheme == nil else { throw .alreadyConverted(path: source) }
    let (configuration, checkpoint) = (opened.configuration, opened.checkpoint)
    let declarations = try liftStore { () throws(ModelStoreError) in try opened.declarations() }
    let found = try liftStore { () throws(ModelStoreError) in
      try TokenizerSource.open(tokenizerPath ?? source, vocabularySize: configuration.vocabularySize)
    }
    guard found.tokenizer.vocabularyCount <= configuration.vocabularySize else {
      throw .source(.vocabulary(path: source, tokenizer: found.tokenizer.vocabularyCount, model: configuration.vocabularySize))
    }
    tokenizer = found.json
    chat = try liftStore { () throws(ModelStoreError) in try ChatSource.settings(of: source) }
    var planned: [PlannedTensor] = []
    var seen = Set<String>()
    for parameter in declarations.parameters where seen.insert(parameter.name.tensor).inserted {
      let info = try lift { () throws(CheckpointError) in try checkpoint.tensor(parameter.name.tensor) }
      var tensor = PlannedTensor(parameter, info, scheme)
      tensor.clips = try Self.trainedScales(tensor, in: checkpoint, opened.json)
      planned.append(tensor)
    }
    for name in declarations.scales {
      let info = try lift { () throws(CheckpointError) in try checkpoint.tensor(name) }
      planned.append(PlannedTensor(scalar: name, info))
    }
    if let unknown = opened.unknownTensors.first {
      throw .unknownTensor(unknown, path: source, architecture: configuration.family.rawValue)
    }
    self.checkpoint = checkpoint
    self.configuration = configuration
    configurationJSON = opened.json
    // Packed tensors are multiples of 64 bytes, and F32 tensors of 4: in this order all are aligned for the kernels.
    tensors =
      planned.filter(\.isPacked) + planned.filter { $0.format == .f32 } + planned.filter { !$0.isPacked && $0.format != .f32 }
  }
}

extension ConversionPlan {
  /// The name of the tensor with the trained scales of a tensor's rows, where the checkpoint has one.
  private static func trainedScales(
    _ tensor: PlannedTensor, in checkpoint: Checkpoint, _ json: JSONValue
  ) throws(ConversionError) -> String? {
    let name = tensor.name + StretchedElastic.suffix
    guard let info = checkpoint.info(name) else { return nil }
    if let bits = json["w_bits"], bits.int != 2 { throw .trainedBits(tensor: name, found: bits.serialized()) }
    guard case .grid(bits: 2, group: _) = tensor.format else { throw .trainedScales(tensor: name, bits: tensor.bits) }
    guard info.shape == [tensor.rows, 1] || info.shape == [tensor.rows] else {
      throw .checkpoint(.shapeMismatch(tensor: name, file: info.file, expected: [tensor.rows, 1], found: info.shape))
    }
    return name
  }
}

/// One tensor of the source and how it will be stored.
struct PlannedTensor {
  let name: String
  let shape: [Int]
  let rows: Int
  let columns: Int
  let format: WeightFormat
  let sourceBytes: Int
  /// How the tensor is stored, in words.
  let storage: String
  /// The tensor with the trained scales of its rows.
  var clips: String?

  init(_ parameter: ParameterDeclaration, _ info: TensorInfo, _ scheme: QuantizationScheme) {
    name = parameter.name.tensor
    shape = info.shape
    (rows, columns) = (info.rows, info.columns)
    sourceBytes = info.count * info.dtype.byteCount
    let bits = ParameterName.isEmbedding(parameter.name) ? scheme.embeddingBits : scheme.bits
    format = parameter.isMatrix ? scheme.format(bits: bits, columns: info.columns, source: info.dtype) : .f32
    if case .grid(let bits, _) = format {
      storage = "\(bits) bits, " + (scheme.group.map { "groups of \($0)" } ?? "one scale per row")
    } else {
      storage = Self.dtype(of: format).rawValue
    }
  }

  /// A static scale, kept as F32.
  init(scalar name: String, _ info: TensorInfo) {
    self.name = name
    shape = info.shape
    (rows, columns) = (1, 1)
    sourceBytes = info.dtype.byteCount
    format = .f32
    storage = DType.f32.rawValue
  }

  var isPacked: Bool { if case .grid = format { true } else { false } }

  var dtype: DType { Self.dtype(of: format) }

  /// Bits of a stored element.
  var bits: Int {
    if case .grid(let bits, _) = format { bits } else { dtype.byteCount * 8 }
  }

  private static func dtype(of format: WeightFormat) -> DType {
    switch format {
    case .f32: .f32
    case .f16: .f16
    case .bf16: .bf16
    case .grid: .u8
    }
  }

  /// Bytes of the stored tensor, scales included.
  var byteCount: Int { declarations.reduce(0) { $0 + $1.shape.reduce($1.dtype.byteCount, *) } }

  /// What the file declares: the tensor, and the scales of a packed one.
  var declarations: [(name: String, dtype: DType, shape: [Int])] {
    guard case .grid(let bits, let group) = format else { return [(name: name, dtype: dtype, shape: shape)] }
    return [
      (name: name, dtype: .u8, shape: Weight.codeShape(rows: rows, columns: columns, bits: bits)),
      (name: ModelFiles.scalesName(name), dtype: .f16, shape: Weight.scaleShape(rows: rows, columns: columns, group: group)),
    ]
  }
}
