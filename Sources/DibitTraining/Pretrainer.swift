package import DibitKernels
package import DibitModel
internal import DibitTensor

/// Trains all weights of a float decoder on text, or an adapter over the weights of any.
package struct Pretrainer: ~Copyable {
  private let options: PretrainingOptions
  private let text: [Int32]
  private let trainsWeights: Bool
  private var loop: TrainingLoop<TextWindows>

  /// A trainer over a text of token ids; `validation` is held out. It takes the decoder, whose weights must be F32.
  ///
  /// - Parameters:
  ///   - start: The same weights rounded already, in the formats of the options' rounding, which moves scales: as which they begin.
  ///   - teacher: The model whose predictions the trained one's should be; nil to predict the text itself.
  /// - Throws: ``TrainingError/tooLittleText(tokens:needed:)``, or ``TrainingError/memoryLimit(given:least:)`` when the limit cannot be kept.
  package init(
    _ decoder: consuming Decoder, text: [Int32], validation: [Int32], options: PretrainingOptions, from start: DecoderWeights? = nil,
    teacher: TeacherModel? = nil, on compute: Compute
  ) throws(TrainingError) {
    let adapter = Adapter.none(for: decoder.weights)
    try self.init(
      decoder, adapter, trainsWeights: true, text: text, validation: validation, options: options, from: start, teacher: teacher,
      on: compute)
  }

  /// A trainer of a fresh adapter over `weights`, which stay as they are, towards the predictions of `teacher`; else as the other one.
  package init(
    adapting weights: DecoderWeights, of configuration: ModelConfiguration, _ adapter: AdapterConfiguration, text: [Int32],
    validation: [Int32], options: PretrainingOptions, teacher: TeacherModel, on compute: Compute
  ) throws(TrainingError) {
    try self.init(
      Decoder(configuration, weights: weights), Adapter(adapter, for: weights, seed: options.optimization.seed, on: compute),
      trainsWeights: false, text: text, validation: validation, options: options, from: nil, teacher: teacher, on: compute)
  }

  private init(
    _ decoder: consuming Decoder, _ adapter: consuming Adapter, trainsWeights: Bool, text: [Int32], validation: [Int32],
    options: PretrainingOptions, from start: DecoderWeights?, teacher: TeacherModel?, on compute: Compute
  ) throws(TrainingError) {
    guard text.count > options.sequenceLength + 1 else { throw .tooLittleText(tokens: text.count, needed: options.sequenceLength + 2) }
    let source = TextWindows(text, validation: validation, options: options)
    let (objective, bytes) = teacher?.objective(for: source.capacity, on: compute) ?? (.crossEntropy, 0)
    let loop = TrainingLoop(
      trainsWeights ? .weights : .adapter, source, decoder: decoder, adapter: adapter, trainsWeights: trainsWeights,
      options: options.optimization, from: start, objective: objective, besides: bytes, on: compute)
    try loop.plan.check(limit: options.optimization.memoryLimit)
    self.options = options
    self.text = text
    self.trainsWeights = trainsWeights
    self.loop = consume loop
  }

  /// Random weights for a configuration: normal with deviation 1/√in for matrices, smaller by √(2 layers) where a block adds to the
  /// residual stream; norms that leave what they normalise as it is, and biases of zero.
  package static func initialWeights(_ configuration: ModelConfiguration, seed: UInt64) -> DecoderWeights {
    var rng = SplitMix64(seed: seed, purpose: "pretrain.initialize")
    let residual = 1 / Float(2 * configuration.layers).squareRoot()
    return DecoderWeights(
      configuration,
      provide: { declaration in
        let (rows, columns) = (declaration.rows, declaration.columns)
        func constant(_ value: Float) -> Weight {
          Weight(rows: rows, columns: columns, values: [Float](repeating: value, count: rows * columns))
        }
        switch declaration.role {
        case .norm: return constant(configuration.norm == .rmsPlusOne ? 0 : 1)
        case .normBias, .linearBias: return constant(0)
        case .embedding, .positions, .head, .linear, .recovery:
          let deviation = (declaration.role.addsToResidualStream ? residual : 1) / Float(columns).squareRoot()
          return Weight(rows: rows, columns: columns, values: (0..<rows * columns).map { _ in rng.normal() * deviation })
        }
      }, provideScale: { _ in nil })
  }

  /// Replaces the random rows of the embedding, where a text tells what a token co-occurs with: see ``Cooccurrence``.
  ///
  /// `boundary` separates documents.
  package static func setEmbedding(
    of weights: inout DecoderWeights, from text: [Int32], boundary: Int32?, seed: UInt64, on compute: Compute
  ) {
    let embedding = weights.embedding
    let channels = embedding.weight.columns
    let cooccurrence = Cooccurrence().rows(
      of: text, vocabulary: embedding.weight.rows, dimension: channels, boundary: boundary, seed: seed, on: compute)
    weights.update(embedding.index) { parameter in
      let rows = cooccurrence.span
      parameter.weight.withMutableValues { values in
        for start in stride(from: 0, to: rows.count, by: channels) {
          let row = start..<start + channels
          if row.contains(where: { rows[$0] != 0 }) { for index in row { values[index] = rows[index] } }
        }
      }
    }
  }

  /// The number of trained parameters.
  package var parameterCount: Int { loop.parameters.elementCount }

  /// The memory of the run, by purpose.
  package var plan: MemoryPlan { loop.plan }

  /// Trains; `report` is told what happens and stops the run after a step by returning false.
  ///
  /// With `checkpoints`, the run goes on where the newest of them was written, and writes its own. Call it once.
  package mutating func run(checkpoints: CheckpointStore? = nil, report: (TrainingEvent) -> Bool = { _ in true }) throws(TrainingError)
    -> TrainingResult
  {
    let result = try loop.run(checkpoints: checkpoints, report: report)
    if trainsWeights, !result.wasInterrupted, loop.parameters.values.model.decoder.configuration.quantizesKeyValues { setKeyValueScales() }
    return result
  }

  /// The decoder, as ``run(checkpoints:report:)`` left it.
  package consuming func trainedDecoder() -> Decoder { loop.trainedDecoder() }

  /// The adapter, as ``run(checkpoints:report:)`` left it.
  package consuming func trainedAdapter() -> Adapter { loop.trainedAdapter() }

  /// Static int8 scales for keys and values: the largest magnitude seen in a last look at the text, over 127.
  private mutating func setKeyValueScales() {
    var rng = SplitMix64(seed: options.optimization.seed, purpose: "pretrain.calibrate")
    let layers = loop.parameters.values.model.decoder.configuration.keyValueLayers
    var (keys, values) = ([Float](repeating: 0, count: layers), [Float](repeating: 0, count: layers))
    for _ in 0..<4 * options.batchSize {
      let start = rng.below(text.count - options.sequenceLength)
      let magnitudes = loop.largestMagnitudes(Batch(text: text[start..<start + options.sequenceLength + 1]))
      for layer in 0..<layers {
        (keys[layer], values[layer]) = (max(keys[layer], magnitudes[layer].key), max(values[layer], magnitudes[layer].value))
      }
    }
    for layer in 0..<layers {
      loop.parameters.values.model.decoder.weights.keyValueScales[layer] = KeyValueScales(
        key: keys[layer] / 127, value: values[layer] / 127)
    }
  }
}
