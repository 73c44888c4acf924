import DibitCalibration
import DibitCheckpoint
import DibitConversion
import DibitJSON
import DibitKernels
import DibitModel
import DibitModelStore
import DibitQuantization
import DibitTensor
import DibitTestSupport
import RealModule
import Synchronization
import Testing

/// Models whose matrices differ in bits, and the choice of these.
@Suite struct MixedBitsTests {
  private func windows(_ count: Int, of length: Int, vocabulary: Int, seed: UInt64) -> [[Int32]] {
    var rng = SplitMix64(seed: seed)
    return (0..<count).map { _ in (0..<length).map { _ in Int32(rng.below(vocabulary)) } }
  }

  @Test(
    "each matrix is stored with the bits that its tensor has, found again, and computes as its values do",
    arguments: LayoutTests.allFamilies)
  func stored(family: String) throws {
    let scratch = Scratch()
    let source = try LayoutTests.anySource(family, in: scratch)
    let names = try ModelSource.open(source).declarations().parameters.filter(\.isMatrix).map(\.name.tensor)
    var mixed = scheme(2, group: 32)
    for (index, name) in Set(names).sorted().enumerated() where index % 4 > 0 { mixed.tensorBits[name] = [3, 4, 8][index % 4 - 1] }
    try convert(source, scratch("mixed"), mixed)
    let model = try StoredModel.openConverted(scratch("mixed"))
    #expect(model.scheme == mixed)
    for parameter in model.weights.parameters where parameter.isMatrix {
      let expected = mixed.tensorBits[parameter.name.tensor] ?? (parameter.role.isTable ? 4 : 2)
      #expect(parameter.weight.format.bits == expected, "\(parameter.name.tensor)")
    }
    // Rows of the pass are rounded once for layers of different bits.
    try Exporter(model: scratch("mixed"), output: scratch("floats"), overwrite: false, on: compute).writeSafetensors(.f32)
    let tokens = windows(1, of: 12, vocabulary: model.configuration.vocabularySize, seed: 1)[0]
    let exact = Compute(isa: .scalar, threads: 1, usesBLAS: false, activations: .float)
    func hidden(_ path: String) throws -> [Float] {
      let model = try ModelSource.open(path)
      let decoder = Decoder(model.configuration, weights: try model.weights())
      var runner = ModelRunner(decoder, ModelRunner.Limits(rows: 12, segments: 1), precision: .float32, on: exact)
      runner.append(tokens.span, start: 0)
      decoder.forward(&runner)
      return runner.hidden.values
    }
    let (packed, floats) = (try hidden(scratch("mixed")), try hidden(scratch("floats")))
    #expect(packed.count == floats.count && zip(packed, floats).allSatisfy { abs($0 - $1) < 1e-4 })
  }

  @Test("a block that says other bits than there are is refused, and one of another version")
  func damaged() throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.llama().write(to: scratch)
    var mixed = scheme(2)
    mixed.tensorBits["model.layers.0.mlp.up_proj.weight"] = 4
    try convert(source, scratch("mixed"), mixed)
    let text = try String(validating: contents(scratch("mixed") + "/config.json"), as: UTF8.self) ?? ""
    #expect(text.contains("\"version\":3") || text.contains("\"version\": 3"))
    func fails(_ old: String, _ new: String, _ message: String) throws {
      try scratch.write(text.replacing(old, with: new), to: "mixed/config.json")
      #expect {
        _ = try ModelSource.open(scratch("mixed")).weights()
      } throws: { "\($0)".contains(message) }
    }
    let bits = try #require(text.firstRange(of: "up_proj.weight\":").map { text[$0.upperBound...].prefix { $0 == " " } })
    try fails(
      "up_proj.weight\":\(bits)4", "up_proj.weight\":\(bits)3",
      "tensor_bits.model.layers.0.mlp.up_proj.weight': expected 2, 4 or 8, found 3")
    try fails("up_proj.weight\":\(bits)4", "up_proj.weight\":\(bits)8", "model.layers.0.mlp.up_proj.weight")
    try fails("\"tensor_bits\"", "\"others\"", "'quantization.tensor_bits': expected an object")
    try fails("\"version\":\(bits)3", "\"version\":\(bits)9", "'quantization.version': expected 2 to 7, found 9")
    try fails("\"version\":\(bits)3", "\"version\":\(bits)4", "'quantization.full_range': expected true or false, found nothing")
    // Codes of 3 bits lie in an order of their own, which a reader must know of.
    mixed.tensorBits["model.layers.0.mlp.up_proj.weight"] = 3
    #expect(mixed.json["version"]?.int == 5 && mixed.json["full_range"] == false)
    #expect(try QuantizationScheme(json: mixed.json) == mixed)
    var older = mixed.json.object ?? JSONObject()
    older["version"] = 4
    #expect(throws: QuantizationError.self) { try QuantizationScheme(json: .object(older)) }
    mixed.recovery = QuantizationScheme.Recovery(rank: 8, bits: 4)
    #expect(mixed.json["version"]?.int == 6)
    #expect(try QuantizationScheme(json: mixed.json) == mixed)
    for recovery in [mixed.recovery, nil] {
      var trellis = mixed
      (trellis.family, trellis.recovery) = (.trellis, recovery)
      #expect(trellis.json["version"]?.int == 7 && trellis.json["full_range"] == true && trellis.json["trellis"] == true)
      #expect(try QuantizationScheme(json: trellis.json) == trellis)
      for (key, value) in [("trellis", nil), ("trellis", 1), ("full_range", false)] as [(String, JSONValue?)] {
        var block = trellis.json.object ?? JSONObject()
        block[key] = value
        #expect(throws: QuantizationError.self) { try QuantizationScheme(json: .object(block)) }
      }
    }
    for (value, message) in [
      (["rank": 0, "bits": 4], "'quantization.recovery.rank': expected 1 to 4096, found 0"),
      (["rank": 8, "bits": 3], "'quantization.recovery.bits': expected 4 or 8, found 3"), (7, "'quantization.recovery.rank'"),
      (nil, "'quantization.recovery.rank': expected 1 to 4096, found nothing"),
    ] as [(JSONValue?, String)] {
      var block = mixed.json.object ?? JSONObject()
      block["recovery"] = value
      #expect {
        _ = try QuantizationScheme(json: .object(block))
      } throws: { "\($0)".contains(message) }
    }
    try fails(
      "\"version\":\(bits)3", "\"version\":\(bits)4,\"full_range\":1", "'quantization.full_range': expected true or false, found 1")
  }

  /// Of a linear layer the divergence is an estimate from labels that are drawn, of which there is one for each token.
  @Test("the loss of a matrix is the divergence of a float model with that matrix rounded", arguments: LayoutTests.allFamilies)
  func sensitivity(family: String) throws {
    let scratch = Scratch()
    let model = try ModelSource.open(try LayoutTests.anySource(family, in: scratch))
    let weights = try model.weights()
    let text = windows(128, of: 16, vocabulary: model.configuration.vocabularySize, seed: 2)
    let grids = GridLevels.rows(.symmetric).dropFirst().map { Grid($0, group: 32) }
    let meter = SensitivityMeter(model.configuration, weights, windows: text, options: nil, on: compute) { _ in grids }
    let found = try meter.run(weights: \.weight)
    #expect(Set(found.map(\.parameter)) == Set(weights.parameters.filter(\.isMatrix).map(\.index)))
    let compared = Array(text.prefix(64))
    let expected = (tables: try logits(model.configuration, weights, compared), layers: try logits(model.configuration, weights, text))
    for sensitivity in found {
      var rounded = weights
      let parameter = weights.parameters[sensitivity.parameter]
      let floats = parameter.weight.floats(on: compute)
      var packed = Weight(zerosWithRows: floats.rows, columns: floats.columns, format: .grid(grids[0]))
      GridQuantization.fitScales(of: floats, into: &packed, on: compute)
      _ = GridQuantization.chooseCodes(of: floats, into: &packed, on: compute)
      rounded.update(sensitivity.parameter) { $0.weight = packed.floats(on: compute) }
      let (name, found) = (parameter.name.tensor, sensitivity.divergences[0])
      if parameter.role.isTable {
        let actual = divergence(try logits(model.configuration, rounded, compared), from: expected.tables)
        #expect(abs(found - actual) <= 1e-3 * actual + 1e-6, "\(name): \(found), \(actual)")
      } else {
        let actual = divergence(try logits(model.configuration, rounded, text), from: expected.layers)
        #expect(found > actual / 1.7 && found < 1.7 * actual, "\(name): \(found), \(actual)")
      }
      #expect(sensitivity.divergences == sensitivity.divergences.sorted(by: >) && Set(sensitivity.divergences).count == 3, "\(name)")
    }
  }

  private func logits(_ configuration: ModelConfiguration, _ weights: DecoderWeights, _ windows: [[Int32]]) throws -> [[Float]] {
    let decoder = Decoder(configuration, weights: weights)
    var rows: [[Float]] = []
    for window in windows {
      var runner = ModelRunner(decoder, ModelRunner.Limits(rows: window.count, segments: 1), precision: .float32, on: compute)
      runner.append(window.span, start: 0)
      decoder.forward(&runner)
      var logits = Matrix(rows: window.count, columns: configuration.vocabularySize)
      decoder.logits(in: &runner, into: &logits)
      let values = logits.values
      rows += window.indices.map { Array(values[$0 * configuration.vocabularySize..<($0 + 1) * configuration.vocabularySize]) }
    }
    return rows
  }

  private func divergence(_ logits: [[Float]], from expected: [[Float]]) -> Double {
    func logProbabilities(_ row: [Float]) -> [Double] {
      let sum = row.reduce(0.0) { $0 + Double.exp(Double($1)) }
      return row.map { Double($0) - Double.log(sum) }
    }
    let nats = zip(logits, expected).map { row, expected in
      zip(logProbabilities(expected), logProbabilities(row)).reduce(0.0) { $0 + Double.exp($1.0) * ($1.0 - $1.1) }
    }
    return nats.reduce(0, +) / Double(nats.count)
  }

  /// Sums the squares of what each linear layer reads.
  private final class Energies: LinearObserver {
    let sums = Mutex<[String: [Double]]>([:])

    func observe(layer: Int, kind: LinearKind, input: borrowing Matrix, output: borrowing Matrix) {
      let (values, columns) = (input.values, input.columns)
      sums.withLock { sums in
        var found = sums["\(layer) \(kind)"] ?? [Double](repeating: 0, count: columns)
        for (index, value) in values.enumerated() { found[index % columns] += Double(value) * Double(value) }
        sums["\(layer) \(kind)"] = found
      }
    }
  }

  @Test("a matrix's weighted loss counts each input by its energy", arguments: LayoutTests.allFamilies)
  func weighted(family: String) throws {
    let scratch = Scratch()
    let source = try LayoutTests.anySource(family, in: scratch)
    try convert(source, scratch("rounded"), scheme(2, group: 32))
    let (model, rounded) = (try ModelSource.open(source), try StoredModel.openConverted(scratch("rounded")))
    let weights = try model.weights()
    let text = windows(4, of: 16, vocabulary: model.configuration.vocabularySize, seed: 6)
    let found = try #require(
      WeightedErrors(model.configuration, weights, windows: text, on: compute).errors(of: rounded.weights, on: compute))
    let energies = Energies()
    let decoder = Decoder(model.configuration, weights: weights)
    for window in text {
      var runner = ModelRunner(decoder, ModelRunner.Limits(rows: window.count, segments: 1), precision: .float32, on: compute)
      runner.append(window.span, start: 0)
      runner.observe(with: energies)
      decoder.forward(&runner)
    }
    let sums = energies.sums.withLock { $0 }
    #expect(Set(found.keys) == Set(weights.parameters.filter(\.isMatrix).map(\.index)))
    var checked = 0
    for layer in 0..<model.configuration.layers {
      for kind in LinearKind.allCases {
        guard let parameter = weights.linear(kind, layer) else { continue }
        let energy = try #require(sums["\(layer) \(kind)"])
        let (a, b) = (expanded(rounded.weights.parameters[parameter.index].weight), expanded(parameter.weight))
        var (signal, noise) = (0.0, 0.0)
        for index in a.indices {
          signal += energy[index % energy.count] * Double(b[index]) * Double(b[index])
          noise += energy[index % energy.count] * Double(a[index] - b[index]) * Double(a[index] - b[index])
        }
        let error = try #require(found[parameter.index])
        #expect(abs(error.signal / signal - 1) < 1e-3 && abs(error.noise / noise - 1) < 1e-3, "\(parameter.name.tensor)")
        checked += 1
      }
    }
    #expect(checked > 6)
    #expect(
      WeightedErrors(model.configuration, weights, windows: text, on: compute).errors(of: weights, on: compute)?.values.allSatisfy {
        $0.noise == 0
      } == true)
  }

  @Test("a matrix that lies on the coarsest grid loses nothing, and gets no bits")
  func exact() throws {
    let scratch = Scratch()
    var tiny = try TinyCheckpoint.llama(context: 32)
    let name = "model.layers.0.mlp.up_proj.weight"
    let index = try #require(tiny.tensors.firstIndex { $0.name == name })
    tiny.tensors[index].values = tiny.tensors[index].values.enumerated().map { [-1.5, -0.5, 0.5, 1.5][$0.offset * 7 % 4] }
    let source = try tiny.write(to: scratch)
    var options = ConversionOptions()
    (options.scheme, options.budget) = (scheme(2, group: 32), .bitsPerWeight(6))
    let text = windows(10, of: 16, vocabulary: TinyCheckpoint.vocabulary, seed: 3)
    let report = try Converter(source: source, output: scratch("model"), options: options, on: compute).run(measuringOn: text)
    let choice = try #require(report.choices.first { $0.name == name })
    #expect(choice.leastDivergence == 0 && choice.bits == 2)
    #expect(report.choices.contains { $0.bits == 4 } && report.choices.contains { $0.bits == 8 })
    #expect(report.tensors.first { $0.name == name }?.isExact == true)
  }

  @Test("the file is as large as it may be and not larger; more room never makes the sum of losses larger", arguments: [false, true])
  func budgets(calibrates: Bool) throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.llama(context: 32).write(to: scratch)
    let text = windows(30, of: 24, vocabulary: TinyCheckpoint.vocabulary, seed: 4)
    let least = try convert(source, scratch("least"), scheme(2)).outputBytes
    var losses: [Double] = []
    for (index, bytes) in [least + 3000, least + 9000, least + 20_000, least + 1_000_000].enumerated() {
      var options = ConversionOptions()
      (options.scheme, options.budget) = (scheme(2), .bytes(bytes))
      let converter = Converter(source: source, output: scratch("m\(index)"), options: options, on: compute)
      let forecast = try converter.forecast(measuringOn: text, calibrates: calibrates)
      #expect(!scratch.names.contains("m\(index)"))
      let report = try converter.run(calibratingOn: calibrates ? text : nil, measuringOn: text)
      #expect(report.choices == forecast.choices && report.bitsPerWeight == forecast.bitsPerWeight)
      #expect(report.outputBytes <= bytes && report.outputBytes > least)
      losses.append(report.choices.reduce(0) { $0 + $1.divergence })
      let model = try StoredModel.openConverted(scratch("m\(index)"))
      for choice in report.choices {
        #expect(model.weights.parameters.contains { $0.name.tensor == choice.name && $0.weight.format.bits == choice.bits })
      }
    }
    #expect(losses == losses.sorted(by: >) && losses[3] < losses[0])
  }

  @Test("a size that is too small is told with the least one")
  func unreachable() throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.llama().write(to: scratch)
    var options = ConversionOptions()
    options.budget = .bytes(1000)
    let least = try convert(source, scratch("least"), scheme(2)).outputBytes
    #expect {
      _ = try Converter(source: source, output: scratch("m"), options: options, on: compute).run(measuringOn: [])
    } throws: { error in
      guard case .budget(.bytes(1000), let bytes, _) = error as? ConversionError else { return false }
      return bytes == least && "\(error)".contains("1,000 bytes are asked for")
    }
    #expect(scratch.names.sorted() == ["least", "source"])
  }

  @Test("bits for a tensor that is no matrix of the checkpoint are told")
  func unknown() throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.llama().write(to: scratch)
    for name in ["model.layers.9.mlp.up_proj.weight", "model.norm.weight"] {
      var mixed = scheme(2)
      mixed.tensorBits[name] = 4
      #expect(throws: ConversionError.noSuchMatrix(name, path: source)) { try convert(source, scratch("m"), mixed) }
    }
    #expect(scratch.names == ["source"])
  }

  @Test("bits go where they save most for each byte, within what there is")
  func allocation() {
    var rng = SplitMix64(seed: 5)
    for _ in 0..<200 {
      // Losses fall to a quarter with each bit, as errors do.
      let candidates = (0..<6).map { index in
        let (size, loss) = (50 + rng.below(500), Double(rng.below(1_000_000)) / 1e6)
        return BitAllocation.Candidate(
          name: "\(index)", choices: [(2, 2 * size, loss), (3, 3 * size, loss / 4), (4, 4 * size, loss / 16), (8, 8 * size, loss / 4096)])
      }
      let spare = rng.below(8000)
      let choices = BitAllocation(candidates, spare: spare).choices
      func bytes(_ bits: [Int]) -> Int { zip(bits, candidates).reduce(0) { $0 + ($1.0 - 2) * $1.1.choices[0].bytes / 2 } }
      #expect(bytes(choices.map(\.bits)) <= spare)
      // The best of all 4,096 ways saves no more than the greedy way with the largest single saving that did not fit.
      var most = 0.0
      for way in 0..<4096 {
        let indices = (0..<6).map { way >> (2 * $0) & 3 }
        guard bytes(indices.map { [2, 3, 4, 8][$0] }) <= spare else { continue }
        most = max(most, zip(indices, candidates).reduce(0) { $0 + $1.1.choices[0].divergence - $1.1.choices[$1.0].divergence })
      }
      let saved = choices.reduce(0) { $0 + $1.leastDivergence - $1.divergence }
      let largest = candidates.map(\.choices[0].divergence).max() ?? 0
      #expect(saved <= most + 1e-12 && saved >= most - largest)
    }
  }
}
