import DibitCheckpoint
import DibitFiles
import DibitJSON
@testable import DibitModelStore
import DibitTensor
import Glibc
import Testing

private let stories = "../shared/data/stories260k"

@Suite struct GGUFModelTests {
  @Test func storiesAreTheHuggingFaceCheckpoint() throws {
    guard let file = try? Checkpoint.open(stories + "/stories260K.gguf"), let hugging = try? Checkpoint.open(stories + "/hf") else {
      print("skipped: \(stories) is not there")
      return
    }
    let gguf = try #require(file.gguf)
    let translation = try GGUFModel.translate(gguf)
    let views = try file.viewed(translation.views)
    #expect(Set(views.tensorNames) == Set(hugging.tensorNames))
    for name in hugging.tensorNames {
      #expect(views.info(name)?.shape == hugging.info(name)?.shape)
      let (one, other) = (try views.readVector(name), try hugging.readVector(name))
      #expect(one.map(\.bitPattern) == other.map(\.bitPattern), "\(name)")
    }
    let config = translation.configuration
    #expect(config["tie_word_embeddings"] == true, "output.weight repeats the embedding")
    #expect(config["model_type"] == "llama" && config["rms_norm_eps"] == .number(1e-5) && config["vocab_size"] == 512)
    #expect(config["max_position_embeddings"] == 2048, "what the file says")
  }

  /// Exported and translated, every tensor is back at its name, and the configuration says the same.
  @Test(arguments: GGUFArchitecture.all.map(\.family))
  func thereAndBack(family: String) throws {
    let model = tiny(family)
    let export = try GGUFModel.export(configuration: model.configuration, tensors: model.tensors)
    let path = "/tmp/dibit-gguf-\(family)-\(UInt64.random(in: 0 ..< .max)).gguf"
    let shapes = export.views.map { view in view.shape ?? model.tensors.first { $0.name == view.source }?.shape ?? [] }
    let elements = Dictionary(uniqueKeysWithValues: model.tensors.enumerated().map { ($1.name, ramp($0, $1.shape)) })
    var writer = try GGUFWriter(
      path: path, metadata: export.metadata.map { ($0.key, $0.value) },
      tensors: zip(export.views, shapes).map { ($0.name, .f32, $1) } + export.tables.map { ($0.name, .f32, [$0.values.count]) })
    for view in export.views {
      let floats = reordered(elements[view.source] ?? [], view)
      try writer.append(floats: floats.span)
    }
    for table in export.tables { try writer.append(floats: table.values.span) }
    _ = try writer.finalize()
    let checkpoint = try Checkpoint.open(path)
    let translation = try GGUFModel.translate(try #require(checkpoint.gguf))
    let views = try checkpoint.viewed(translation.views)
    #expect(Set(views.tensorNames) == Set(model.tensors.map(\.name)))
    for (name, shape) in model.tensors {
      #expect(views.info(name)?.shape == shape, "\(name)")
      #expect(try views.readVector(name) == elements[name], "\(name)")
    }
    for (key, value) in model.configuration.object?.members ?? [] where key != "rope_parameters" {
      #expect(translation.configuration[key]?.double == value.double, "\(key)")
      if value.double == nil { #expect(translation.configuration[key] == value, "\(key)") }
    }
    #expect(export.normsToRaise.isEmpty == !family.hasPrefix("gemma"))
    unsafe unlink(path)
  }

  @Test func whatGGUFCannotHoldIsRefused() {
    #expect(
      throws: GGUFModelError.notExportable(
        "llama.cpp has no architecture for model_type 'afm7': write it as safetensors, which mlx-lm reads")
    ) {
      _ = try GGUFModel.export(configuration: ["model_type": "afm7"], tensors: [])
    }
    let model = tiny("llama")
    #expect(throws: GGUFModelError.unknownTensor("x", architecture: "llama")) {
      _ = try GGUFModel.export(configuration: model.configuration, tensors: [("x", [1])])
    }
    #expect(throws: GGUFModelError.missingKey("model_type")) { _ = try GGUFModel.export(configuration: [:], tensors: []) }
    #expect(throws: GGUFModelError.missingKey("hidden_size")) {
      _ = try GGUFModel.export(configuration: ["model_type": "llama"], tensors: [])
    }
  }

  @Test func llama3FactorsBecomeATable() throws {
    var configuration = tiny("llama").configuration.object ?? JSONObject()
    configuration["rope_theta"] = 500_000
    configuration["head_dim"] = 64
    configuration["rope_scaling"] = [
      "rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192,
    ]
    let table = try #require(try GGUFModel.export(configuration: .object(configuration), tensors: []).tables.first)
    #expect(table.name == "rope_freqs.weight" && table.values.count == 32)
    #expect(table.values.first == 1 && table.values.last == 32)
    #expect(zip(table.values, table.values.dropFirst()).allSatisfy { $0 <= $1 })
  }

  @Test(
    arguments: [
      ([("general.architecture", GGUFValue.text("mystery"))], "general.architecture 'mystery' is not supported"),
      ([], "the key 'general.architecture' is missing"), ([("general.architecture", .uint32(1))], "a string expected"),
      ([("general.architecture", .text("llama"))], "'llama.block_count' is missing"),
      ([("general.architecture", .text("llama")), ("llama.block_count", .uint32(0))], "'llama.block_count': a whole number from 1"),
      ([("general.architecture", .text("llama")), ("llama.block_count", .uint32(1 << 31))], "'llama.block_count': a whole number from 1"),
      ([("general.architecture", .text("llama")), ("llama.expert_count", .uint32(8))], "'llama.expert_count' is 8"),
    ] as [([(String, GGUFValue)], String)])
  func wrongHyperParameters(metadata: [(String, GGUFValue)], says: String) throws {
    let path = "/tmp/dibit-gguf-\(UInt64.random(in: 0 ..< .max)).gguf"
    defer { unsafe unlink(path) }
    _ = try GGUFWriter(path: path, metadata: metadata.map { ($0, $1) }, tensors: []).finalize()
    let file = try GGUFFile(try MappedFile(path: path).bytes, file: path)
    do throws(GGUFModelError) {
      _ = try GGUFModel.translate(file)
      Issue.record("accepted")
    } catch {
      #expect(error.description.contains(says), "\(error)")
    }
  }
}

/// A small model of a family: its config.json and the names and shapes of its tensors.
private func tiny(_ family: String) -> (configuration: JSONValue, tensors: [(name: String, shape: [Int])]) {
  let (C, F, V, H, K, D) = (24, 20, 10, 4, 2, 6)
  if family == "gpt2" {
    let block: [(String, [Int])] = [
      ("ln_1.weight", [C]), ("ln_1.bias", [C]), ("attn.c_attn.weight", [C, 3 * C]), ("attn.c_attn.bias", [3 * C]),
      ("attn.c_proj.weight", [C, C]), ("attn.c_proj.bias", [C]), ("mlp.c_fc.weight", [C, F]), ("mlp.c_proj.weight", [F, C]),
    ]
    return (
      [
        "model_type": "gpt2", "vocab_size": 10, "n_embd": 24, "n_layer": 2, "n_head": 4, "n_inner": 20, "n_positions": 16,
        "layer_norm_epsilon": 1e-5,
      ],
      [("transformer.wte.weight", [V, C]), ("transformer.wpe.weight", [16, C])]
        + (0..<2).flatMap { layer in block.map { ("transformer.h.\(layer)." + $0, $1) } } + [("transformer.ln_f.weight", [C])]
    )
  }
  if family == "gpt_neox" {
    let block: [(String, [Int])] = [
      ("attention.query_key_value.weight", [3 * C, C]), ("attention.query_key_value.bias", [3 * C]), ("attention.dense.weight", [C, C]),
      ("mlp.dense_h_to_4h.weight", [F, C]),
    ]
    return (
      [
        "model_type": "gpt_neox", "vocab_size": 10, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 20, "max_position_embeddings": 16, "layer_norm_eps": 1e-5, "rotary_pct": 0.5, "use_parallel_residual": false,
      ],
      [("gpt_neox.embed_in.weight", [V, C]), ("embed_out.weight", [V, C])]
        + (0..<2).flatMap { layer in block.map { ("gpt_neox.layers.\(layer)." + $0, $1) } }
    )
  }
  var configuration: JSONObject = JSONObject([
    ("model_type", .string(family)), ("vocab_size", 10), ("hidden_size", 24), ("num_hidden_layers", 2), ("num_attention_heads", 4),
    ("num_key_value_heads", 2), ("head_dim", 6), ("intermediate_size", 20), ("max_position_embeddings", 16), ("rms_norm_eps", 1e-5),
    ("rope_theta", 20_000.0), ("tie_word_embeddings", true),
  ])
  if ["mistral", "phi3", "gemma2", "gemma3_text"].contains(family) { configuration["sliding_window"] = 8 }
  if ["gemma2", "gemma3_text"].contains(family) { configuration["query_pre_attn_scalar"] = 6 }
  if family == "gemma2" { (configuration["attn_logit_softcapping"], configuration["final_logit_softcapping"]) = (50.0, 30.0) }
  if family == "llama" { configuration["rope_scaling"] = ["rope_type": "linear", "factor": 2.0] }
  var block: [(String, [Int])] = [("self_attn.o_proj.weight", [C, H * D]), ("mlp.down_proj.weight", [C, F])]
  if family == "phi3" {
    block += [("self_attn.qkv_proj.weight", [(H + 2 * K) * D, C]), ("mlp.gate_up_proj.weight", [2 * F, C])]
  } else {
    block += [
      ("self_attn.q_proj.weight", [H * D, C]), ("self_attn.k_proj.weight", [K * D, C]), ("self_attn.v_proj.weight", [K * D, C]),
      ("mlp.gate_proj.weight", [F, C]), ("mlp.up_proj.weight", [F, C]), ("self_attn.q_proj.bias", [H * D]),
    ]
  }
  if family != "olmo2" { block.append(("input_layernorm.weight", [C])) }
  block.append(("post_attention_layernorm.weight", [C]))
  return (
    .object(configuration),
    [("model.embed_tokens.weight", [V, C]), ("model.norm.weight", [C])]
      + (0..<2).flatMap { layer in block.map { ("model.layers.\(layer)." + $0, $1) } }
  )
}

private func ramp(_ seed: Int, _ shape: [Int]) -> [Float] { (0..<shape.reduce(1, *)).map { Float(1000 * seed + $0) } }

/// The elements of a view, by its definition.
private func reordered(_ values: [Float], _ view: TensorView) -> [Float] {
  guard view.shape != nil else { return values }
  let strides = view.split.indices.map { view.split[($0 + 1)...].reduce(1, *) }
  let sizes = view.order.map { view.split[$0] }
  return values.indices.map { index in
    var (rest, source) = (index, 0)
    for axis in sizes.indices.reversed() {
      source += rest % sizes[axis] * strides[view.order[axis]]
      rest /= sizes[axis]
    }
    return values[source]
  }
}
