import DibitConversion
import DibitKernels
import DibitModel
import DibitModelStore
import DibitQuantization
import DibitTensor
import DibitTestSupport
import Foundation
import Testing

/// A calibration that is stopped, and taken up again.
@Suite struct CalibrationStoreTests {
  private let scratch = Scratch()

  private func windows(_ vocabulary: Int) -> [[Int32]] {
    var rng = SplitMix64(seed: 1)
    return (0..<40).map { _ in (0..<24).map { _ in Int32(rng.below(vocabulary)) } }
  }

  private func converter(_ source: String, _ output: String, trains: Bool, bits: Int = 2, threads: Int = 2, overwrites: Bool = false)
    -> Converter
  {
    var options = ConversionOptions()
    (options.scheme.bits, options.scheme.group, options.trainsLayers, options.overwrite) = (bits, 32, trains, overwrites)
    return Converter(source: source, output: output, options: options, on: Compute(threads: threads))
  }

  /// Converts until `layers` layers are done.
  private func stop(behind layers: Int, _ converter: Converter, _ windows: [[Int32]]) throws {
    let store = try converter.calibrationStore(resumes: false)
    try store.keep(windows)
    _ = try converter.run(calibratingOn: windows, keepingIn: store) { progress in
      guard case .calibrating(let done, _, _) = progress.stage else { return true }
      return done < layers
    }
  }

  private func weights(_ name: String) throws -> [UInt8] { try contents(scratch(name) + "/model.safetensors") }

  @Test(
    "stopped behind each layer, on one thread and two, it goes on to the same bytes and the same report, in every family",
    arguments: LayoutTests.allFamilies, [false, true])
  func goesOn(family: String, trains: Bool) throws {
    let source = try LayoutTests.anySource(family, in: scratch)
    let configuration = try ModelSource.open(source).configuration
    let windows = windows(configuration.vocabularySize)
    var whole: [Int: Double] = [:]
    let expected = try converter(source, scratch("whole"), trains: trains).run(calibratingOn: windows) { progress in
      if case .calibrating(let done, _, let fraction) = progress.stage, whole[done] == nil { whole[done] = fraction }
      return true
    }
    for layer in 1..<max(2, configuration.layers) {
      let name = "stopped-\(layer)"
      let stopped = converter(source, scratch(name), trains: trains, threads: 1)
      #expect(throws: ConversionError.interruptedCalibration(directory: scratch(name) + ".checkpoints", layers: layer)) {
        try stop(behind: layer, stopped, windows)
      }
      let again = converter(source, scratch(name), trains: trains)
      let store = try again.calibrationStore(resumes: true)
      #expect(try store.windows() == windows && store.layers == layer)
      var seen: [(layers: Int, fraction: Double)] = []
      let report = try again.run(calibratingOn: windows, keepingIn: store) { progress in
        if case .calibrating(let done, _, let fraction) = progress.stage { seen.append((done, fraction)) }
        return true
      }
      #expect(seen.last?.layers == configuration.layers)
      // Little is left to be done with layers that are there, so that they say little of the time that is left.
      let fractions = seen.map(\.fraction)
      #expect(fractions == fractions.sorted() && fractions.first == 0 && fractions.last == 1)
      if layer < configuration.layers {
        #expect(try #require(seen.first { $0.layers == layer }).fraction < 0.7 * #require(whole[layer]))
      }
      #expect(try weights(name) == weights("whole"))
      #expect(!scratch.names.contains(name + ".checkpoints"))
      #expect(report.tensors == expected.tensors && report.layers == expected.layers && report.digest == expected.digest)
    }
  }

  @Test("a part that is torn is made again")
  func torn() throws {
    let source = try LayoutTests.anySource("llama", in: scratch)
    let windows = windows(try ModelSource.open(source).configuration.vocabularySize)
    _ = try converter(source, scratch("whole"), trains: false).run(calibratingOn: windows)
    for file in ["tables.safetensors", "layer-0.safetensors"] {
      let name = "torn-" + file.prefix(3)
      let work = converter(source, scratch(name), trains: false)
      #expect(throws: ConversionError.self) { try stop(behind: 1, work, windows) }
      let path = scratch(name) + ".checkpoints/" + file
      let bytes = try Data(contentsOf: URL(filePath: path))
      try bytes.prefix(bytes.count / 2).write(to: URL(filePath: path))
      _ = try work.run(calibratingOn: windows, keepingIn: work.calibrationStore(resumes: true))
      #expect(try weights(name) == weights("whole"))
    }
  }

  @Test("what is there is neither lost nor mixed with another conversion")
  func refusals() throws {
    let source = try LayoutTests.anySource("llama", in: scratch)
    let windows = windows(try ModelSource.open(source).configuration.vocabularySize)
    let (output, directory) = (scratch("model"), scratch("model") + ".checkpoints")
    let work = converter(source, output, trains: false)
    #expect(throws: ConversionError.self) { try stop(behind: 1, work, windows) }
    #expect(throws: ConversionError.incomplete(directory: directory, layers: 1)) { try work.calibrationStore(resumes: false) }
    // Another text, and other options.
    #expect(throws: ConversionError.otherConversion(directory: directory)) {
      try work.calibrationStore(text: [[1, 2, 3]], resumes: true).windows()
    }
    // Its layers would be rounded on another amount of text than those that are kept.
    #expect(throws: ConversionError.otherConversion(directory: directory)) {
      try work.calibrationStore(windows: 384, resumes: true).windows()
    }
    for other in [converter(source, output, trains: true), converter(source, output, trains: false, bits: 4)] {
      let store = try other.calibrationStore(resumes: true)
      #expect(throws: ConversionError.otherConversion(directory: directory)) { try store.windows() }
      #expect(throws: ConversionError.otherConversion(directory: directory)) {
        try other.run(calibratingOn: windows, keepingIn: store)
      }
    }
    // What is not of a conversion is not touched.
    try scratch.write("mine", to: "model.checkpoints/notes.txt")
    #expect(throws: ConversionError.self) { try work.calibrationStore(resumes: true) }
    #expect(try text(directory + "/notes.txt") == "mine")
    try scratch.remove("model.checkpoints/notes.txt")
    // One begins anew.
    let store = try converter(source, output, trains: false, overwrites: true).calibrationStore(resumes: false)
    #expect(try store.windows().isEmpty && store.layers == 0)
  }
}
