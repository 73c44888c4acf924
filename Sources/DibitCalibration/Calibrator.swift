internal import BasicContainers
internal import DibitFiles
package import DibitKernels
package import DibitModel
package import DibitQuantization
package import DibitTensor

/// Rounds a model layer by layer, by what its inputs are on a text.
///
/// The text runs through the float model and through the model as far as it is rounded. Linear layers that read the same inputs are rounded
/// together, with the second moments of those inputs behind everything that is rounded already; then the rounded layers compute what the next
/// ones read. Weights are asked for when their layer's turn comes, and no other layer's floats are in memory then.
package struct Calibrator: Sendable {
  /// Counts the changes after which the same text makes something else of the same model: what was kept before one is not gone on with.
  package static let revision = 6

  let configuration: ModelConfiguration
  let batches: [[[Int32]]]
  /// The batches that layers are rounded on: all but those that tell how far their training has come.
  private let roundedBatches: [Int]
  let options: Options
  let compute: Compute
  let weights: DecoderWeights
  private let spill: String?
  let format: @Sendable (Parameter) -> WeightFormat

  /// A calibration on windows of text, each of which begins as a text begins.
  ///
  /// - Parameters:
  ///   - weights: all but the matrices, of which only shapes matter.
  ///   - windows: what layers are rounded and, where the options say so, trained on.
  ///   - spill: a path for files of streams that would take more than ``Options/mostStreamBytes``, where nothing is; nil where they stay in memory.
  ///   - format: what a matrix becomes; those that do not come to lie on a grid stay as they are.
  package init(
    _ configuration: ModelConfiguration, _ weights: DecoderWeights, windows: [[Int32]], options: Options, spillingTo spill: String? = nil,
    on compute: Compute, format: @escaping @Sendable (Parameter) -> WeightFormat
  ) {
    (self.configuration, self.weights, self.options, self.compute, self.format) = (configuration, weights, options, compute, format)
    self.spill = spill
    batches = Self.batches(windows, rows: options.rows)
    roundedBatches = options.training == nil ? Array(batches.indices) : BlockTrainer.split(batches.count).trained
  }

  /// Rounds all matrices that come to lie on a grid.
  ///
  /// - Parameters:
  ///   - provide: the float weight of a parameter.
  ///   - provideAll: the float model as a whole, as it is run, where errors of outputs are to make up for each other (see ``OutputFeedback``). Models of
  ///     more than two billion weights are not asked for.
  ///   - recall: what a calibration like this one made of a part before, which is then not rounded again; nil for a part that it did not
  ///     come to. The result is the same.
  ///   - keep: told what was made of each other part.
  ///   - isDone: told how far it is, at the end of each layer and often within; stops the calibration by returning false.
  package func run<E: Error>(
    weights provide: (Parameter) throws(E) -> Weight, all provideAll: (() throws(E) -> DecoderWeights)? = nil,
    recall: ((Part) throws(E) -> Result?)? = nil,
    keep: ((Part, Result) throws(E) -> Void)? = nil, progress isDone: (Progress) -> Bool = { _ in true }
  ) throws(CalibrationError<E>) -> Result {
    func recalled(_ part: Part) throws(CalibrationError<E>) -> Result? {
      do throws(E) { return try recall?(part) } catch { throw .source(error) }
    }
    func finish(_ part: Part, _ made: Result) throws(CalibrationError<E>) {
      do throws(E) { try keep?(part, made) } catch { throw .source(error) }
    }
    let provideAll = CalibrationCost(configuration).feedsBack ? provideAll : nil
    let tokens = batches.reduce(0) { $0 + $1.reduce(0) { $0 + $1.count } }
    var pace = CalibrationPace(configuration, tokens: tokens, batches: roundedBatches.count, options: options)
    func goesOn() -> Bool { isDone(pace.progress) }
    func did(_ work: CalibrationPace.Work) throws(RoundingFailure) {
      pace.add(work)
      guard goesOn() else { throw .stopped }
    }
    guard goesOn() else { throw .stopped }
    var result = Result()
    let texts =
      provideAll == nil ? [] : DrawnGradients.batches(of: batches.flatMap(\.self), texts: DrawnGradients.texts(ofTokens: tokens))
    // Those of the passages lie beside them.
    let streamBytes = byteCount(ofStreams: 2, of: batches)
    let feltSpill = self.spill(forBytes: streamBytes + byteCount(ofStreams: configuration.layers + 1, of: texts))
    var gradients: Streams?
    // Before there is anything else, so that the memory of both is not needed at once.
    if let provideAll, try recalled(.layer(configuration.layers - 1)) == nil {
      gradients = try findGradients(on: texts, in: feltSpill, of: provideAll) { () throws(RoundingFailure) in try did(.gradients) }
    }
    var floats = weights
    for parameter in weights.parameters where parameter.role.isTable { try load(parameter, into: &floats, provide) }
    var felt = FeltOutputs(Decoder(configuration, weights: floats), texts, gradients, in: feltSpill, on: compute)
    let limits = Self.limits(of: batches)
    var runner = ModelRunner(Decoder(configuration, weights: floats), limits, precision: .float32, on: compute)
    let tables = try recalled(.tables)
    if let tables {
      result = tables
    } else {
      try roundTables(floats, &runner, &result.rounded, provide, did)
      try finish(.tables, result)
    }
    pace.finishTables(areRecalled: tables != nil)
    let spill = self.spill(forBytes: streamBytes)
    var reference = Passage(Decoder(configuration, weights: floats), batches, in: spill, &runner)
    for (index, table) in result.rounded { floats.update(index) { $0.weight = table.weight } }
    var passage = Passage(Decoder(configuration, weights: floats), batches, in: spill, &runner)
    // Before minutes of work on them.
    if let failure = spill?.failure { throw .spill(failure) }
    reference.releaseTables()
    passage.releaseTables()
    var inputs = LastInputs(configuration, rows: limits.rows, mostBytes: options.mostInputBytes)
    for layer in 0..<configuration.layers {
      let linears = linears(of: layer)
      for parameter in linears {
        try load(parameter, into: &reference.decoder.weights, provide)
        passage.decoder.weights.update(parameter.index) { $0.weight = reference.decoder.weights.parameters[parameter.index].weight }
      }
      let kept = try recalled(.layer(layer))
      let feedback: [Int: [OutputFeedback]]
      do throws(RoundingFailure) {
        feedback = try felt.advance(
          behind: layer, reference.decoder.weights, findsFeedback: kept == nil, damping: options.outputDamping, on: compute
        ) { () throws(RoundingFailure) in try did(.felt) }
      } catch { throw error.calibrationError() }
      if let failure = felt.failure { throw .spill(failure) }
      if let made = kept {
        for (index, rounded) in made.rounded { passage.decoder.weights.update(index) { $0.weight = rounded.weight } }
        for branches in reference.decoder.steps(of: layer) { advance(&reference, batches.indices, layer, branches, &runner) }
        advance(&passage, behind: layer, &runner)
        result.merge(made)
      } else {
        let made: Result
        do throws(RoundingFailure) { made = try roundLayer(layer, feedback, &reference, &passage, &runner, &inputs, did) } catch {
          if let failure = spill?.failure { throw .spill(failure) }
          throw error.calibrationError()
        }
        if let failure = spill?.failure { throw .spill(failure) }
        try finish(.layer(layer), made)
        result.merge(made)
      }
      // The layer whose keys and values others attend to computes them again.
      for parameter in linears where layer != configuration.keyValueLayers - 1 {
        reference.decoder.weights.update(parameter.index) { $0.weight = parameter.weight }
        passage.decoder.weights.update(parameter.index) { $0.weight = parameter.weight }
      }
      pace.finishLayer(isRecalled: kept != nil)
      guard goesOn() else { throw .stopped }
    }
    return result
  }

  /// Finds the gradients that tell outputs how predictions feel their errors; see ``FeltOutputs/gradients(_:_:of:in:on:did:)``.
  private func findGradients<E: Error>(
    on texts: [[[Int32]]], in spill: StreamSpill?, of provideAll: () throws(E) -> DecoderWeights, did: () throws(RoundingFailure) -> Void
  ) throws(CalibrationError<E>) -> Streams {
    let weights: DecoderWeights
    do throws(E) { weights = try provideAll() } catch { throw .source(error) }
    let found: Streams
    do throws(RoundingFailure) {
      found = try FeltOutputs.gradients(configuration, weights, of: texts, in: spill, on: compute, did: did)
    } catch { throw error.calibrationError() }
    if let failure = spill?.failure { throw .spill(failure) }
    return found
  }

  /// Bytes of so many streams of each batch.
  private func byteCount(ofStreams count: Int, of batches: [[[Int32]]]) -> Int {
    count * Streams.byteCount(rows: batches.map { $0.reduce(0) { $0 + $1.count } }, columns: configuration.hiddenSize)
  }

  /// Files for streams, where there are too many bytes.
  private func spill(forBytes bytes: Int) -> StreamSpill? {
    guard let spill, bytes > options.mostStreamBytes else { return nil }
    return StreamSpill(path: spill)
  }

  /// Takes some batches of a passage behind branches of a layer.
  private func advance(
    _ passage: inout Passage, _ batches: some Sequence<Int>, _ layer: Int, _ branches: Range<Int>, _ runner: inout ModelRunner
  ) {
    for batch in batches {
      passage.run(batch, layer: layer, branches: branches, &runner)
      passage.advance(batch, layer: layer, branches: branches, runner)
    }
  }

  /// Takes the passage of the rounded model behind a layer that is done.
  private func advance(_ passage: inout Passage, behind layer: Int, _ runner: inout ModelRunner) {
    // What was trained ran as a whole.
    let steps = options.training == nil ? passage.decoder.steps(of: layer) : [0..<2]
    for branches in steps { advance(&passage, batches.indices, layer, branches, &runner) }
  }

  /// Trains a layer that is rounded; false where `goesOn` stopped it.
  private func train(
    _ layer: Int, _ reference: borrowing Passage, _ passage: inout Passage, _ result: inout Result, while goesOn: () -> Bool
  ) -> Bool {
    // What lies on the grid is what it is to be.
    let parameters = linears(of: layer).filter { result.rounded[$0.index]?.error?.noise ?? 0 > 0 }
    if let training = options.training, !parameters.isEmpty {
      let floats = parameters.map { ($0.index, reference.decoder.weights.parameters[$0.index].weight.floats(on: compute)) }
      let limits = Self.limits(of: batches)
      var trainer = BlockTrainer(
        passage.decoder, layer: layer, targets: Dictionary(uniqueKeysWithValues: floats), rows: limits.rows, segments: limits.segments,
        options: training, on: compute)
      guard let trained = trainer.run(&passage, towards: reference, batches: batches.count, while: goesOn) else { return false }
      result.trained[layer] = trained
      for parameter in parameters {
        result.rounded[parameter.index] = Rounded(weight: passage.decoder.weights.parameters[parameter.index].weight, error: nil)
      }
    }
    return true
  }

  /// The first windows, until they have so many tokens.
  static func first(_ tokens: Int, of windows: [[Int32]]) -> [[Int32]] {
    var count = 0
    return windows.prefix { window in
      defer { count += window.count }
      return count < tokens
    }
  }

  /// Windows that go through the model together.
  static func batches(_ windows: [[Int32]], rows: Int) -> [[[Int32]]] {
    var batches: [[[Int32]]] = []
    var count = 0
    for window in windows where !window.isEmpty {
      if batches.isEmpty || count + window.count > rows {
        batches.append([])
        count = 0
      }
      batches[batches.count - 1].append(window)
      count += window.count
    }
    return batches
  }

  /// The sizes of a runner of such batches.
  static func limits(of batches: [[[Int32]]]) -> ModelRunner.Limits {
    ModelRunner.Limits(rows: batches.map { $0.reduce(0) { $0 + $1.count } }.max() ?? 1, segments: batches.map(\.count).max() ?? 1)
  }

  /// The linear layers of a layer.
  func linears(of layer: Int) -> [Parameter] { LinearKind.allCases.compactMap { weights.linear($0, layer) } }

  func load<E: Error>(
    _ parameter: Parameter, into weights: inout DecoderWeights, _ provide: (Parameter) throws(E) -> Weight
  ) throws(CalibrationError<E>) {
    let weight: Weight
    do throws(E) { weight = try provide(parameter) } catch { throw .source(error) }
    weights.update(parameter.index) { $0.weight = weight }
  }

  func isRounded(_ parameter: Parameter) -> Bool { format(parameter).grid != nil }

  /// Rounds a layer, trains it where the options have that, and takes both models behind it.
  private func roundLayer(
    _ layer: Int, _ feedback: [Int: [OutputFeedback]], _ reference: inout Passage, _ passage: inout Passage, _ runner: inout ModelRunner,
    _ inputs: inout LastInputs, _ did: (CalibrationPace.Work) throws(RoundingFailure) -> Void
  ) throws(RoundingFailure) -> Result {
    var made = Result()
    let before = options.training == nil ? nil : passage.streams.copied()
    for branches in reference.decoder.steps(of: layer) {
      try roundFirst(layer, branches, reference, &passage, &runner, feedback, &made.rounded, did)
      try roundLast(layer, branches, &reference, &passage, &runner, &inputs, feedback, &made.rounded, did)
      advance(&reference, batches.indices.filter { !roundedBatches.contains($0) }, layer, branches, &runner)
    }
    if let before {
      passage.streams = before
      let isTrained = train(layer, reference, &passage, &made) {
        do throws(RoundingFailure) { try did(.step) } catch { return false }
        return true
      }
      guard isTrained else { throw .stopped }
      advance(&passage, behind: layer, &runner)
    }
    return made
  }

  /// Rounds the layers that read what branches read of the residual stream.
  private func roundFirst(
    _ layer: Int, _ branches: Range<Int>, _ reference: borrowing Passage, _ passage: inout Passage, _ runner: inout ModelRunner,
    _ feedback: [Int: [OutputFeedback]], _ rounded: inout [Int: Rounded], _ did: (CalibrationPace.Work) throws(RoundingFailure) -> Void
  ) throws(RoundingFailure) {
    for branch in branches {
      let parameters = reference.decoder.linears(of: layer, branch: branch).first.filter(isRounded)
      guard !parameters.isEmpty else { continue }
      var moments = SecondMoments(columns: configuration.hiddenSize, isCompared: true)
      var inputs = Matrix(rows: runner.capacity, columns: configuration.hiddenSize)
      var others = Matrix(rows: runner.capacity, columns: configuration.hiddenSize)
      for batch in roundedBatches {
        reference.read(batch, layer: layer, branch: branch, &runner)
        others.setRows(runner.hidden.rows)
        others.copy(runner.hidden)
        passage.read(batch, layer: layer, branch: branch, &runner)
        inputs.setRows(runner.hidden.rows)
        inputs.copy(runner.hidden)
        if let loud = options.training?.loudWeightOfRounding {
          let shares = reference.weights(batch, ofLoud: loud).map { $0.squareRoot() }
          inputs.multiplyRows(by: shares, on: compute)
          others.multiplyRows(by: shares, on: compute)
        }
        others.subtract(inputs, on: compute)
        moments.add(inputs, lacking: others, on: compute)
        try did(.pass)
      }
      let rounding = try factored(moments, for: parameters)
      for parameter in parameters {
        try round(parameter, rounding, moments, feedback, &passage.decoder.weights, &rounded)
        try did(.rounding(parameter))
      }
    }
  }

  /// Rounds the last layers of branches, and takes both models behind them.
  private func roundLast(
    _ layer: Int, _ branches: Range<Int>, _ reference: inout Passage, _ passage: inout Passage, _ runner: inout ModelRunner,
    _ kept: inout LastInputs, _ feedback: [Int: [OutputFeedback]], _ rounded: inout [Int: Rounded],
    _ did: (CalibrationPace.Work) throws(RoundingFailure) -> Void
  ) throws(RoundingFailure) {
    let parameters = branches.map { reference.decoder.linears(of: layer, branch: $0).last }
    // Behind a norm what is added is no longer a product.
    let addsDirectly = branches.map { reference.decoder.addsDirectly(layer: layer, branch: $0) }
    let kinds = parameters.map(\.role).compactMap { if case .linear(let kind) = $0 { kind } else { nil } }
    let (expected, found) = (LinearRecorder(outputs: kinds), LinearRecorder(inputs: kinds, outputs: kinds))
    var lost = Matrix(rows: 0, columns: 0)
    kept.removeAll(branches: branches.count)
    let keepsInputs = parameters.allSatisfy(isRounded) && compute.activations != .float
    var moments = UniqueArray<SecondMoments>()
    for parameter in parameters { moments.append(SecondMoments(columns: parameter.weight.columns, outputs: parameter.weight.rows)) }
    for batch in roundedBatches {
      passage.difference(from: reference, batch, into: &lost, on: compute)
      runner.observe(with: expected)
      reference.run(batch, layer: layer, branches: branches, &runner)
      reference.advance(batch, layer: layer, branches: branches, runner)
      guard parameters.contains(where: isRounded) else { continue }
      runner.observe(with: found)
      passage.run(batch, layer: layer, branches: branches, &runner)
      // What is added to the stream is normalised with it, so that an error counts by the size of its row.
      var shares = reference.inverseNorms(batch)
      if let loud = options.training?.loudWeightOfRounding {
        shares = zip(shares, reference.weights(batch, ofLoud: loud)).map { $0 * $1.squareRoot() }
      }
      lost.multiplyRows(by: shares.map { $0 * options.streamCorrection }, on: compute)
      for (index, kind) in kinds.enumerated() {
        expected.withOutputs(kind) { missing in
          // The weight is the same in both passes, so that this is what it makes of all that the inputs lack.
          found.withOutputs(kind) { missing.subtract($0, on: compute) }
          missing.multiplyRows(by: shares.map { $0 * options.inputCorrection }, on: compute)
          if addsDirectly[index] { missing.add(lost, on: compute) }
          found.withInputs(kind) { inputs in
            if keepsInputs { kept.add(inputs, on: compute) }
            inputs.multiplyRows(by: shares, on: compute)
            moments[index].add(inputs, missing: missing, on: compute)
          }
        }
      }
      for _ in branches { try did(.pass) }
    }
    runner.observe(with: nil)
    for index in parameters.indices where isRounded(parameters[index]) {
      let rounding = try factored(moments[index], for: [parameters[index]])
      try round(parameters[index], rounding, moments[index], feedback, &passage.decoder.weights, &rounded)
      try did(.rounding(parameters[index]))
    }
    for (index, batch) in roundedBatches.enumerated() {
      if index < kept.batches {
        passage.finish(batch, layer: layer, branches: branches, with: kept.inputs.span.extracting(kept.range(of: index)), &runner)
      } else {
        passage.run(batch, layer: layer, branches: branches, &runner)
      }
      passage.advance(batch, layer: layer, branches: branches, runner)
    }
  }
}
