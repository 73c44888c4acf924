internal import DibitCalibration
internal import DibitCheckpoint
internal import DibitFailure
internal import DibitKernels
internal import DibitModel
internal import DibitModelStore
internal import DibitQuantization
internal import DibitTensor

extension Converter {
  /// Returns this conversion with the bits of each tensor chosen for its budget, by what the rounding of each does to predictions on windows
  /// of text; and the choices.
  ///
  /// - Parameters:
  ///   - calibrates: True where rounding will be calibrated.
  ///   - store: keeps the choices, or has them already.
  func choosingBits(
    on windows: [[Int32]], calibrates: Bool, keepingIn store: CalibrationStore? = nil, _ progress: (ConversionProgress) -> Bool
  ) throws(ConversionError) -> (converter: Converter, choices: [BitChoice]) {
    guard let budget = options.budget else { return (self, []) }
    let plan = try ConversionPlan(source: source, tokenizer: options.tokenizer, scheme: options.scheme)
    let spare = try spare(of: budget, plan)
    if let kept = try store?.choices() { return (choosing(kept, plan), kept) }
    let (scheme, budgetsTables) = (options.scheme, options.budgetsTables)
    let opened = try rethrow(as: ConversionError.source, ModelSource.open(source))
    let declarations = try rethrow(as: ConversionError.source, opened.declarations().parameters)
    // As calibration runs them.
    let compute = Compute(isa: compute.isa, threads: compute.threads, floats: .bfloat16)
    let weights = try rethrow(as: ConversionError.source, opened.weights(inBFloat: compute.floats == .bfloat16))
    let meter = SensitivityMeter(
      opened.configuration, weights, windows: windows, options: calibrates ? Calibrator.Options() : nil, on: compute
    ) { parameter in
      guard budgetsTables || !parameter.role.isTable, let grid = scheme.format(of: parameter.name, parameter.role).grid else { return [] }
      return scheme.grids.filter { $0.bits >= grid.levels.bits }.map { Grid($0, group: grid.group) }
    }
    let sensitivities: [Sensitivity]
    do throws(CalibrationError<ConversionError>) {
      sensitivities = try meter.run(
        weights: { parameter throws(ConversionError) in
          try rethrow(as: ConversionError.source, opened.matrix(declarations[parameter.index])).floats(on: compute)
        }, progress: { progress(ConversionProgress(stage: .measuring(fraction: $0))) })
    } catch {
      switch error {
      case .source(let error): throw error
      case .notFinite(let tensor): throw .inputsNotFinite(tensor: tensor)
      case .spill(let error): throw .file(error)
      case .stopped: throw .interrupted
      }
    }
    let choices = BitAllocation(Self.candidates(sensitivities, weights, plan, scheme.family), spare: spare).choices
    try store?.keep(choices)
    return (choosing(choices, plan), choices)
  }

  /// This conversion with these bits.
  private func choosing(_ choices: [BitChoice], _ plan: ConversionPlan) -> Converter {
    var converter = self
    converter.options.budget = nil
    for choice in choices where choice.bits != plan.bits(of: choice.name) { converter.options.scheme.tensorBits[choice.name] = choice.bits }
    return converter
  }

  /// The bytes that a budget has beyond those of the model with as few bits as the scheme says.
  func spare(of budget: SizeBudget, _ plan: ConversionPlan) throws(ConversionError) -> Int {
    let report = ConversionReport(planned: plan, source: source, output: output)
    let least: Int
    let most: Double
    switch budget {
    case .bytes(let bytes):
      least = try rethrow(as: ConversionError.checkpoint, plan.byteCount())
      most = Double(bytes)
    case .bitsPerWeight(let bits):
      least = report.tensors.reduce(0) { $0 + $1.bytes }
      most = bits * Double(report.elements) / 8
    case .groups(let size):
      var scheme = options.scheme
      scheme.group = size
      least = try rethrow(as: ConversionError.checkpoint, plan.byteCount())
      let other = try ConversionPlan(source: source, tokenizer: options.tokenizer, scheme: scheme)
      // Short rows have as many scales in groups of any size, and names take a few bytes more.
      most = Double(max(least, try rethrow(as: ConversionError.checkpoint, other.byteCount())))
    }
    guard Double(least) <= most else {
      throw .budget(budget, leastBytes: least, leastBits: report.bitsPerWeight)
    }
    return Int(min(most, 0x1p60)) - least
  }

  /// The choices for each tensor: parameters that share one go together.
  private static func candidates(
    _ sensitivities: [Sensitivity], _ weights: DecoderWeights, _ plan: ConversionPlan, _ family: LevelFamily
  ) -> [BitAllocation.Candidate] {
    let divergences = Dictionary(grouping: sensitivities) { weights.parameters[$0.parameter].name.tensor }
    return plan.tensors.compactMap { tensor in
      guard let parts = divergences[tensor.name], let grid = tensor.stored.format.grid else { return nil }
      let levels = GridLevels.rows(family).filter { $0.bits >= grid.levels.bits }
      return BitAllocation.Candidate(
        name: tensor.name,
        choices: levels.indices.map { index in
          let stored = tensor.stored(as: .grid(Grid(levels[index], group: grid.group)))
          return (levels[index].bits, stored.byteCount, parts.reduce(0) { $0 + $1.divergences[index] })
        })
    }
  }
}

extension ConversionPlan {
  /// The bits that the scheme gives a tensor; nil where there is none of the name.
  fileprivate func bits(of name: String) -> Int? { tensors.first { $0.name == name }?.stored.format.bits }

  /// The bytes of the file of weights.
  fileprivate func byteCount() throws(CheckpointError) -> Int {
    try SafetensorsWriter.byteCount(of: tensors.flatMap(\.stored.declarations), metadata: Converter.metadata)
  }
}

extension PlannedTensor {
  /// The tensor in another format.
  fileprivate func stored(as format: WeightFormat) -> ModelTensor {
    ModelTensor(name: stored.name, shape: stored.shape, rows: stored.rows, columns: stored.columns, format: format)
  }
}
