import BasicContainers
import DibitConversion
import DibitFiles
import DibitInference
import DibitJSON
import DibitKernels
import DibitModel
import DibitModelStore
import DibitTensor
import DibitTestSupport
import Testing

/// Adapters merged into floats and added to each other.
@Suite struct MergeTests {
  private static let folder = String(#filePath.dropLast("ConversionTests/MergeTests.swift".count)) + "Fixtures/parity/"

  /// The logits behind a prompt with an adapter, or none, in floats.
  private func logits(_ path: String, adapter: String? = nil) throws -> [Float] {
    let model = try StoredModel.open(path)
    var matrices = Adapter.none(for: model.weights)
    if let adapter { matrices = try StoredAdapter.open(adapter, for: model, on: Compute(threads: 1)) }
    let floats = Compute(threads: 1, activations: .float, keysAndValues: .float32)
    var session = Session(model.configuration, weights: model.weights, adapter: matrices, on: floats)
    try session.append([5, 20, 60, 17, 9, 33])
    return session.lastLogits
  }

  /// The norm of the difference over that of the values.
  private func difference(_ a: [Float], _ b: [Float]) -> Double {
    let (error, size) = zip(a, b).reduce((0.0, 0.0)) {
      ($0.0 + Double($1.0 - $1.1) * Double($1.0 - $1.1), $0.1 + Double($1.1) * Double($1.1))
    }
    return (error / size).squareRoot()
  }

  private static let families = [
    "llama", "llama3", "mistral", "qwen2", "qwen3", "gemma2", "gemma3", "smollm3", "phi3", "olmo2", "gpt2", "gpt_neox",
  ]

  @Test("merged into floats, PEFT's adapter of every family does what it does beside them", arguments: families)
  func everyFamily(family: String) throws {
    let scratch = Scratch()
    let (fixture, peft) = (Self.folder + family, Self.folder + family + "/peft")
    guard isDirectory(peft) else { return }
    try scratch.directory("source")
    for file in ["config.json", "model.safetensors"] {
      try scratch.write(try readFile(fixture + "/" + file, limit: 64 << 20), to: "source/" + file)
    }
    try scratch.write(smallTokenizer(), to: "source/tokenizer.json")
    try convert(scratch("source"), scratch("model"), scheme(32, embedding: 32))
    let base = try StoredModel.openConverted(scratch("model"))
    try AdapterConverter.importAdapter(peft, base: base, output: scratch("own"), overwrite: false, on: Compute(threads: 1))
    let exporter = Exporter(model: scratch("model"), output: scratch("merged"), overwrite: false, on: Compute(threads: 2))
    try exporter.writeSafetensors(.f32, merging: [AdapterPart(path: scratch("own"))])
    let (beside, merged) = (try logits(scratch("model"), adapter: scratch("own")), try logits(scratch("merged")))
    // The same products in another order: some thousand roundings, of 6e-8 each.
    #expect(difference(merged, beside) < 1e-5)
    #expect(difference(try logits(scratch("model")), beside) > 1e-3)
  }

  /// A model of afm7 whose q, k and v lie in one tensor, and an adapter of random matrices.
  private struct Setup {
    let scratch = Scratch()
    let model: StoredModel

    init() throws {
      try convert(try TinyCheckpoint.afm7().write(to: scratch), scratch("model"), scheme(2))
      model = try StoredModel.openConverted(scratch("model"))
    }

    func write(_ name: String, seed: UInt64, _ change: (inout AdapterConfiguration) -> Void) throws -> String {
      var configuration = AdapterConfiguration()
      (configuration.rank, configuration.alpha) = (3, 2)
      change(&configuration)
      var adapter = Adapter(configuration, for: model.weights)
      var rng = SplitMix64(seed: seed)
      adapter.initialize(using: &rng)
      for i in 0..<adapter.count {
        for row in 0..<adapter.b[i].rows { for column in 0..<adapter.b[i].columns { adapter.b[i][row, column] = rng.normal() } }
      }
      adapter.initializeMagnitudes(of: model.weights, on: compute)
      for i in 0..<adapter.magnitudes.count {
        for o in 0..<adapter.magnitudes[i].columns { adapter.magnitudes[i][0, o] *= 1 + 0.1 * Float(o % 7) }
      }
      let directory = try StagedDirectory(destination: scratch(name), inputs: .none)
      try StoredAdapter.write(adapter, base: model, manifest: JSONObject(), into: directory)
      try directory.commit()
      return scratch(name)
    }
  }

  @Test("LoRA, its stabilised ranks and DoRA, on layers that are stored fused", arguments: [(false, false), (true, false), (false, true)])
  func fused(stabilized: Bool, decomposed: Bool) throws {
    let setup = try Setup()
    let adapter = try setup.write("adapter", seed: 4) { ($0.stabilizesRank, $0.decomposesWeights) = (stabilized, decomposed) }
    let exporter = Exporter(model: setup.model.path, output: setup.scratch("merged"), overwrite: false, on: compute)
    try exporter.writeSafetensors(.f32, merging: [AdapterPart(path: adapter)])
    let (beside, merged) = (try logits(setup.model.path, adapter: adapter), try logits(setup.scratch("merged")))
    // The keys and values of afm7 lie on an int8 grid: a rounding that falls to the other side is a 127th of one element.
    #expect(difference(merged, beside) < 1e-2)
    #expect(difference(try logits(setup.model.path), beside) > 0.1)
    // By the formula, row by row.
    let stored = try StoredAdapter.open(adapter, for: setup.model, on: Compute(threads: 1))
    let after = try ModelSource.open(setup.scratch("merged")).weights().parameters
    for (parameter, new) in zip(setup.model.weights.parameters, after) {
      let (old, found) = (expanded(parameter.weight), expanded(new.weight))
      guard let entry = stored.modules.firstIndex(of: parameter.name.module), parameter.weight.rows > 1 else {
        #expect(old == found)
        continue
      }
      let (columns, c) = (parameter.weight.columns, stored.configuration)
      let scale = Double(c.alpha) / (stabilized ? Double(c.rank).squareRoot() : Double(c.rank))
      for row in [0, parameter.weight.rows - 1] {
        var values = (0..<columns).map { column in
          (0..<c.rank).reduce(Double(old[row * columns + column])) {
            $0 + scale * Double(stored.b[entry][row, $1]) * Double(stored.a[entry][$1, column])
          }
        }
        if decomposed {
          let norm = values.reduce(0) { $0 + $1 * $1 }.squareRoot()
          values = values.map { $0 * Double(stored.magnitudes[entry][0, row]) / norm }
        }
        for column in 0..<columns { #expect(abs(Double(found[row * columns + column]) - values[column]) < 1e-5) }
      }
    }
  }

  @Test("a sum of adapters of other ranks, scales and layers is the sum of their updates")
  func sums() throws {
    let setup = try Setup()
    let one = try setup.write("one", seed: 5) { ($0.targets, $0.stabilizesRank) = ([.query, .value, .down], true) }
    let two = try setup.write("two", seed: 6) { ($0.rank, $0.alpha, $0.targets) = (2, 8, [.query, .gate]) }
    let parts = [AdapterPart(path: one, weight: 0.75), AdapterPart(path: two, weight: -0.5)]
    let sum = try StoredAdapter.sum(parts, for: setup.model, on: Compute(threads: 1))
    #expect(sum.configuration.rank == 5 && sum.configuration.scale == 1)
    for (path, weight) in [(one, 0.75), (two, -0.5)] {
      let part = try StoredAdapter.open(path, for: setup.model, on: Compute(threads: 1))
      #expect(part.modules.allSatisfy { sum.modules.contains($0) }, "\(weight)")
    }
    let first = try StoredAdapter.open(one, for: setup.model, on: Compute(threads: 1))
    let second = try StoredAdapter.open(two, for: setup.model, on: Compute(threads: 1))
    for entry in 0..<sum.count {
      let (a, b) = (first.modules.firstIndex(of: sum.modules[entry]), second.modules.firstIndex(of: sum.modules[entry]))
      for (row, column) in [(0, 0), (7, 31)] {
        var expected = 0.0
        for r in 0..<3 {
          if let a { expected += 0.75 * Double(first.configuration.scale) * Double(first.b[a][row, r]) * Double(first.a[a][r, column]) }
        }
        for r in 0..<2 { if let b { expected -= 0.5 * 4 * Double(second.b[b][row, r]) * Double(second.a[b][r, column]) } }
        let found = (0..<5).reduce(0.0) { $0 + Double(sum.b[entry][row, $1]) * Double(sum.a[entry][$1, column]) }
        #expect(abs(found - expected) < 1e-6)
      }
    }
    // Written and read back, it is an adapter like any other.
    try AdapterConverter.exportAdapter(
      parts, base: setup.model, format: .peft, output: setup.scratch("sum"), overwrite: false, on: Compute(threads: 1))
    let stored = try StoredAdapter.open(setup.scratch("sum"), for: setup.model, on: Compute(threads: 1))
    #expect(stored.modules == sum.modules)
    for entry in 0..<sum.count { #expect(stored.b[entry].values == sum.b[entry].values) }
  }

  @Test func whatHasNoSum() throws {
    let setup = try Setup()
    let dora = try setup.write("dora", seed: 7) { $0.decomposesWeights = true }
    let large = try setup.write("large", seed: 8) { ($0.rank, $0.targets) = (2049, [.gate]) }
    func problem(_ parts: [AdapterPart]) -> String? {
      do throws(ModelStoreError) {
        _ = try StoredAdapter.sum(parts, for: setup.model, on: Compute(threads: 1))
        return nil
      } catch { return error.description }
    }
    #expect(problem([AdapterPart(path: dora)]) == nil)
    #expect(
      problem([AdapterPart(path: large), AdapterPart(path: dora)])
        == "adapter '\(dora)': it has magnitudes (use_dora), which cannot be weighted or added to others: export it alone")
    #expect(
      problem([AdapterPart(path: large), AdapterPart(path: large)])
        == "adapter '\(large)': the ranks of all make 4098, and 4096 is the largest")
  }
}
