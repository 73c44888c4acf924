import BasicContainers
import DibitCheckpoint
import DibitConversion
import DibitFiles
import DibitJSON
import DibitKernels
import DibitModel
import DibitModelStore
import DibitQuantization
import DibitTensor
import DibitTestSupport
import Testing

/// A converted tiny model and an adapter for it on the disk.
private struct AdapterCase {
  let scratch = Scratch()
  let model: StoredModel
  var path: String { scratch("adapter") }

  init(bits: Int = 2) throws {
    let source = try TinyCheckpoint.afm7().write(to: scratch)
    model = try Self.convert(source, scratch("model"), bits)
    let directory = try StagedDirectory(destination: scratch("adapter"), inputs: .none)
    try StoredAdapter.write(makeAdapter(), base: model, manifest: JSONObject([(key: "note", value: "kept")]), into: directory)
    try directory.commit()
  }

  static func convert(_ source: String, _ output: String, _ bits: Int) throws -> StoredModel {
    var options = ConversionOptions()
    options.scheme.bits = bits
    _ = try Converter(source: source, output: output, options: options, on: Compute(threads: 1)).run()
    return try StoredModel.openConverted(output)
  }

  /// An adapter whose A and B are random, so that a swap or a loss shows.
  func makeAdapter() -> Adapter {
    var configuration = AdapterConfiguration()
    (configuration.rank, configuration.alpha, configuration.targets) = (3, 12, [.query, .value, .down])
    var adapter = Adapter(configuration, for: model.weights)
    var rng = SplitMix64(seed: 9)
    for i in 0..<adapter.count {
      for row in 0..<adapter.a[i].rows { for column in 0..<adapter.a[i].columns { adapter.a[i][row, column] = rng.normal() } }
      for row in 0..<adapter.b[i].rows { for column in 0..<adapter.b[i].columns { adapter.b[i][row, column] = rng.normal() } }
    }
    return adapter
  }

  /// The message of the failure to open the adapter.
  func problem(with other: StoredModel? = nil) -> String? {
    do throws(ModelStoreError) {
      _ = try StoredAdapter.open(path, for: other ?? model, on: Compute(threads: 1))
      return nil
    } catch { return error.description }
  }

  /// Rewrites a JSON file of the adapter.
  func edit(_ file: String, _ change: (inout JSONObject) -> Void) throws {
    var json = try readJSON(file, in: path).object ?? JSONObject()
    change(&json)
    try scratch.write(JSONValue.object(json).serialized(), to: "adapter/" + file)
  }
}

@Suite struct AdapterTests {
  @Test func roundTripIsBitExact() throws {
    let adapterCase = try AdapterCase()
    let written = adapterCase.makeAdapter()
    let read = try StoredAdapter.open(adapterCase.path, for: adapterCase.model, on: Compute(threads: 1))
    #expect(read.configuration == written.configuration)
    #expect(read.modules == written.modules)
    #expect(read.count == 3 * 4 - 1)
    for i in 0..<written.count {
      #expect(read.a[i].values == written.a[i].values)
      #expect(read.b[i].values == written.b[i].values)
    }
    let manifest = try StoredAdapter.readManifest(adapterCase.path)
    #expect(manifest["note"] == "kept")
    #expect(manifest["base_digest"]?.string == adapterCase.model.digest)
    #expect(try files(below: adapterCase.path).keys.sorted() == ["adapter_config.json", "adapter_model.safetensors", "manifest.json"])
  }

  @Test("through another tool's files and back, every matrix keeps its bits", arguments: [AdapterFormat.peft, .mlx])
  func throughOtherTools(_ format: AdapterFormat) throws {
    let adapterCase = try AdapterCase()
    let (exported, back) = (adapterCase.scratch("exported"), adapterCase.scratch("back"))
    let written = try AdapterConverter.exportAdapter(
      [AdapterPart(path: adapterCase.path)], base: adapterCase.model, format: format, output: exported, overwrite: false,
      on: Compute(threads: 1))
    let imported = try AdapterConverter.importAdapter(
      exported, base: adapterCase.model, output: back, overwrite: false, on: Compute(threads: 1))
    #expect(written == 11 && imported == 11)
    let before = adapterCase.makeAdapter()
    let after = try StoredAdapter.open(back, for: adapterCase.model, on: Compute(threads: 1))
    #expect(after.configuration == before.configuration && after.modules == before.modules)
    for i in 0..<before.count { #expect(after.a[i].values == before.a[i].values && after.b[i].values == before.b[i].values) }
  }

  @Test func factsInAGGUFFileAreAnObject() throws {
    let scratch = Scratch()
    for (index, (key, value, message)) in [
      ("dibit.manifest", GGUFValue.text("[1]"), "'dibit.manifest': expected the text of a JSON object, found another text"),
      ("dibit.manifest", .text("{\"labels\": "), "'dibit.manifest': expected the text of a JSON object, found another text"),
      ("dibit.manifest", .uint32(1), "'dibit.manifest': expected the text of a JSON object, found an integer"),
      ("dibit.training_texts", .uint32(1), "'dibit.training_texts': expected a text, found an integer"),
    ].enumerated() {
      let path = scratch("\(index).gguf")
      var metadata: [(key: String, value: GGUFValue)] = [(key: "general.type", value: .text("adapter")), (key: key, value: value)]
      if key != "dibit.manifest" { metadata.append((key: "dibit.manifest", value: .text("{}"))) }
      _ = try GGUFWriter(path: path, metadata: metadata, tensors: []).finalize()
      do throws(ModelStoreError) {
        _ = try AdapterFacts.read(path)
        Issue.record("\(message)")
      } catch { #expect(error.description == "'\(path)': \(message)") }
    }
    let none = try AdapterFacts.read(scratch("nothing"))
    #expect(none == AdapterFacts())
  }

  @Test func mlxKeepsMatricesTransposedAndPartsNumbered() throws {
    let adapterCase = try AdapterCase()
    let path = adapterCase.scratch("mlx")
    _ = try AdapterConverter.exportAdapter(
      [AdapterPart(path: adapterCase.path)], base: adapterCase.model, format: .mlx, output: path, overwrite: false, on: Compute(threads: 1))
    let stored = try Checkpoint.open(path + "/adapters.safetensors")
    #expect(stored.info("model.layers.0.self_attn.qkv_proj.lora_a.2")?.shape == [64, 3])
    #expect(stored.info("model.layers.0.self_attn.qkv_proj.lora_b.2")?.shape == [3, 32])
    #expect(stored.info("model.kv_reuse_layers.0.self_attn.q_proj.lora_b")?.shape == [3, 64])
    let adapter = adapterCase.makeAdapter()
    #expect(
      try stored.readVector("model.layers.0.self_attn.qkv_proj.lora_a.0").prefix(3) == [
        adapter.a[0][0, 0], adapter.a[0][1, 0], adapter.a[0][2, 0],
      ])
    let json = try readJSON("adapter_config.json", in: path)
    #expect(json["lora_parameters"]?["scale"] == 4)
    #expect(json["lora_parameters"]?["keys"] == ["mlp.down_proj", "self_attn.q_proj", "self_attn.qkv_proj"])
  }

  @Test func configurationIsWhatPEFTReads() throws {
    let adapterCase = try AdapterCase()
    let json = try readJSON("adapter_config.json", in: adapterCase.path)
    #expect(json["peft_type"] == "LORA")
    #expect(json["task_type"] == "CAUSAL_LM")
    #expect(json["r"] == 3)
    #expect(json["lora_alpha"]?.double == 12)
    #expect(json["target_modules"] == ["q_proj", "v_proj", "down_proj"])
    let names = try Checkpoint.open(adapterCase.path + "/adapter_model.safetensors").tensorNames
    #expect(names.first == "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight")
    #expect(names.contains("base_model.model.model.kv_reuse_layers.0.mlp.down_proj.lora_B.weight"))
  }

  @Test func fixtureFromPEFT() throws {
    let folder = String(#filePath.dropLast("ModelStoreTests/AdapterTests.swift".count)) + "Fixtures/parity/llama"
    let source = try ModelSource.open(folder)
    let (configuration, weights) = (source.configuration, try source.weights())
    let adapter = try StoredAdapter.readPEFT(folder + "/peft", weights: weights, on: Compute(threads: 1))
    #expect(adapter.configuration.rank == 4)
    #expect(adapter.configuration.alpha == 8)
    #expect(adapter.configuration.scale == 2)
    #expect(
      adapter.count == DecoderWeights.declarations(of: configuration).parameters.count { if case .linear = $0.role { true } else { false } }
    )
    for i in 0..<adapter.count { #expect(adapter.b[i].values.contains { $0 != 0 }) }
  }

  @Test func otherBase() throws {
    let adapterCase = try AdapterCase()
    let other = try AdapterCase.convert(adapterCase.scratch("source"), adapterCase.scratch("other"), 4)
    let (mine, its) = (try #require(adapterCase.model.digest), try #require(other.digest))
    #expect(
      adapterCase.problem(with: other)
        == "adapter '\(adapterCase.path)' was trained on the base model \(mine.prefix(12)), not on this one (\(its.prefix(12))): "
        + "use that model, or train again")
    let plain = try StoredModel.open(adapterCase.scratch("source"))
    #expect(adapterCase.problem(with: plain)?.contains("not on this one (a checkpoint)") == true)
  }

  @Test func unsupportedFlag() throws {
    let adapterCase = try AdapterCase()
    try adapterCase.edit("adapter_config.json") { $0["lora_bias"] = true }
    #expect(adapterCase.problem() == "'\(adapterCase.path)': adapter_config.json: 'lora_bias' is true, which is not supported")
  }

  @Test func magnitudesThatAreMissing() throws {
    let adapterCase = try AdapterCase()
    try adapterCase.edit("adapter_config.json") { $0["use_dora"] = true }
    #expect(adapterCase.problem()?.contains("lora_magnitude_vector") == true, "\(adapterCase.problem() ?? "")")
  }

  @Test func magnitudesComeBack() throws {
    let adapterCase = try AdapterCase()
    let weights = adapterCase.model.weights
    var configuration = AdapterConfiguration()
    (configuration.rank, configuration.decomposesWeights) = (3, true)
    var adapter = Adapter(configuration, for: weights)
    var rng = SplitMix64(seed: 1)
    adapter.initialize(using: &rng)
    adapter.initializeMagnitudes(of: weights, on: Compute(threads: 1))
    for i in 0..<adapter.count { for o in 0..<adapter.magnitudes[i].columns { adapter.magnitudes[i][0, o] *= 1 + 0.01 * Float(o % 7) } }
    let directory = try StagedDirectory(destination: adapterCase.scratch("dora"), inputs: .none)
    try StoredAdapter.write(adapter, base: adapterCase.model, manifest: JSONObject(), into: directory)
    try directory.commit()
    let stored = try StoredAdapter.open(adapterCase.scratch("dora"), for: adapterCase.model, on: Compute(threads: 1))
    #expect(stored.configuration.decomposesWeights && stored.count == adapter.count)
    for i in 0..<adapter.count { #expect(stored.magnitudes[i].values == adapter.magnitudes[i].values) }
    let names = try Checkpoint.open(adapterCase.scratch("dora") + "/adapter_model.safetensors").tensorNames
    #expect(names.contains("base_model.model.model.layers.0.self_attn.q_proj.lora_magnitude_vector"))
  }

  @Test func rankStabilizedScale() throws {
    let adapterCase = try AdapterCase()
    try adapterCase.edit("adapter_config.json") { $0["use_rslora"] = true }
    let adapter = try StoredAdapter.open(adapterCase.path, for: adapterCase.model, on: Compute(threads: 1))
    #expect(adapter.configuration.scale == 12 / Float(3).squareRoot())
  }

  @Test(arguments: ["rank_pattern", "alpha_pattern"])
  func unsupportedPattern(key: String) throws {
    let adapterCase = try AdapterCase()
    try adapterCase.edit("adapter_config.json") { $0[key] = ["q_proj": 8] }
    #expect(adapterCase.problem() == "'\(adapterCase.path)': adapter_config.json: '\(key)' is not empty, which is not supported")
  }

  static let faults: [(key: String, value: JSONValue?, message: String)] = [
    ("peft_type", "IA3", "'peft_type': expected 'LORA', found \"IA3\""), ("peft_type", nil, "'peft_type': expected 'LORA', found nothing"),
    ("r", 0, "'r': expected a rank from 1 to 4096, found 0"), ("r", "8", "'r': expected a rank from 1 to 4096, found \"8\""),
    ("lora_alpha", 0, "'lora_alpha': expected a positive number, found 0"),
  ]

  @Test(arguments: faults.indices)
  func malformedConfiguration(index: Int) throws {
    let fault = Self.faults[index]
    let adapterCase = try AdapterCase()
    try adapterCase.edit("adapter_config.json") { $0[fault.key] = fault.value }
    #expect(adapterCase.problem() == "'\(adapterCase.path)/adapter_config.json': \(fault.message)")
  }

  @Test func anotherRankThanTheTensors() throws {
    let adapterCase = try AdapterCase()
    try adapterCase.edit("adapter_config.json") { $0["r"] = 4 }
    #expect(
      adapterCase.problem()
        == "'\(adapterCase.path)/adapter_model.safetensors': tensor 'base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight': "
        + "shape [4, 64] expected, [3, 64] found")
  }

  @Test func strayAndMissingTensors() throws {
    let adapterCase = try AdapterCase()
    let file = adapterCase.path + "/adapter_model.safetensors"
    let checkpoint = try Checkpoint.open(file)
    var tensors = try checkpoint.tensorNames.map { TinyTensor($0, try checkpoint.tensor($0).shape, try checkpoint.readVector($0)) }
    let stray = "base_model.model.model.layers.9.self_attn.q_proj.lora_A.weight"
    try adapterCase.scratch.remove("adapter/adapter_model.safetensors")
    try writeSafetensors(tensors + [TinyTensor(stray, [3, 64], [Float](repeating: 0, count: 192))], to: file)
    #expect(adapterCase.problem() == "'\(adapterCase.path)': adapter tensor '\(stray)' belongs to no linear layer of this model")
    let lost = tensors.removeLast().name
    try adapterCase.scratch.remove("adapter/adapter_model.safetensors")
    try writeSafetensors(tensors, to: file)
    #expect(adapterCase.problem() == "'\(file)': there is no tensor '\(lost)'")
  }

  @Test func missingFiles() throws {
    for name in ["adapter_config.json", "adapter_model.safetensors"] {
      let adapterCase = try AdapterCase()
      try adapterCase.scratch.remove("adapter/" + name)
      #expect(adapterCase.problem() == "'\(adapterCase.path)/\(name)': no such file or directory")
    }
    let foreign = try AdapterCase()
    try foreign.scratch.remove("adapter/manifest.json")
    #expect(
      foreign.problem()
        == "'\(foreign.path)' is an adapter of another tool")
    try foreign.scratch.remove("adapter/adapter_config.json")
    #expect(
      foreign.problem()
        == "'\(foreign.path)' is no adapter: the output of 'dibit train' expected, a folder with 'adapter_model.safetensors' found")
  }

  @Test func corruptedManifest() throws {
    let adapterCase = try AdapterCase()
    let manifest = "'\(adapterCase.path)/manifest.json'"
    try adapterCase.edit("manifest.json") { $0["base_digest"] = 7 }
    #expect(adapterCase.problem() == "\(manifest): 'base_digest': expected a string, found a number")
    try adapterCase.edit("manifest.json") { $0["base_digest"] = nil }
    #expect(adapterCase.problem() == "\(manifest): 'base_digest': expected a string, found nothing")
    try adapterCase.edit("manifest.json") { $0["format"] = "dibit-model" }
    #expect(adapterCase.problem() == "\(manifest): 'format': expected 'dibit-adapter', found \"dibit-model\"")
    try adapterCase.scratch.write("{\"format\": \"dibit-ad", to: "adapter/manifest.json")
    #expect(adapterCase.problem()?.hasPrefix(manifest + ": ") == true)
  }
}

@Suite struct StoredModelTests {
  /// The message of the failure to open a model.
  private func problem(_ path: String) -> String? {
    do throws(ModelStoreError) {
      _ = try StoredModel.openConverted(path)
      return nil
    } catch { return error.description }
  }

  @Test func checkpointIsNotConverted() throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.llama().write(to: scratch)
    #expect(try StoredModel.open(source).digest == nil)
    #expect(
      problem(source)
        == "'\(source)' is a checkpoint, not a converted model"
    )
  }

  @Test func vocabularyTooSmall() throws {
    let scratch = Scratch()
    var tiny = try TinyCheckpoint.llama()
    for name in ["model.embed_tokens.weight", "lm_head.weight"] {
      tiny[name].shape = [300, 64]
      tiny[name].values.removeLast(20 * 64)
    }
    tiny.configuration["vocab_size"] = 300
    let source = try tiny.write(to: scratch)
    #expect(problem(source) == "'\(source)': tokenizer.json has ids up to 311, but the model's vocabulary has 300 entries")
  }

  @Test func damagedModel() throws {
    let scratch = Scratch()
    let model = try AdapterCase.convert(try TinyCheckpoint.afm7().write(to: scratch), scratch("model"), 2).path
    try scratch.write("{}", to: "model/manifest.json")
    #expect(problem(model) == "'\(model)/manifest.json': 'digest': expected a string, found nothing")
    try scratch.remove("model/manifest.json")
    #expect(problem(model) == "'\(model)/manifest.json': no such file or directory")
    var config = try readJSON("config.json", in: model).object ?? JSONObject()
    config["quantization"] = ["format": "gguf"]
    try scratch.write(JSONValue.object(config).serialized(), to: "model/config.json")
    #expect(problem(model) == "'\(model)': config.json: 'quantization.format': expected 'dibit-grid', found \"gguf\"")
  }

  @Test func wrongDType() throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.llama().write(to: scratch)
    // The same header, but that the head is said to hold integers.
    let file = source + "/model.safetensors"
    var bytes = try readFile(file, limit: 1 << 24)
    let declared = Array("\"lm_head.weight\":{\"dtype\":\"F32\"".utf8)
    let at = try #require((0..<bytes.count - declared.count).first { bytes[$0..<$0 + declared.count].elementsEqual(declared) })
    bytes[at + declared.count - 4] = UInt8(ascii: "I")
    try scratch.write(bytes, to: "source/model.safetensors")
    #expect(problem(source) == "'\(source)': tensor 'lm_head.weight': expected a float dtype, found I32")
  }

  @Test func otherFloatsBecomeF32InMemory() throws {
    let scratch = Scratch()
    var tiny = try TinyCheckpoint.llama()
    let expected = tiny["lm_head.weight"].values
    tiny["lm_head.weight"].dtype = .f64
    let model = try StoredModel.open(try tiny.write(to: scratch))
    #expect(model.weights.output.weight.format == .f32)
    #expect(Array(copying: model.weights.output.weight.values) == expected)
  }

  @Test func keyScaleMustBePositive() throws {
    let scratch = Scratch()
    var tiny = try TinyCheckpoint.afm7()
    tiny["model.layers.1.self_attn.quant_key_scale"].values = [0]
    let source = try tiny.write(to: scratch)
    #expect(problem(source) == "'\(source)': tensor 'model.layers.1.self_attn.quant_key_scale': expected one positive number, found 0.0")
  }
}
