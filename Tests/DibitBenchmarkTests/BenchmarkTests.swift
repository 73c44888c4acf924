import DibitJSON
import DibitKernels
import DibitModel
import DibitModelStore
import DibitTestSupport
import Testing

@testable import DibitBenchmark

@Suite struct BenchmarkTests {
  private static func options() -> BenchmarkOptions {
    var options = BenchmarkOptions()
    (options.promptTokens, options.decodeTokens, options.runs, options.context) = (20, 4, 5, 3)
    options.machineSeconds = 0
    return options
  }

  @Test func reportHasTheseKeysInThisOrder() throws {
    let scratch = Scratch()
    let path = try Tiny.write(Tiny.afm7, to: scratch)
    let compute = Compute(threads: 2)
    let report = try Benchmark(model: path, name: "tiny", options: Self.options(), on: compute).run()
    let json = try #require(report.json.object)
    #expect(
      json.keys == [
        "shape", "isa", "threads", "decode_tokens_per_second", "prefill_tokens_per_second", "first_token_seconds", "load_seconds",
        "weight_bytes_per_token", "read_bandwidth_bytes_per_second", "decode_bandwidth_fraction", "peak_memory_bytes", "decode_spread",
        "prefill_spread", "first_token_spread", "load_spread", "read_bandwidth_spread",
        "decode_bandwidth_fraction_spread", "runs", "prompt_tokens", "decode_tokens", "context", "product_library",
      ])
    #expect(json["shape"] == "tiny")
    #expect(json["isa"] == .string("\(compute.isa)"))
    #expect(json["threads"] == 2)
    #expect(json["runs"] == 5)
    for name in ["decode", "prefill", "first_token", "load"] {
      let key = try #require(json.keys.first { $0.hasPrefix(name + "_") && !$0.hasSuffix("spread") })
      let (median, spread) = (try #require(json[key]?.double), try #require(json[name + "_spread"]?.array))
      let bounds = spread.compactMap(\.double)
      #expect(bounds.count == 2 && bounds[0] > 0 && bounds[0] <= median && median <= bounds[1], "\(name): \(median) in \(bounds)")
    }
    #expect(report.firstToken.median > report.load.median)
    #expect(report.decode.values.count == 5)
    let bandwidth = try #require(json["read_bandwidth_bytes_per_second"]?.double)
    let fraction = try #require(json["decode_bandwidth_fraction"]?.double)
    #expect(fraction == report.bandwidthFraction.median && bandwidth == report.readBandwidth.median)
    // One look at the memory more than there are runs; every run is compared with the looks around it.
    #expect(report.readBandwidth.values.count == 6 && report.bandwidthFraction.values.count == 5)
    let read = [report.decode.spread.lowerBound, report.decode.spread.upperBound].map { Double(report.weightBytesPerToken) * $0 }
    #expect(fraction >= read[0] / report.readBandwidth.spread.upperBound && fraction <= read[1] / report.readBandwidth.spread.lowerBound)
    #expect(try #require(json["peak_memory_bytes"]?.int) > 1 << 20)
    #expect(try JSONValue(parsing: Array(report.json.serialized().utf8)).object?.keys == json.keys)
  }

  /// By hand, for a llama of two layers with an output head of its own: 64 channels, 100 in the feed-forward, 320 tokens.
  @Test func weightBytesPerToken() throws {
    let scratch = Scratch()
    // A packed row of 64 takes 16 bytes of codes and a scale of 2; one of 100, padded to 112, has two scales. 100 rows fill 7 panels.
    let (row64, row100, row64at4) = (16 + 2, 28 + 4, 32 + 2)
    let layer = (64 + 32 + 32 + 64) * row64 + 2 * 112 * row64 + 64 * row100 + 2 * 64 * 4
    let open = try StoredModel.open(try Tiny.write(Tiny.llama, to: scratch, "open"))
    // Of the embedding one row, of the head all.
    #expect(open.weights.bytesPerToken == 2 * layer + 64 * 4 + row64at4 + 320 * row64at4)
    #expect(open.weights.byteCount == 2 * layer + 64 * 4 + 2 * 320 * row64at4)

    let tied = try StoredModel.open(try Tiny.write(Tiny.tied, to: scratch, "tied"))
    let wide = 4 * 64 * row64 + 2 * 128 * row64 + 64 * (32 + 4) + 2 * 64 * 4
    #expect(tied.weights.bytesPerToken == wide + 64 * 4 + 320 * row64at4)

    // The layer that reuses keys and values has no projections for them.
    let afm7 = try StoredModel.open(try Tiny.write(Tiny.afm7, to: scratch, "afm7"))
    let row176 = 44 + 3 * 2
    let own = (64 + 32 + 32 + 64) * row64 + 2 * 176 * row64 + 64 * row176 + (64 + 64 + 16 + 16) * 4
    let reusing = (64 + 64) * row64 + 2 * 176 * row64 + 64 * row176 + (64 + 64 + 16) * 4
    #expect(afm7.weights.bytesPerToken == 2 * own + reusing + 64 * 4 + 320 * row64at4)
  }

  @Test func refusesWhatDoesNotFit() throws {
    let scratch = Scratch()
    let path = try Tiny.write(Tiny.tied, to: scratch)
    var options = Self.options()
    options.promptTokens = 129
    let benchmark = Benchmark(model: path, options: options, on: Compute(threads: 1))
    #expect(throws: BenchmarkError.context(needed: 129, available: 128)) { try benchmark.run() }
  }

  @Test("ends at any step when asked", arguments: [BenchmarkStep.loading, .prefill, .decode])
  func stops(step: BenchmarkStep) throws {
    let scratch = Scratch()
    let path = try Tiny.write(Tiny.tied, to: scratch)
    let benchmark = Benchmark(model: path, options: Self.options(), on: Compute(threads: 1))
    #expect(throws: BenchmarkError.interrupted) { try benchmark.run { now, _, _ in now != step } }
  }

  @Test func trainingReport() throws {
    let scratch = Scratch()
    let path = try Tiny.write(Tiny.tied, to: scratch)
    var options = TrainingBenchmarkOptions()
    (options.batch, options.tokens, options.rank, options.steps) = (2, 16, 4, 3)
    func run(_ options: TrainingBenchmarkOptions) throws -> (TrainingBenchmarkReport, Profile) {
      try TrainingBenchmark(model: path, name: "tiny", options: options, on: Compute(threads: 2)).run()
    }
    let (report, profile) = try run(options)
    // The first of four steps is not measured.
    #expect(report.rate.values.count == 3 && report.rate.spread.lowerBound > 0)
    #expect(profile.phases.map(\.name) == [.forward, .loss, .backward])
    #expect(profile.phases.allSatisfy { !$0.ops.isEmpty })
    #expect(report.json["kept_layers"] == .integer(report.keptLayers) && report.keptLayers > 0)
    options.memoryLimit = 1
    let refusal = #expect(throws: BenchmarkError.self) { try run(options) }
    #expect(refusal?.description.contains("the least that this run needs are \(report.plannedMemory):") == true)
    options.memoryLimit = report.plannedMemory
    let least = try run(options).0
    // Of one layer keeping the input beside a shared block would take more.
    #expect(least.keptLayers == report.keptLayers && least.plannedMemory == report.plannedMemory)
    options.tokens = 129
    #expect(throws: BenchmarkError.trainingContext(needed: 129, available: 128)) { try run(options) }
  }

  @Test func measurement() {
    #expect(Measurement([3, 1, 2]).median == 2)
    #expect(Measurement([4, 1, 2, 3]).median == 2.5)
    #expect(Measurement([3, 1, 2]).spread == 1...3)
  }
}
