import DibitJSON
import DibitModel
import DibitTestSupport
import Testing

@Suite struct ConfigurationTests {
  @Test func llama() throws {
    let tiny = try TinyCheckpoint.llama()
    let c = try ModelConfiguration(json: .object(tiny.configuration))
    #expect(c.family == .llama)
    #expect(c.vocabularySize == 320)
    #expect((c.hiddenSize, c.feedForwardSize, c.layers, c.heads, c.keyValueHeads, c.headSize) == (64, 96, 2, 4, 2, 16))
    #expect((c.normEpsilon, c.ropeTheta, c.contextLength) == (1e-5, 10_000, 256))
    #expect(!c.tiesEmbeddings)
    #expect(!c.normalizesHeads)
    #expect(!c.quantizesKeyValues)
  }

  @Test func llamaDefaults() throws {
    var json = try TinyCheckpoint.llama().configuration
    for key in ["num_key_value_heads", "rms_norm_eps", "rope_theta", "tie_word_embeddings", "max_position_embeddings"] { json[key] = nil }
    let c = try ModelConfiguration(json: .object(json))
    #expect((c.keyValueHeads, c.normEpsilon, c.ropeTheta, c.contextLength) == (4, 1e-6, 10_000, 2048))
    #expect(!c.tiesEmbeddings)
    json["rope_parameters"] = ["rope_theta": 5e5, "rope_type": "default"]
    #expect(try ModelConfiguration(json: .object(json)).ropeTheta == 5e5)
    json["rope_scaling"] = .null
    #expect(try ModelConfiguration(json: .object(json)).ropeTheta == 5e5)
  }

  @Test func afm7RoundTrip() throws {
    let c = try ModelConfiguration(json: .object(try TinyCheckpoint.afm7().configuration))
    #expect((c.layers, c.reusingLayers, c.keyValueLayers, c.feedForwardSize) == (4, 1, 3, 176))
    #expect((0..<4).map { c.keyValueLayer(of: $0) } == [0, 1, 2, 2])
    #expect(c.tiesEmbeddings)
    #expect(c.normalizesHeads)
    #expect(c.quantizesKeyValues)
    #expect(try ModelConfiguration(json: c.json) == c)
  }

  static let faults: [(key: String, value: JSONValue?, message: String)] = [
    ("num_heads", nil, "config.json: the key 'num_heads' is missing"),
    ("num_heads", 0, "config.json: 'num_heads': expected a whole number from 1 to 16777216, found 0"),
    ("num_heads", 2.5, "config.json: 'num_heads': expected a whole number from 1 to 16777216, found 2.5"),
    ("num_layers", 16_777_217, "config.json: 'num_layers': expected a whole number from 1 to 16777216, found 16777217"),
    ("num_kv_reuse_layers", 4, "config.json: 'num_kv_reuse_layers': expected less than the 4 layers, found 4"),
    ("hidden_dim_scale_factor", 2000.0, "config.json: 'hidden_dim_scale_factor': expected a factor between 0 and 1024, found 2000.0"),
    ("hidden_dim_scale_factor", 0.001, "config.json: 'hidden_dim_scale_factor': expected a feed-forward size of at least 1, found 0"),
    ("tie_word_embeddings", false, "config.json: 'tie_word_embeddings' is false, which is not supported; supported is true"),
    ("model_type", 7, "config.json: 'model_type': expected a string, found a number"),
    ("rope_theta", -1.0, "config.json: 'rope_theta': expected a positive number, found -1"),
  ]

  @Test(arguments: faults.indices)
  func fault(index: Int) throws {
    let item = Self.faults[index]
    var json = try TinyCheckpoint.afm7().configuration
    json[item.key] = item.value
    var message: String?
    do throws(ModelError) { _ = try ModelConfiguration(json: .object(json)) } catch { message = error.description }
    #expect(message == item.message)
  }

  @Test func notAnObject() {
    #expect(throws: ModelError.missingKey("model_type")) { try ModelConfiguration(json: []) }
  }
}
