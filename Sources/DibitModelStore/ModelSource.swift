internal import DibitFailure
package import DibitCheckpoint
internal import DibitFiles
package import DibitJSON
package import DibitModel
package import DibitQuantization
package import DibitTensor

/// A model of any source that can be read, in Hugging Face terms: a config.json, and parameters under Hugging Face names.
///
/// Sources are directories (of Hugging Face, KerasHub, or made by `dibit convert`) and single files; see ``CheckpointFormat``.
package struct ModelSource: Sendable {
  /// The path it was opened with, or the directory that this file is the weights of.
  package let path: String
  /// The content of config.json, actual or translated.
  package let json: JSONValue
  /// The model's shape.
  package let configuration: ModelConfiguration
  /// The parameters; their names and layouts are Hugging Face's, whatever the format.
  package let checkpoint: Checkpoint
  /// The storage scheme of the tensors; nil for a checkpoint that was not converted.
  package let scheme: QuantizationScheme?

  /// Opens a directory or a file.
  package static func open(_ path: String) throws(ModelStoreError) -> ModelSource {
    let path = StoreKind.owner(of: path) ?? path
    try StoreKind.checkModel(path)
    let stored = try rethrow(as: ModelStoreError.checkpoint, Checkpoint.open(path))
    let (json, checkpoint) = try translated(stored, path: path)
    var configuration = try rethrow(as: ModelStoreError.model, at: path, ModelConfiguration(json: json))
    let scheme = try scheme(json, path: path)
    configuration.recoveryRank = scheme?.recovery?.rank ?? 0
    // Dibit's own models hold rows, whatever the family's checkpoints do; so do GGUF files.
    let ordered = scheme == nil ? try ordered(checkpoint, configuration, holdsRows: stored.format == .gguf, path: path) : checkpoint
    return ModelSource(path: path, json: json, configuration: configuration, checkpoint: ordered, scheme: scheme)
  }

  /// A checkpoint's configuration and tensors in Hugging Face terms.
  private static func translated(_ stored: Checkpoint, path: String) throws(ModelStoreError) -> (JSONValue, Checkpoint) {
    if let parameters = Llama2CParameters(metadata: stored.metadata) {
      return try viewed(stored, Llama2CModel.translation(of: parameters))
    }
    if stored.format == .gguf { return try viewed(stored, try gguf(stored, path: path)) }
    let json = try readJSON(StoreFile.configuration, in: directory(of: path))
    guard stored.format == .hdf5 else { return (json, stored) }
    if KerasModel.recognises(json) {
      return try viewed(stored, try KerasModel.translate(json, tensors: stored.tensors, path: path))
    }
    let names: [String]
    do throws(HDF5Fault) { names = try HDF5Names.dotted(stored.tensorNames) } catch { throw .checkpoint(.hdf5(file: path, error)) }
    let views = zip(names, stored.tensorNames).map { TensorView($0, from: $1) }
    return try viewed(stored, ModelTranslation(configuration: json, views: views))
  }

  private static func gguf(_ stored: Checkpoint, path: String) throws(ModelStoreError) -> ModelTranslation {
    let file = try ggufFile(stored.filePaths[0])
    guard !GGUFAdapter.recognises(file) else { throw .isAdapter(path: path, isForeign: true) }
    return try rethrow(as: ModelStoreError.gguf, at: stored.filePaths[0], GGUFModel.translate(file, inRows: true))
  }

  private static func viewed(_ stored: Checkpoint, _ translation: ModelTranslation) throws(ModelStoreError) -> (JSONValue, Checkpoint) {
    (translation.configuration, try rethrow(as: ModelStoreError.checkpoint, stored.viewed(translation.views)))
  }

  /// Returns the declarations of the configuration, after checking that an unconverted source has every parameter with a float dtype and
  /// its shape.
  package func declarations() throws(ModelStoreError) -> (parameters: [ParameterDeclaration], scales: [String]) {
    let declarations = DecoderWeights.declarations(of: configuration)
    let reader = WeightReader(checkpoint, path: path, scheme: scheme)
    for parameter in declarations.parameters { try reader.check(parameter) }
    return (declarations.parameters, declarations.scales.filter { checkpoint.info($0) != nil })
  }

  /// The parameters, over the mapped files where they are stored as kernels read them; with `inBFloat`, F32 matrices as BF16, for products
  /// that would round them one by one.
  package func weights(inBFloat: Bool = false) throws(ModelStoreError) -> DecoderWeights {
    try checkThatNothingIsLeftOut()
    let reader = WeightReader(checkpoint, path: path, scheme: scheme)
    let weights = try DecoderWeights(
      configuration,
      provide: { parameter throws(ModelStoreError) in
        let weight = try reader.weight(parameter)
        return inBFloat && parameter.isMatrix ? weight.roundedToBFloat() : weight
      }, provideScale: reader.scale)
    try checkThatRecoveriesArePacked(weights)
    return weights
  }

  /// Factors of a recovery are multiplied with what is rounded for the weight beside them.
  private func checkThatRecoveriesArePacked(_ weights: DecoderWeights) throws(ModelStoreError) {
    for parameter in weights.published {
      guard let (a, b) = weights.recovery(of: parameter.index), !(a.isPacked && b.isPacked && parameter.weight.isPacked) else { continue }
      throw .tensor(
        parameter.name.tensor, path: path, expected: "packed codes, and packed factors of its recovery", found: "floats among them")
    }
  }

  /// The parameters with their matrices left out, which ``matrix(_:)`` reads one at a time: a job that needs one layer after the other needs
  /// no memory for all.
  package func weightsWithoutMatrices() throws(ModelStoreError) -> DecoderWeights {
    try checkThatNothingIsLeftOut()
    let reader = WeightReader(checkpoint, path: path, scheme: scheme)
    let none = Weight(zerosWithRows: 0, columns: 0)
    return try DecoderWeights(
      configuration,
      provide: { parameter throws(ModelStoreError) in parameter.isMatrix ? none : try reader.weight(parameter) }, provideScale: reader.scale
    )
  }

  /// Reads a matrix that was left out.
  package func matrix(_ parameter: ParameterDeclaration) throws(ModelStoreError) -> Weight {
    try WeightReader(checkpoint, path: path, scheme: scheme).weight(parameter)
  }

  /// The directory itself, or the one that holds the file.
  static func directory(of path: String) -> String {
    if isDirectory(path) { return path }
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  private static func scheme(_ json: JSONValue, path: String) throws(ModelStoreError) -> QuantizationScheme? {
    guard let block = json[QuantizationScheme.key] else { return nil }
    return try rethrow(as: ModelStoreError.quantization, at: path, QuantizationScheme(json: block))
  }
}
