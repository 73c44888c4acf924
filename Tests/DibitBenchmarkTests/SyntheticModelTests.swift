@testable import DibitBenchmark
import DibitFiles
import DibitInference
import DibitJSON
import DibitKernels
import DibitModel
import DibitModelStore
import DibitQuantization
import DibitTensor
import DibitTestSupport
import DibitTokenizer
import Testing

@Suite struct SyntheticModelTests {
  /// Configurations and schemes: bits, group, bits of the embedding, levels.
  static let models: [(JSONObject, Int, Int?, Int, LevelFamily)] = [
    (Tiny.llama, 2, 64, 4, .symmetric), (Tiny.llama, 2, nil, 16, .fullRange), (Tiny.llama, 4, 32, 4, .symmetric),
    (Tiny.llama, 16, 64, 32, .symmetric), (Tiny.tied, 32, 64, 4, .symmetric), (Tiny.afm7, 2, 64, 4, .trellis),
    (Tiny.afm7, 2, 128, 4, .symmetric),
  ]

  @Test("opens as any model and gives logits that are numbers", arguments: models.indices)
  func runs(index: Int) throws {
    let (configuration, bits, group, embeddingBits, family) = Self.models[index]
    let scratch = Scratch()
    let path = try Tiny.write(configuration, bits: bits, group: group, embeddingBits: embeddingBits, family: family, to: scratch)
    let model = try StoredModel.openConverted(path)
    #expect(model.tokenizer.vocabularyCount == 320)
    #expect(model.tokenizer.decode(model.tokenizer.encode("a first look")) == "a first look")
    let compute = Compute(threads: 1)
    var session = Session(model.configuration, weights: model.weights, adapter: Adapter.none(for: model.weights), on: compute)
    try session.append([1, 2, 3, 300])
    let logits = session.lastLogits
    #expect(logits.count == 320)
    #expect(logits.allSatisfy { $0.isFinite && abs($0) < 100 })
    #expect(Set(logits).count > 300, "random weights must not give equal logits")
  }

  @Test func sameSeedSameFiles() throws {
    let scratch = Scratch()
    let first = try files(below: try Tiny.write(Tiny.afm7, to: scratch, "a"))
    #expect(first.keys.sorted() == ["config.json", "manifest.json", "model.safetensors", "tokenizer.json"])
    #expect(try files(below: try Tiny.write(Tiny.afm7, to: scratch, "b")) == first)
    #expect(try files(below: try Tiny.write(Tiny.afm7, seed: 8, to: scratch, "c"))["model.safetensors"] != first["model.safetensors"])
  }

  @Test func stopsWhenAsked() throws {
    let scratch = Scratch()
    let directory = try StagedDirectory(destination: scratch("model"), inputs: .none)
    let model = SyntheticModel(Tiny.llama, scheme: .init())
    #expect(throws: BenchmarkError.interrupted) { try model.write(into: directory) { done, total in done < total / 2 } }
    _ = consume directory
    #expect(scratch.names == [])
  }

  @Test("the shapes are those of the models they stand for")
  func shapes() throws {
    let elements = try BenchmarkShape.allCases.map { shape in
      let parameters = DecoderWeights.declarations(of: try ModelConfiguration(json: .object(shape.configuration))).parameters
      return parameters.reduce(0) { $0 + $1.rows * $1.columns }
    }
    // llama2.c's 110M (109,529,856), Llama 3.2 1B (1,235,814,400), and 3.111 B less what rounding of the last digit hides.
    #expect(elements[0] == 109_529_856)
    #expect(elements[1] == 1_235_814_400)
    #expect((3_110_500_000..<3_111_500_000).contains(elements[2]), "\(elements[2])")
  }
}
