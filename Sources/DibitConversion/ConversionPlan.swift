internal import DibitCheckpoint
internal import DibitFailure
internal import DibitJSON
internal import DibitModel
internal import DibitModelStore
internal import DibitQuantization
internal import DibitTensor
internal import DibitTokenizer

/// The output of a conversion, determined before the first byte: every fault of the source that can be found early is found here.
struct ConversionPlan {
  let checkpoint: Checkpoint
  let configuration: ModelConfiguration
  let configurationJSON: JSONValue
  let tokenizer: [UInt8]
  /// The tokenizer_config.json to write; nil where the source says nothing about chats.
  let chat: JSONValue?
  /// The reason for which the tokenizer may be another model's; nil where nothing speaks for that.
  let tokenizerDoubt: String?
  /// In the order of the file.
  let tensors: [PlannedTensor]

  init(source: String, tokenizer tokenizerPath: String? = nil, scheme: QuantizationScheme) throws(ConversionError) {
    let source = source.count > 1 && source.hasSuffix("/") ? String(source.dropLast()) : source
    let opened = try rethrow(as: ConversionError.source, ModelSource.open(source))
    guard opened.scheme == nil else { throw .alreadyConverted(path: source) }
    let (configuration, checkpoint) = (opened.configuration, opened.checkpoint)
    let declarations = try rethrow(as: ConversionError.source, opened.declarations())
    let found = try rethrow(
      as: ConversionError.source,
      TokenizerSource.open(tokenizerPath ?? source, vocabularySize: configuration.vocabularySize))
    guard found.tokenizer.vocabularyCount <= configuration.vocabularySize else {
      throw .source(.vocabulary(path: source, tokenizer: found.tokenizer.vocabularyCount, model: configuration.vocabularySize))
    }
    tokenizer = found.json
    tokenizerDoubt = Self.doubt(found.tokenizer, isChosen: tokenizerPath != nil, source: source, rows: configuration.vocabularySize)
    chat = try rethrow(as: ConversionError.source, ChatSource.settings(of: source))
    var planned: [PlannedTensor] = []
    var seen = Set<String>()
    for parameter in declarations.parameters where seen.insert(parameter.name.tensor).inserted {
      let info = try rethrow(as: ConversionError.checkpoint, checkpoint.tensor(parameter.name.tensor))
      var tensor = PlannedTensor(parameter, info, scheme)
      tensor.clips = try Self.trainedScales(tensor, in: checkpoint, opened.json)
      planned.append(tensor)
    }
    if let name = scheme.tensorBits.keys.sorted().first(where: { name in
      !planned.contains { $0.name == name && $0.stored.format.grid != nil }
    }) {
      throw .noSuchMatrix(name, path: source)
    }
    for name in declarations.scales {
      let info = try rethrow(as: ConversionError.checkpoint, checkpoint.tensor(name))
      planned.append(PlannedTensor(scalar: name, info))
    }
    if let unknown = opened.unknownTensors.first {
      throw .unknownTensor(unknown, path: source, architecture: configuration.family.rawValue)
    }
    self.checkpoint = checkpoint
    self.configuration = configuration
    configurationJSON = opened.json
    tensors = ModelTensor.inFileOrder(planned, \.stored)
  }
}

extension ConversionPlan {
  /// Returns the doubt about a tokenizer of a model with so many rows in its embedding, in words.
  private static func doubt(_ tokenizer: Tokenizer, isChosen: Bool, source: String, rows: Int) -> String? {
    if isChosen, let own = try? TokenizerSource.open(source, vocabularySize: rows).tokenizer {
      let missing = tokenizer.specialTokensMissing(of: own)
      if let first = missing.first {
        return "it has not all special tokens of the checkpoint's own under their ids: \(quoted(first))"
          + (missing.count > 1 ? " and \(missing.count - 1) more" : "")
      }
    }
    guard tokenizer.isFar(from: rows) else { return nil }
    return "it has \(grouped(tokenizer.vocabularyCount)) tokens, and the checkpoint's embedding \(grouped(rows)) rows"
  }

  /// The name of the tensor with the trained scales of a tensor's rows, where the checkpoint has one.
  private static func trainedScales(
    _ tensor: PlannedTensor, in checkpoint: Checkpoint, _ json: JSONValue
  ) throws(ConversionError) -> String? {
    let name = tensor.name + StretchedElastic.suffix
    guard let info = checkpoint.info(name) else { return nil }
    if let bits = json["w_bits"], bits.int != StretchedElastic.levels.bits { throw .trainedBits(tensor: name, found: bits.serialized()) }
    guard tensor.stored.format.grid?.levels == StretchedElastic.levels else {
      throw .trainedScales(tensor: name, found: tensor.stored.format.grid?.levels.description ?? "\(tensor.stored.format.bits) bits")
    }
    guard info.shape == [tensor.rows, 1] || info.shape == [tensor.rows] else {
      throw .checkpoint(.shapeMismatch(tensor: name, file: info.file, expected: [tensor.rows, 1], found: info.shape))
    }
    return name
  }
}

/// One tensor of the source and how it will be stored.
struct PlannedTensor {
  let stored: ModelTensor
  let sourceBytes: Int
  /// The storage of the tensor, in words.
  let storage: String
  /// The tensor with the trained scales of its rows.
  var clips: String?

  init(_ parameter: ParameterDeclaration, _ info: TensorInfo, _ scheme: QuantizationScheme) {
    stored = ModelTensor(
      name: parameter.name.tensor, shape: info.shape, rows: info.rows, columns: info.columns,
      format: scheme.format(of: parameter.name, parameter.role, source: WeightFormat(info.dtype) ?? .f32))
    sourceBytes = info.count * info.dtype.byteCount
    storage = stored.format.grid?.description ?? stored.format.dtype.rawValue
  }

  /// A static scale, kept as F32.
  init(scalar name: String, _ info: TensorInfo) {
    stored = ModelTensor(name: name, shape: info.shape, rows: 1, columns: 1, format: .f32)
    sourceBytes = info.dtype.byteCount
    storage = DType.f32.rawValue
  }

  var name: String { stored.name }
  var rows: Int { stored.rows }
  var columns: Int { stored.columns }
}
