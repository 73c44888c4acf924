internal import DibitCalibration
internal import DibitCheckpoint
internal import DibitFailure
package import DibitFiles
package import DibitJSON
internal import DibitKernels
internal import DibitModel
internal import DibitQuantization
internal import DibitTensor

/// The directory beside its output in which a calibrated conversion keeps what it goes on with after it was stopped: the text, and each layer once
/// it is done.
///
/// The directory goes when the conversion is done: see ``removeAll()``.
package final class CalibrationStore {
  /// The directory's path.
  package let path: String
  /// Layers that are kept.
  package private(set) var layers: Int
  private let identity: String
  private let text: KeptText
  private var directory: JobDirectory

  private static let choices = "choices.safetensors"
  private static let tables = "tables.safetensors"
  private static let training = "training"
  private static func name(of layer: Int) -> String { "layer-\(layer).safetensors" }

  /// Opens or creates the directory beside `output`.
  ///
  /// - Parameters:
  ///   - identity: All that the result depends on but the text.
  ///   - vocabulary: The size of the model's vocabulary.
  ///   - resumes: True to go on with what is there; without, nothing may be unless `discards` says that it is to be removed.
  package init(
    output: String, inputs: JobInputs, identity: JSONValue, vocabulary: Int, resumes: Bool, discards: Bool
  ) throws(ConversionError) {
    self.identity = identity.serialized()
    do throws(FileError) {
      path = try JobDirectory.path(of: output)
      directory = try JobDirectory(of: output, inputs: inputs)
      text = KeptText(in: path, identity: self.identity, vocabulary: vocabulary)
      let names = try directory.names()
      let nested = try JobDirectory.path(of: Self.training)
      if let other = names.first(where: {
        !KeptText.isName($0) && ![Self.choices, Self.tables, nested].contains($0)
          && !($0.hasPrefix("layer-") && $0.hasSuffix(".safetensors"))
      }) {
        throw .notReplaceable(path: path, .foreignFile(other, job: "conversion"))
      }
      layers = names.count { $0.hasPrefix("layer-") }
      guard !resumes, !names.isEmpty else { return }
      if discards { for name in names { directory.remove(name) } }
    } catch { throw .file(error) }
    guard discards else { throw .incomplete(directory: path, layers: layers) }
    layers = 0
  }

  /// The output of a training that follows on calibration, as far as its checkpoints go: they lie in this directory.
  package var trainingOutput: String { directory.path(of: Self.training) }

  /// An interruption, with what is kept; nil for any other error.
  func interruption(_ error: ConversionError) -> ConversionError? {
    error == .interrupted ? .interruptedCalibration(directory: path, layers: layers) : nil
  }

  /// The windows of text that are kept; empty where there are none.
  ///
  /// - Throws: ``ConversionError/otherConversion(directory:)`` for those of a conversion of something else, or in another way.
  package func windows() throws(ConversionError) -> [[Int32]] {
    guard let windows = try rethrow(as: ConversionError.checkpoint, text.windows()) else { throw .otherConversion(directory: path) }
    return windows
  }

  /// Keeps windows of text as the piece behind the first `count`.
  package func keep(_ windows: [[Int32]], behind count: Int = 0) throws(ConversionError) {
    try rethrow(as: ConversionError.checkpoint, text.keep(windows, behind: count))
    directory.keep()
  }

  /// The bits that were chosen for each tensor; nil where they were not yet.
  func choices() throws(ConversionError) -> [BitChoice]? {
    guard let file = try open(Self.choices) else { return nil }
    let list = file.metadata("choices").flatMap { try? JSONValue(parsing: Array($0.utf8)) }?.array
    guard let choices = list?.map(BitChoice.init(json:)), choices.allSatisfy({ $0 != nil }) else {
      throw .otherConversion(directory: path)
    }
    return choices.compactMap(\.self)
  }

  /// Keeps the bits that were chosen: minutes of measurement.
  func keep(_ choices: [BitChoice]) throws(ConversionError) {
    try write(Self.choices, [], [(key: "choices", value: JSONValue.array(choices.map(\.json)).serialized())]) { _ throws(CheckpointError) in
    }
  }

  /// Removes the directory: the model is there.
  package func removeAll() { directory.removeAll() }

  /// A part that is kept, its matrices in the formats that they come to have; nil for one that is not, or not whole.
  func recall(
    _ part: Calibrator.Part, _ declarations: [ParameterDeclaration], as format: (ParameterDeclaration) -> WeightFormat
  ) throws(ConversionError) -> Calibrator.Result? {
    guard let file = try open(Self.name(of: part)) else { return nil }
    guard let losses = file.metadata("losses").flatMap({ try? JSONValue(parsing: Array($0.utf8)) })?.object else {
      throw .otherConversion(directory: path)
    }
    var rounded: [Int: Calibrator.Rounded] = [:]
    for (key, loss) in losses.members {
      guard let index = Int(key), declarations.indices.contains(index), let codes = try bytes(key + ".codes", of: file),
        let scales = try bytes(key + ".scales", of: file)
      else {
        throw .otherConversion(directory: path)
      }
      let (rows, columns, format) = (declarations[index].rows, declarations[index].columns, format(declarations[index]))
      guard format.elementByteCount(rows: rows, columns: columns) == codes.count,
        format.scaleByteCount(rows: rows, columns: columns) == scales.count
      else { throw .otherConversion(directory: path) }
      var error: GridQuantization.Error?
      if let signal = loss["signal"]?.double, let noise = loss["noise"]?.double {
        var known = GridQuantization.Error()
        (known.signal, known.noise) = (signal, noise)
        error = known
      }
      rounded[index] = Calibrator.Rounded(
        weight: Weight(
          rows: rows, columns: columns, format: format, elements: codes.aligned(to: Grid.blockBytes), scales: scales.aligned(to: 2)),
        error: error)
    }
    var trained: [Int: Calibrator.TrainedLayer] = [:]
    if case .layer(let layer) = part, let errors = file.metadata("trained").flatMap({ try? JSONValue(parsing: Array($0.utf8)) }),
      let before = errors["before"]?.double, let after = errors["after"]?.double
    {
      trained[layer] = Calibrator.TrainedLayer(before: before, after: after)
    }
    return Calibrator.Result(rounded: rounded, trained: trained)
  }

  /// Keeps a part that is done.
  func keep(_ part: Calibrator.Part, _ made: Calibrator.Result) throws(ConversionError) {
    let weights = made.rounded.sorted { $0.key < $1.key }
    let losses = weights.map { index, rounded in
      (
        key: "\(index)",
        value: rounded.error.map { JSONValue.object(JSONObject([("signal", .number($0.signal)), ("noise", .number($0.noise))])) } ?? .null
      )
    }
    var metadata = [(key: "losses", value: JSONValue.object(JSONObject(losses)).serialized())]
    if case .layer(let layer) = part, let errors = made.trained[layer] {
      let value = JSONValue.object(JSONObject([("before", .number(errors.before)), ("after", .number(errors.after))]))
      metadata.append((key: "trained", value: value.serialized()))
    }
    let tensors = weights.flatMap { index, rounded in
      [
        (name: "\(index).codes", dtype: DType.u8, shape: [rounded.weight.elements.count]),
        (name: "\(index).scales", dtype: DType.u8, shape: [rounded.weight.scales.count]),
      ]
    }
    try write(Self.name(of: part), tensors, metadata) { writer throws(CheckpointError) in
      for (_, rounded) in weights {
        try writer.append(rounded.weight.elements.bytes)
        try writer.append(rounded.weight.scales.bytes)
      }
    }
    if case .layer(let layer) = part { layers = max(layers, layer + 1) }
  }

  private static func name(of part: Calibrator.Part) -> String {
    switch part {
    case .tables: tables
    case .layer(let layer): name(of: layer)
    }
  }

  /// A whole file of this conversion; nil where there is none.
  private func open(_ name: String) throws(ConversionError) -> SealedFile? {
    guard isRegularFile(directory.path(of: name)),
      let file = try rethrow(as: ConversionError.checkpoint, SealedFile(path: directory.path(of: name)))
    else { return nil }
    guard file.metadata("identity") == identity else { throw .otherConversion(directory: path) }
    return file
  }

  private func bytes(_ name: String, of file: SealedFile) throws(ConversionError) -> Bytes? {
    try rethrow(as: ConversionError.checkpoint, file.checkpoint.bytes(name))
  }

  private func write(
    _ name: String, _ tensors: [(name: String, dtype: DType, shape: [Int])], _ metadata: [(key: String, value: String)],
    _ body: (inout SafetensorsWriter) throws(CheckpointError) -> Void
  ) throws(ConversionError) {
    do throws(CheckpointError) {
      _ = try SealedFile.write(
        tensors, metadata: [(key: "identity", value: identity)] + metadata, to: directory.path(of: name), body)
    } catch { throw .checkpoint(error) }
    directory.keep()
  }
}
