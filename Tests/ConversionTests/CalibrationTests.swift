import DibitConversion
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

  private func calibrated(_ source: String, _ output: String, _ scheme: QuantizationScheme, _ windows: [[Int32]], threads: Int = 2) throws
    -> ConversionReport
  {
    var options = ConversionOptions()
    options.scheme = scheme
    return try Converter(source: source, output: output, options: options, on: Compute(threads: threads)).run(calibratingOn: windows)
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

  @Test(
    "a calibrated model is nearer to its source on other texts than a rounded one, in every family",
    arguments: LayoutTests.families + ["llama", "afm7"])
  func families(family: String) throws {
    let scratch = Scratch()
    let source =
      switch family {
      case "llama": try TinyCheckpoint.llama().write(to: scratch)
      case "afm7": try TinyCheckpoint.afm7().write(to: scratch)
      default: try LayoutTests.source(family, in: scratch)
      }
    let vocabulary = try ModelSource.open(source).configuration.vocabularySize
    let scheme = scheme(2, group: 32)
    try convert(source, scratch("nearest"), scheme)
    let progress = try calibrated(
      source, scratch("calibrated"), scheme, windows(40, of: 24, vocabulary: vocabulary, seed: 1))
    #expect(progress.tensors.contains { $0.error != nil })
    let held = windows(8, of: 24, vocabulary: vocabulary, seed: 2)
    let (nearest, found) = (
      try distance(scratch("nearest"), from: source, held), try distance(scratch("calibrated"), from: source, held)
    )
    #expect(found < 0.9 * nearest, "\(found), nearest \(nearest)")
  }

  @Test("any number of threads gives the same bytes")
  func threads() throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.llama().write(to: scratch)
    let text = windows(20, of: 16, vocabulary: TinyCheckpoint.vocabulary, seed: 3)
    let reports = try [1, 3].map { try calibrated(source, scratch("m\($0)"), scheme(2), text, threads: $0) }
    #expect(reports[0].digest == reports[1].digest)
  }

  @Test("a calibration that is stopped leaves nothing behind; progress counts layers, then bytes")
  func stopping() throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.llama().write(to: scratch)
    let text = windows(4, of: 16, vocabulary: TinyCheckpoint.vocabulary, seed: 4)
    var layers: [Int] = []
    let converter = Converter(source: source, output: scratch("model"), options: ConversionOptions(), on: compute)
    #expect(throws: ConversionError.interrupted) {
      _ = try converter.run(calibratingOn: text) { progress in
        if case .calibrating(let done, _) = progress.stage { layers.append(done) }
        return layers.count < 2
      }
    }
    #expect(layers == [1, 2] && scratch.names == ["source"])
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
    let report = try calibrated(scratch("floats"), scratch("again"), scheme(2), text)
    #expect(report.isLossless)
    #expect(try contents(scratch("again") + "/model.safetensors") == contents(scratch("rounded") + "/model.safetensors"))
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
