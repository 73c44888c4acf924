@testable import DibitCalibration
import DibitConversion
import DibitFiles
import DibitKernels
import DibitModel
import DibitModelStore
import DibitQuantization
import DibitTensor
import DibitTestSupport
import Testing

/// Conversion by what the inputs of layers are, on whole models.
@Suite struct CalibrationTests {
  /// Random windows of text in tokens.
  private func windows(_ count: Int, of length: Int, vocabulary: Int, seed: UInt64) -> [[Int32]] {
    var rng = SplitMix64(seed: seed)
    return (0..<count).map { _ in (0..<length).map { _ in Int32(rng.below(vocabulary)) } }
  }

  private func calibrated(
    _ source: String, _ output: String, _ scheme: QuantizationScheme, _ windows: [[Int32]],
    threads: Int = 2, trainsLayers: Bool = false
  ) throws -> ConversionReport {
    var options = ConversionOptions()
    (options.scheme, options.trainsLayers) = (scheme, trainsLayers)
    return try Converter(source: source, output: output, options: options, on: Compute(threads: threads))
      .run(calibratingOn: windows)
  }

  /// The sum of squared differences of the residual stream behind all layers, over rows.
  private func distance(_ path: String, from source: String, _ windows: [[Int32]]) throws -> Double {
    func stream(_ path: String) throws -> [Float] {
      let model = try ModelSource.open(path)
      let decoder = Decoder(model.configuration, weights: try model.weights())
      var runner = ModelRunner(
        decoder, ModelRunner.Limits(rows: windows[0].count, segments: 1), precision: .float32, on: compute)
      var all: [Float] = []
      for window in windows {
        runner.removeAll()
        runner.append(window.span, start: 0)
        decoder.forward(&runner)
        all += runner.hidden.values
      }
      return all
    }
    return zip(try stream(path), try stream(source)).reduce(0) { $0 + Double($1.0 - $1.1) * Double($1.0 - $1.1) }
  }

  @Test("work grows with the text, the sweeps and what is trained; texts are written by all weights for each token")
  func cost() throws {
    let scratch = Scratch()
    let configuration = try ModelSource.open(LayoutTests.anySource("llama", in: scratch)).configuration
    func operations(_ add: (inout CalibrationCost) -> Void) -> Double {
      var cost = CalibrationCost(configuration)
      add(&cost)
      return cost.operations
    }
    let weights = DecoderWeights.declarations(of: configuration).parameters.filter(\.isMatrix).reduce(0) { $0 + $1.rows * $1.columns }
    // An embedding that is the head too is one of them; one beside it is not multiplied.
    let multiplied = configuration.tiesEmbeddings ? weights : weights - configuration.vocabularySize * configuration.hiddenSize
    #expect(operations { $0.addScaleTraining(tokens: 10) } == 80 * Double(multiplied))
    #expect(operations { $0.addWriting(tokens: 20) } == 2 * operations { $0.addWriting(tokens: 10) })
    let options = Calibrator.Options()
    var other = options
    other.sweeps += 1
    let least = operations { $0.addRounding(tokens: 1000, options: options) }
    #expect(least > operations { $0.addRounding(tokens: 500, options: options) })
    #expect(operations { $0.addRounding(tokens: 1000, options: other) } > least)
    other = options
    other.training = Calibrator.TrainingOptions()
    #expect(operations { $0.addRounding(tokens: 1000, options: other) } > least)
    #expect(operations { $0.addMeasurement() } > 0)
    var cost = CalibrationCost(configuration)
    #expect(cost.seconds(on: compute) == 0)
    cost.addScaleTraining(tokens: 1000)
    #expect(cost.seconds(on: compute) > 0)
  }

  @Test(
    "a calibrated model is nearer to its source on other texts than a rounded one, in every family",
    arguments: LayoutTests.allFamilies)
  func families(family: String) throws {
    let scratch = Scratch()
    let source = try LayoutTests.anySource(family, in: scratch)
    let vocabulary = try ModelSource.open(source).configuration.vocabularySize
    let scheme = scheme(2, group: 32)
    try convert(source, scratch("nearest"), scheme)
    let report = try calibrated(
      source, scratch("calibrated"), scheme, windows(40, of: 24, vocabulary: vocabulary, seed: 1))
    #expect(report.tensors.contains { $0.error != nil } && report.layers.isEmpty)
    let held = windows(8, of: 24, vocabulary: vocabulary, seed: 2)
    let (nearest, found) = (
      try distance(scratch("nearest"), from: source, held), try distance(scratch("calibrated"), from: source, held)
    )
    #expect(found < 0.9 * nearest, "\(found), nearest \(nearest)")
  }

  @Test(
    "training brings the stream behind each layer nearer to the float model's, in every family",
    arguments: LayoutTests.allFamilies)
  func layers(family: String) throws {
    let scratch = Scratch()
    let source = try LayoutTests.anySource(family, in: scratch)
    let model = try ModelSource.open(source)
    let (configuration, weights, scheme) = (model.configuration, try model.weights(), scheme(2, group: 32))
    var options = Calibrator.Options()
    options.training = Calibrator.TrainingOptions()
    options.training?.steps = 200
    options.training?.scaleRate = 1e-2
    let text = windows(40, of: 24, vocabulary: configuration.vocabularySize, seed: 1)
    let calibrator = Calibrator(configuration, weights, windows: text, options: options, on: compute) {
      scheme.format(of: $0.name, $0.role)
    }
    let result = try calibrator.run(weights: { $0.weight.floats(on: compute) })
    #expect(result.trained.keys.sorted() == Array(0..<configuration.layers))
    for (layer, loss) in result.trained {
      #expect(loss.after <= loss.before, "layer \(layer): \(loss.before), \(loss.after)")
    }
    // Where no step helped a layer stays as it was rounded; that is not so for all.
    #expect(result.trained.values.contains { $0.after < 0.98 * $0.before }, "\(result.trained)")
    // What is trained has no error of its own any more; the tables, which are not, have theirs.
    for parameter in weights.parameters where parameter.isMatrix {
      let rounded = try #require(result.rounded[parameter.index])
      #expect(rounded.weight.format == scheme.format(of: parameter.name, parameter.role))
      #expect((rounded.error == nil) == !parameter.role.isTable)
    }
  }

  @Test("training leaves the codes of a trellis as they were chosen, and moves its scales")
  func layersOnATrellis() throws {
    let scratch = Scratch()
    let model = try ModelSource.open(TinyCheckpoint.llama().write(to: scratch))
    let (configuration, weights) = (model.configuration, try model.weights())
    let grid = Grid(.trellisTwo, group: 32)
    let text = windows(40, of: 24, vocabulary: configuration.vocabularySize, seed: 1)
    func made(_ training: Calibrator.TrainingOptions?) throws -> Calibrator.Result {
      var options = Calibrator.Options()
      options.training = training
      let calibrator = Calibrator(configuration, weights, windows: text, options: options, on: compute) {
        $0.role.isTable ? .f32 : .grid(grid)
      }
      return try calibrator.run(weights: { $0.weight.floats(on: compute) })
    }
    var options = Calibrator.TrainingOptions()
    (options.steps, options.scaleRate, options.loudWeightOfRounding) = (200, 1e-2, 1)
    let (rounded, trained) = (try made(nil), try made(options))
    let loss = try #require(trained.trained[0])
    #expect(loss.after < 0.99 * loss.before, "\(loss)")
    /// What a weight is in scales, and the scales.
    func parts(_ weight: Weight) -> (levels: [Float], scales: [Float]) {
      let floats = weight.floats(on: compute)
      let values = floats.values
      let scales = values.indices.map { Float(weight.scale(row: $0 / weight.columns, group: $0 % weight.columns / 32)) }
      return (values.indices.map { (values[$0] / scales[$0]).rounded() }, scales)
    }
    // Behind the first layer text is another.
    for kind in LinearKind.allCases {
      guard let index = weights.linear(kind, 0)?.index else { continue }
      let (before, after) = (try parts(#require(rounded.rounded[index]).weight), try parts(#require(trained.rounded[index]).weight))
      #expect(before.levels == after.levels && before.scales != after.scales, "\(kind)")
    }
  }

  @Test("what a calibration learns from more text holds on other texts", arguments: [false, true])
  func moreText(trainsLayers: Bool) throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.llama().write(to: scratch)
    let vocabulary = TinyCheckpoint.vocabulary
    let text = windows(60, of: 16, vocabulary: vocabulary, seed: 6)
    let held = windows(20, of: 16, vocabulary: vocabulary, seed: 8)
    let distances = try [6, 60].map { count in
      _ = try calibrated(source, scratch("m\(count)"), scheme(2), Array(text.prefix(count)), trainsLayers: trainsLayers)
      return try distance(scratch("m\(count)"), from: source, held)
    }
    #expect(distances[1] < distances[0], "\(distances)")
  }

  @Test("batches that are held out are not learnt from, but where there are few", arguments: [1, 3, 4, 7, 8, 9, 64, 100, 128])
  func heldOut(batches: Int) {
    let (trained, heldOut) = BlockTrainer.split(batches)
    guard batches >= 4 else {
      #expect(trained == Array(0..<batches) && heldOut == trained)
      return
    }
    #expect((trained + heldOut).sorted() == Array(0..<batches))
    #expect(heldOut.count >= 1 && heldOut.count <= max(9, batches / 8) && trained.count >= 3 * heldOut.count)
  }

  @Test("any number of threads gives the same bytes", arguments: [false, true])
  func threads(trainsLayers: Bool) throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.llama().write(to: scratch)
    let text = windows(20, of: 16, vocabulary: TinyCheckpoint.vocabulary, seed: 3)
    let reports = try [1, 3].map { try calibrated(source, scratch("m\($0)"), scheme(2), text, threads: $0, trainsLayers: trainsLayers) }
    #expect(reports[0].digest == reports[1].digest)
  }

  @Test(
    "streams in files, and inputs that are not kept, give what those in memory give, in every family", arguments: LayoutTests.allFamilies)
  func streamsInFiles(family: String) throws {
    let scratch = Scratch()
    let model = try ModelSource.open(try LayoutTests.anySource(family, in: scratch))
    let (configuration, weights, scheme) = (model.configuration, try model.weights(), scheme(2, group: 32))
    let text = windows(40, of: 24, vocabulary: configuration.vocabularySize, seed: 1)
    var options = Calibrator.Options()
    options.rows = 128
    options.training = Calibrator.TrainingOptions()
    options.training?.steps = 20
    func calibrator(spillingTo path: String?) -> Calibrator {
      Calibrator(configuration, weights, windows: text, options: options, spillingTo: path, on: compute) {
        scheme.format(of: $0.name, $0.role)
      }
    }
    func provide(_ parameter: Parameter) -> Weight { parameter.weight.floats(on: compute) }
    let expected = try calibrator(spillingTo: nil).run(weights: provide, all: { weights })
    // As few bytes as these stay in memory.
    #expect(try calibrator(spillingTo: scratch("none/streams")).run(weights: provide, all: { weights }).trained == expected.trained)
    (options.mostStreamBytes, options.mostInputBytes) = (0, 0)
    let names = scratch.names
    let found = try calibrator(spillingTo: scratch("streams")).run(weights: provide, all: { weights })
    #expect(scratch.names == names)
    #expect(found.trained == expected.trained && found.rounded.keys == expected.rounded.keys)
    for (index, rounded) in found.rounded {
      let other = try #require(expected.rounded[index])
      #expect(rounded.error == other.error)
      #expect(values(of: rounded.weight) == values(of: other.weight))
    }
    // No layer is kept that was made without them.
    let missing = scratch("none/streams")
    #expect {
      try calibrator(spillingTo: missing).run(weights: provide, all: { weights }, keep: { part, _ in #expect(part == .tables) })
    } throws: { error in
      guard case .spill(let failure) = error as? CalibrationError<Never> else { return false }
      return failure == .notWritable(path: missing, code: 2)
    }
  }

  private func values(of weight: Weight) -> [Float] {
    let floats = weight.floats(on: compute)
    return (0..<floats.count).map { floats.values[$0] }
  }

  @Test("a token whose stream is far larger than most counts as often as it is told to, the others once")
  func loudTokens() throws {
    let scratch = Scratch()
    let model = try ModelSource.open(TinyCheckpoint.llama().write(to: scratch))
    var weights = try model.weights()
    let columns = model.configuration.hiddenSize
    weights.update(weights.embedding.index) { parameter in
      var loud = parameter.weight.floats(on: compute)
      loud.withMutableValues { values in for column in 0..<columns { values[5 * columns + column] *= 100 } }
      parameter.weight = loud
    }
    let decoder = Decoder(model.configuration, weights: weights)
    var runner = ModelRunner(decoder, ModelRunner.Limits(rows: 8, segments: 2), precision: .float32, on: compute)
    let passage = Passage(decoder, [[[5, 1, 2, 3], [4, 5, 6, 7]]], &runner)
    #expect(passage.weights(0, ofLoud: 30) == [30, 1, 1, 1, 1, 30, 1, 1])
  }

  @Test("the loss of a layer counts each row by its target and by a weight; its gradient is that of differences")
  func layerLoss() {
    var rng = SplitMix64(seed: 7)
    let target = (0..<12).map { rng.uniform(bound: $0 < 4 ? 100 : 1) }
    var values = target.map { $0 + rng.uniform(bound: 0.5) }
    let weights: [Float] = [1, 4, 1]
    func loss(_ values: [Float]) -> Double {
      (0..<3).reduce(0.0) { sum, row in
        let part = row * 4..<row * 4 + 4
        let (d, t) = part.reduce((0.0, 0.0)) { sums, index in
          let (x, t) = (Double(values[index]), Double(target[index]))
          return (sums.0 + (x - t) * (x - t), sums.1 + t * t)
        }
        return sum + Double(weights[row]) * d / t / 6
      }
    }
    var gradient = Matrix(rows: 3, columns: 4)
    let found = BlockTrainer.loss(
      Matrix(rows: 3, columns: 4, values: values), Matrix(rows: 3, columns: 4, values: target), weights: weights, gradient: &gradient)
    #expect(abs(found - loss(values)) <= 1e-6 * found)
    for index in values.indices {
      let value = values[index]
      values[index] = value + 0.01
      let above = loss(values)
      let step = Double(values[index])
      values[index] = value - 0.01
      let slope = (above - loss(values)) / (step - Double(values[index]))
      values[index] = value
      #expect(abs(Double(gradient.values[index]) - slope) <= 1e-4 * abs(slope) + 1e-8)
    }
  }

  @Test("progress grows within a layer too, and a calibration that is stopped anywhere leaves nothing behind", arguments: [false, true])
  func stoppingWithin(trains: Bool) throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.llama().write(to: scratch)
    var options = ConversionOptions()
    options.trainsLayers = trains
    let text = windows(4, of: 16, vocabulary: TinyCheckpoint.vocabulary, seed: 4)
    let converter = Converter(source: source, output: scratch("model"), options: options, on: compute)
    func run(calls: Int) throws -> [ConversionProgress.Stage] {
      var seen: [ConversionProgress.Stage] = []
      _ = try converter.prepare(calibratingOn: text) { progress in
        seen.append(progress.stage)
        return seen.count < calls
      }
      return seen
    }
    let seen = try run(calls: .max)
    let fractions = seen.map { if case .calibrating(_, _, let fraction) = $0 { fraction } else { -1.0 } }
    #expect(fractions.first == 0 && fractions.last == 1 && fractions == fractions.sorted())
    let behind = [1, 2].map { layers in seen.filter { if case .calibrating(layers, _, _) = $0 { true } else { false } }.count }
    #expect(behind.allSatisfy { $0 > 0 } && Set(fractions).count > (trains ? 200 : 20))
    // Among them the tables, the passes and, where layers are trained, a step of the last one.
    for calls in [1, 2, 3, 5, 9, seen.count / 2, seen.count - 2] {
      #expect(throws: ConversionError.interrupted) { _ = try run(calls: calls) }
      #expect(scratch.names == ["source"])
    }
  }

  @Test("progress counts layers, then bytes")
  func stages() throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.llama().write(to: scratch)
    let text = windows(4, of: 16, vocabulary: TinyCheckpoint.vocabulary, seed: 4)
    let converter = Converter(source: source, output: scratch("model"), options: ConversionOptions(), on: compute)
    var stages: [String] = []
    _ = try converter.run(calibratingOn: text) { progress in
      if case .calibrating = progress.stage { stages.append("calibrating") } else { stages.append("writing") }
      return true
    }
    #expect(stages.first == "calibrating" && stages.last == "writing")
  }

  @Test("weights that lie on the grid keep their values")
  func exact() throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.llama().write(to: scratch)
    try convert(source, scratch("rounded"), scheme(2))
    try Exporter(model: scratch("rounded"), output: scratch("floats"), overwrite: false, on: compute).writeSafetensors(.f32)
    let text = windows(8, of: 16, vocabulary: TinyCheckpoint.vocabulary, seed: 5)
    for trainsLayers in [false, true] {
      let output = scratch("again-\(trainsLayers)")
      let report = try calibrated(scratch("floats"), output, scheme(2), text, trainsLayers: trainsLayers)
      #expect(report.isLossless && report.layers.isEmpty)
      #expect(try contents(output + "/model.safetensors") == contents(scratch("rounded") + "/model.safetensors"))
    }
  }

  @Test("inputs that are not finite, and weights, are told with their tensor")
  func notFinite() throws {
    let scratch = Scratch()
    var tiny = try TinyCheckpoint.llama()
    let up = try #require(tiny.tensors.firstIndex { $0.name.hasSuffix("layers.1.mlp.up_proj.weight") })
    tiny.tensors[up].values[7] = .infinity
    let source = try tiny.write(to: scratch)
    let text = windows(4, of: 16, vocabulary: TinyCheckpoint.vocabulary, seed: 6)
    #expect(
      throws: ConversionError.notFinite(tensor: tiny.tensors[up].name, row: 0, column: 7, value: "inf")
    ) { _ = try calibrated(source, scratch("model"), scheme(2), text) }
    #expect(scratch.names == ["source"])
  }
}
