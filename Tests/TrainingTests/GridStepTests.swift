import BasicContainers
import DibitKernels
import DibitModel
import DibitModelStore
import DibitQuantization
import DibitTensor
import DibitTestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@testable import DibitTraining

/// Training on the grid, step by step, against what it means: gradients of the rounded weights move float masters, which are rounded anew.
@Suite struct GridStepTests {
  @Test("masters move by AdamW along the gradient of the rounded weights, which lie on the grid after each step", arguments: [2, 3, 4])
  func steps(bits: Int) throws {
    let training = try TrainingCase("llama")
    let compute = Compute(threads: 2, usesBLAS: false, activations: .float, gradients: .float)
    var options = OptimizationOptions()
    var scheme = QuantizationScheme()
    (scheme.bits, scheme.group) = (bits, 32)
    options.rounding = TrainedRounding(scheme)
    var start = training.model.weights
    start.updateEach { $0.weight = $0.weight.floats(on: compute) }
    let batch = Batch(training.examples.prefix(3))
    var parameters = TrainedParameters(
      decoder: Decoder(training.model.configuration, weights: start), adapter: .none(for: start), trainsWeights: true, options: options,
      on: compute)
    parameters.update(on: compute)
    let list = parameters.values.list
    var engine = StepEngine(
      parameters.values.model.decoder, rows: batch.tokens.count, sequences: 3, adapter: nil, training: list, on: compute)
    var reference = start.parameters.map { Reference($0, options.optimizer) }
    for step in 1...3 {
      engine.clearGradients()
      var sums = LossSums()
      _ = engine.accumulate(
        batch, parameters.values.model.decoder, adapter: &parameters.values.adapter, total: batch.totalWeight, losses: &sums)
      let gradients = engine.withGradients { gradients in list.entries.indices.map { gradients.values[$0].values } }
      let expected = gradientsOfFloats(parameters.values.model.decoder.weights, training.model.configuration, batch, on: compute)
      for parameter in start.parameters {
        let error = relativeNorm(gradients[parameter.index], expected[parameter.index])
        #expect(error <= 2e-5, "step \(step), \(parameter.name.tensor): \(error)")
      }
      engine.withGradients { parameters.step($0, learningRate: 1e-2, step: step, gradientScale: 0.5, on: compute) }
      for parameter in start.parameters {
        reference[parameter.index].step(gradients[parameter.index], rate: 1e-2, step: step, gradientScale: 0.5)
        let trained = parameters.values.model.trained.parameters[parameter.index].weight
        let master = Self.values(trained)
        let error = relativeNorm(master, reference[parameter.index].values.map { Float($0) })
        #expect(error <= 1e-6, "step \(step), \(parameter.name.tensor): \(error)")
        let weight = parameters.values.model.decoder.weights.parameters[parameter.index].weight
        let rounded = Self.values(weight.floats(on: compute))
        if let grid = weight.format.grid {
          #expect(
            isNearest(
              rounded, to: master, columns: weight.columns, bits: grid.levels.bits, group: grid.groupLength(columns: weight.columns)),
            "step \(step), \(parameter.name.tensor)")
        } else {
          #expect(!parameter.isMatrix && rounded == master, "step \(step), \(parameter.name.tensor)")
        }
      }
    }
  }

  @Test("training begins with the codes that calibration chose, under scales of either sign", arguments: LevelFamily.allCases)
  func begins(family: LevelFamily) throws {
    let training = try TrainingCase("llama")
    let compute = Compute(threads: 2)
    var scheme = QuantizationScheme()
    (scheme.group, scheme.family) = (32, family)
    var floats = training.model.weights
    floats.updateEach { $0.weight = $0.weight.floats(on: compute) }
    // What other floats are rounded to: calibration moves a part of them to another level.
    var rng = SplitMix64(seed: 3)
    var others = floats
    others.updateEach { parameter in
      let (scale, values) = (parameter.weight.values[0], Self.values(parameter.weight))
      let moved = values.map { $0 + (rng.below(4) == 0 ? 0.5 * scale * rng.normal() : 0) }
      parameter.weight = Weight(rows: parameter.weight.rows, columns: parameter.weight.columns, values: moved)
    }
    let chosen = others.rounded(to: scheme, on: compute)
    var model = TrainedModel(
      Decoder(training.model.configuration, weights: floats), rounding: TrainedRounding(scheme, movesScales: true), from: chosen,
      on: compute)
    model.round(on: compute)
    var negative = 0
    for parameter in chosen.parameters where parameter.weight.isPacked {
      let found = model.decoder.weights.parameters[parameter.index].weight
      #expect(
        Self.values(found.floats(on: compute)) == Self.values(parameter.weight.floats(on: compute)), "\(parameter.name.tensor)")
      negative += (0..<found.rows).count { found.scale(row: $0, group: 0) < 0 }
    }
    #expect((negative > 100) == (family != .symmetric), "\(negative)")
  }

  @Test("weights and scales are moved, and the decoder's weights are what they say")
  func entries() throws {
    let training = try TrainingCase("llama")
    let compute = Compute(threads: 2, usesBLAS: false, activations: .float, gradients: .float)
    var options = OptimizationOptions()
    (options.learningRate, options.scaleLearningRate) = (0.5, 0.02)
    options.rounding = TrainedRounding(QuantizationScheme(), movesScales: true)
    var start = training.model.weights
    start.updateEach { $0.weight = $0.weight.floats(on: compute) }
    let batch = Batch(training.examples.prefix(3))
    var parameters = TrainedParameters(
      decoder: Decoder(training.model.configuration, weights: start), adapter: .none(for: start), trainsWeights: true, options: options,
      optimizer: GradientDescent(), on: compute)
    parameters.update(on: compute)
    let list = parameters.values.list
    var engine = StepEngine(
      parameters.values.model.decoder, rows: batch.tokens.count, sequences: 3, adapter: nil, training: list, on: compute)
    let before = numbers(&parameters)
    let first = parameters.values.model.decoder.weights
    engine.clearGradients()
    var sums = LossSums()
    _ = engine.accumulate(
      batch, parameters.values.model.decoder, adapter: &parameters.values.adapter, total: batch.totalWeight, losses: &sums)
    let dense = gradientsOfFloats(first, training.model.configuration, batch, on: compute)
    engine.updateGradients { parameters.finish(&$0, on: compute) }
    let gradients = engine.withGradients { gradients in list.entries.indices.map { gradients.values[$0].values } }
    engine.withGradients { parameters.step($0, learningRate: 0.5, step: 1, gradientScale: 1, on: compute) }
    let after = numbers(&parameters)
    for (index, entry) in list.entries.enumerated() {
      let moved = zip(after[index], before[index]).map { $0 - $1 }
      guard case .logScale(let parameter, _) = entry.role else {
        // Norms move as ever.
        if case .weight(let parameter, let role) = entry.role, !role.isMatrix {
          #expect(relativeNorm(moved, dense[parameter].map { -0.5 * $0 }) <= 1e-4, "\(entry.name)")
        }
        continue
      }
      let weight = first.parameters[parameter].weight
      let rounded = Self.values(weight.floats(on: compute))
      var expected = [Float](repeating: 0, count: entry.rows * entry.columns)
      for (element, gradient) in dense[parameter].enumerated() {
        expected[element / weight.columns * entry.columns + element % weight.columns / 64] += gradient * rounded[element]
      }
      #expect(relativeNorm(gradients[index], expected) <= 1e-4, "\(entry.name)")
      #expect(zip(moved, gradients[index]).allSatisfy { abs($0 + 0.02 * $1) <= 1e-5 }, "\(entry.name)")
    }
    for parameter in parameters.values.model.decoder.weights.parameters where parameter.weight.isPacked {
      let weight = parameter.weight
      let scale = { (element: Int) in Float(weight.scale(row: element / weight.columns, group: element % weight.columns / 64)) }
      let scales = try #require(list.logScale(parameter.index))
      for (group, log) in after[scales].enumerated() {
        let stored = Float(weight.scale(row: group / list.entries[scales].columns, group: group % list.entries[scales].columns))
        // All bits that F16 has.
        #expect(abs(stored / exp(log) - 1) <= 0x1p-10, "\(parameter.name.tensor)")
      }
      let wanted = after[try #require(list.weight(parameter.index))]
      let rounded = Self.values(weight.floats(on: compute))
      // Each is the nearest level, or the last one.
      let last: Float = (Float(1 << (weight.format.grid?.levels.bits ?? 2)) - 1) / 2
      #expect(
        wanted.indices.allSatisfy {
          abs(wanted[$0] - rounded[$0]) <= scale($0) * 0.5001 || abs(rounded[$0]) >= scale($0) * (last - 0.001)
        }, "\(parameter.name.tensor)")
    }
  }

  @Test("scales alone are moved where codes are fixed, and norms", arguments: [ProductPrecision.float, .bfloat16])
  func scales(gradients kind: ProductPrecision) throws {
    let training = try TrainingCase("llama")
    let compute = Compute(threads: 2, usesBLAS: false, activations: .float, gradients: kind)
    var options = OptimizationOptions()
    (options.learningRate, options.scaleLearningRate) = (0.5, 1)
    options.rounding = TrainedRounding(QuantizationScheme(), codes: .fixed)
    let start = training.model.weights.rounded(to: QuantizationScheme(), on: compute)
    let batch = Batch(training.examples.prefix(3))
    var parameters = TrainedParameters(
      decoder: Decoder(training.model.configuration, weights: start), adapter: .none(for: start), trainsWeights: true, options: options,
      optimizer: GradientDescent(), on: compute)
    parameters.update(on: compute)
    let list = parameters.values.list
    // No copy of what is rounded, and no gradient.
    #expect(list.entries.allSatisfy { if case .logScale = $0.role { true } else { $0.rows == 1 } })
    #expect(start.parameters.allSatisfy { $0.role.isTable ? list.logScale($0.index) == nil : true })
    var engine = StepEngine(
      parameters.values.model.decoder, rows: batch.tokens.count, sequences: 3, adapter: nil, training: list, on: compute)
    let before = numbers(&parameters)
    let first = parameters.values.model.decoder.weights
    var sums = LossSums()
    for _ in 0..<2 {
      // Gradients of batches add up.
      _ = engine.accumulate(
        batch, parameters.values.model.decoder, adapter: &parameters.values.adapter, total: 2 * batch.totalWeight, losses: &sums)
    }
    let dense = gradientsOfFloats(first, training.model.configuration, batch, on: compute)
    engine.updateGradients { parameters.finish(&$0, on: compute) }
    let gradients = engine.withGradients { gradients in list.entries.indices.map { gradients.values[$0].values } }
    engine.withGradients { parameters.step($0, learningRate: 0.5, step: 1, gradientScale: 1, on: compute) }
    let after = numbers(&parameters)
    let limit = kind == .float ? 1e-4 : 0.03
    for (index, entry) in list.entries.enumerated() {
      let moved = zip(after[index], before[index]).map { $0 - $1 }
      switch entry.role {
      case .logScale(let parameter, _):
        let weight = first.parameters[parameter].weight
        let rounded = Self.values(weight.floats(on: compute))
        var expected = [Float](repeating: 0, count: entry.rows * entry.columns)
        for (element, gradient) in dense[parameter].enumerated() {
          let (row, column) = (element / weight.columns, element % weight.columns)
          expected[row * entry.columns + column / 64] += gradient * rounded[element]
        }
        #expect(relativeNorm(gradients[index], expected) <= limit, "\(entry.name)")
        #expect(zip(moved, gradients[index]).allSatisfy { abs($0 + $1) <= 1e-5 }, "\(entry.name)")
        let now = Self.values(parameters.values.model.decoder.weights.parameters[parameter].weight.floats(on: compute))
        // A scale is positive, so that signs tell codes on both sides of zero apart.
        #expect(zip(now, rounded).allSatisfy { ($0 > 0) == ($1 > 0) } && now != rounded, "\(entry.name)")
      case .weight(let parameter, _):
        #expect(relativeNorm(moved, dense[parameter].map { -0.5 * $0 }) <= limit, "\(entry.name)")
      default: Issue.record("\(entry.name)")
      }
    }
    for parameter in parameters.values.model.decoder.weights.parameters where parameter.role.isTable {
      let now = Self.values(parameter.weight.floats(on: compute))
      #expect(now == Self.values(first.parameters[parameter.index].weight.floats(on: compute)), "\(parameter.name.tensor)")
    }
  }

  private func numbers(_ parameters: inout TrainedParameters) -> [[Float]] {
    var all: [[Float]] = []
    parameters.values.forEach { _, numbers in all.append(numbers.indices.map { numbers[$0] }) }
    return all
  }

  private static func values(_ weight: Weight) -> [Float] {
    let span = weight.values
    return [Float](copying: span)
  }

  /// AdamW (Loshchilov and Hutter, 2019) of one tensor, in doubles.
  private struct Reference {
    var values: [Double]
    private var mean: [Double]
    private var square: [Double]
    private let optimizer: AdamW
    private let decay: Double

    init(_ parameter: Parameter, _ optimizer: AdamW) {
      values = GridStepTests.values(parameter.weight).map(Double.init)
      (mean, square) = (values.map { _ in 0 }, values.map { _ in 0 })
      self.optimizer = optimizer
      decay = parameter.isMatrix ? Double(optimizer.weightDecay) : 0
    }

    mutating func step(_ gradient: [Float], rate: Double, step: Int, gradientScale: Double) {
      let (beta1, beta2) = (Double(optimizer.beta1), Double(optimizer.beta2))
      func power(_ base: Double) -> Double { (0..<step).reduce(1) { product, _ in product * base } }
      for i in values.indices {
        let g = Double(gradient[i]) * gradientScale
        mean[i] = beta1 * mean[i] + (1 - beta1) * g
        square[i] = beta2 * square[i] + (1 - beta2) * g * g
        let update = mean[i] / (1 - power(beta1)) / ((square[i] / (1 - power(beta2))).squareRoot() + Double(optimizer.epsilon))
        values[i] -= rate * (update + decay * values[i])
      }
    }
  }

  /// The gradients of a decoder whose weights are those numbers, as floats that know of no grid.
  private func gradientsOfFloats(_ weights: DecoderWeights, _ configuration: ModelConfiguration, _ batch: Batch, on compute: Compute)
    -> [[Float]]
  {
    var floats = weights
    floats.updateEach { $0.weight = $0.weight.floats(on: compute) }
    let decoder = Decoder(configuration, weights: floats)
    let list = TrainableList(floats, adapter: nil, includesWeights: true)
    var engine = StepEngine(
      decoder, rows: batch.tokens.count, sequences: batch.lengths.count, adapter: nil, training: list, on: compute)
    var sums = LossSums()
    var none = Adapter.none(for: floats)
    _ = engine.accumulate(batch, decoder, adapter: &none, total: batch.totalWeight, losses: &sums)
    return engine.withGradients { gradients in list.entries.indices.map { gradients.values[$0].values } }
  }

  /// Whether each group of `values` has levels `(2 j + 1) s / 2` of one scale, and each element the one nearest to its master.
  private func isNearest(_ values: [Float], to masters: [Float], columns: Int, bits: Int, group: Int) -> Bool {
    for row in stride(from: 0, to: values.count, by: columns) {
      for first in stride(from: row, to: row + columns, by: group) {
        let part = first..<min(first + group, row + columns)
        // The scale is not looked up: half of it divides all levels an odd number of times.
        let least = part.map { abs(values[$0]) }.min() ?? 0
        let most = 1 << bits
        let fits = stride(from: 1, to: most, by: 2).contains { odd in
          let half = least / Float(odd)
          return part.allSatisfy { index in
            let level = values[index] / half
            guard level == level.rounded(), abs(level) < Float(most), Int(level) % 2 != 0 else { return false }
            let nearest = min(max(((masters[index] / half - 1) / 2).rounded() * 2 + 1, Float(1 - most)), Float(most - 1))
            return abs(masters[index] - values[index]) <= abs(masters[index] - nearest * half) * (1 + 1e-5)
          }
        }
        guard fits else { return false }
      }
    }
    return true
  }
}

extension DecoderWeights {
  /// These weights in the formats of a scheme.
  func rounded(to scheme: QuantizationScheme, on compute: Compute) -> DecoderWeights {
    var weights = self
    weights.updateEach { parameter in
      let floats = parameter.weight.floats(on: compute)
      let format = scheme.format(of: parameter.name, parameter.role)
      parameter.weight = floats
      guard format.grid != nil else { return }
      parameter.weight = Weight(zerosWithRows: floats.rows, columns: floats.columns, format: format)
      GridQuantization.round(floats, into: &parameter.weight, on: compute)
    }
    return weights
  }
}
