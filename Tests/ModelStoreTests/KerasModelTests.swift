@testable import DibitCheckpoint
@testable import DibitFiles
import DibitJSON
@testable import DibitModelStore
import DibitTensor
import Testing

/// Committed presets; see `.ci/make-keras-fixtures.py`.
private let fixtures = String(#filePath.dropLast("ModelStoreTests/KerasModelTests.swift".count)) + "Fixtures/keras/"

private func configuration(_ family: String) throws -> JSONValue {
  try JSONValue(parsing: try readFile(fixtures + family + "/config.json", limit: 65_536), depthLimit: 16)
}

/// The elements of a view of `values`.
private func seen(_ values: [Float], as view: TensorView) -> [Float] {
  guard view.shape != nil else { return values }
  var strides = [Int](repeating: 1, count: view.split.count)
  for axis in strides.indices.dropLast().reversed() { strides[axis] = strides[axis + 1] * view.split[axis + 1] }
  return values.indices.map { index in
    var (rest, source) = (index, 0)
    for axis in view.order.reversed() {
      source += rest % view.split[axis] * strides[axis]
      rest /= view.split[axis]
    }
    return values[source]
  }
}

@Suite struct KerasModelTests {
  #if HDF5
    /// The script that wrote the presets wrote the same parameters as Hugging Face keeps them, and compared logits.
    @Test(arguments: ["llama", "mistral", "gemma", "gemma2"]) func tensorsAreThoseOfHuggingFace(_ family: String) throws {
      let file = try HDF5Container(path: fixtures + family + "/model.weights.h5")
      let model = try KerasModel.translate(try configuration(family), tensors: file.tensors, path: "p")
      let expected = try Checkpoint.open(fixtures + family + "/translated.safetensors")
      #expect(Set(model.views.map(\.name)) == Set(expected.tensorNames) && model.views.count == expected.tensorNames.count)
      for view in model.views {
        let index = try #require(file.tensors.firstIndex { $0.name == view.source })
        let shape = file.tensors[index].shape
        var values = [Float](repeating: .nan, count: shape.reduce(1, *))
        var target = values.mutableSpan
        try file.readRows(index, rows: 0..<(shape.count >= 2 ? shape[0] : 1), into: &target)
        #expect(view.shape ?? shape == expected.info(view.name)?.shape)
        #expect(try seen(values, as: view) == expected.readVector(view.name), "\(view.name)")
      }
    }
  #endif

  @Test func configurations() throws {
    let common: [(String, JSONValue)] = [
      ("vocab_size", 10), ("hidden_size", 8), ("intermediate_size", 12), ("num_hidden_layers", 2), ("num_attention_heads", 4),
      ("num_key_value_heads", 2),
    ]
    let special: [(family: String, keys: [(String, JSONValue)])] = [
      (
        "llama",
        [
          ("model_type", "llama"), ("head_dim", 2), ("rms_norm_eps", 1e-5), ("tie_word_embeddings", false), ("rope_theta", 500_000),
          (
            "rope_scaling",
            [
              "rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 16,
            ]
          ), ("max_position_embeddings", 128),
        ]
      ),
      (
        "mistral",
        [("model_type", "mistral"), ("head_dim", 4), ("sliding_window", 5), ("rms_norm_eps", 1e-6), ("tie_word_embeddings", false)]
      ),
      ("gemma", [("model_type", "gemma"), ("head_dim", 4), ("hidden_activation", "gelu_pytorch_tanh"), ("tie_word_embeddings", true)]),
      (
        "gemma2",
        [
          ("model_type", "gemma2"), ("query_pre_attn_scalar", 4), ("sliding_window", 6), ("attn_logit_softcapping", 5),
          ("final_logit_softcapping", 3), ("layer_types", ["sliding_attention", "full_attention"]), ("tie_word_embeddings", true),
        ]
      ),
    ]
    for (family, keys) in special {
      let keras = try configuration(family)
      #expect(KerasModel.recognises(keras))
      let model = try KerasModel.translate(keras, tensors: Preset(family).tensors, path: "p")
      #expect(!KerasModel.recognises(model.configuration))
      for (key, value) in common + keys {
        let found = try #require(model.configuration[key], "\(family) \(key)")
        if let number = value.double { #expect(found.double == number) } else { #expect(same(found, value), "\(family) \(key)") }
      }
    }
  }

  /// Equal, numbers by value.
  private func same(_ one: JSONValue, _ other: JSONValue) -> Bool {
    if let a = one.double, let b = other.double { return a == b }
    guard let a = one.object, let b = other.object else { return one == other }
    return a.keys == b.keys && zip(a.members, b.members).allSatisfy { same($0.value, $1.value) }
  }

  @Test func aTaskHoldsItsBackbone() throws {
    let backbone = try configuration("gemma")
    let task: JSONValue = ["class_name": "GemmaCausalLM", "config": ["backbone": backbone, "preprocessor": .null]]
    let preset = Preset("gemma")
    let whole = try KerasModel.translate(backbone, tensors: preset.tensors, path: "p")
    #expect(try KerasModel.translate(task, tensors: preset.tensors, path: "p") == whole)
    // A task that was saved whole has its backbone among its layers.
    let moved = preset.tensors.map { StoredTensor(name: "layers/gemma_backbone/" + $0.name, like: $0) }
    #expect(try KerasModel.translate(task, tensors: moved, path: "p").views.map(\.name) == whole.views.map(\.name))
  }

  @Test func layersUnderTheirOwnNames() throws {
    let renamed = Preset("llama").tensors.map { tensor in
      var name = tensor.name
      for (old, new) in [
        ("layers/llama_transformer_decoder_1/", "_layer_checkpoint_dependencies/transformer_layer_1/"),
        ("layers/llama_transformer_decoder/", "_layer_checkpoint_dependencies/transformer_layer_0/"),
        ("layers/reversible_embedding/", "_layer_checkpoint_dependencies/token_embedding/"),
        ("layers/llama_layer_norm/", "_layer_checkpoint_dependencies/sequence_output_layernorm/"),
      ] where name.hasPrefix(old) {
        name = new + name.dropFirst(old.count)
        break
      }
      return StoredTensor(name: name, like: tensor)
    }
    let model = try KerasModel.translate(try configuration("llama"), tensors: renamed, path: "p")
    #expect(model.views.count == 21 && model.views.allSatisfy { $0.source.hasPrefix("_layer_checkpoint_dependencies/") })
  }
}

/// The datasets of a preset with the fixtures' sizes, by their names alone.
struct Preset {
  var tensors: [StoredTensor] = []

  init(_ family: String) {
    let gemma = family.hasPrefix("gemma")
    let head = family == "llama" ? 2 : 4
    add("layers/reversible_embedding/vars/0", [10, 8])
    if !gemma { add("layers/reversible_embedding/vars/1", [8, 10]) }
    add("layers/\(["llama": "llama_layer_norm", "mistral": "mistral_layer_normalization"][family] ?? "rms_normalization")/vars/0", [8])
    let block = gemma ? "gemma_decoder_block" : "\(family)_transformer_decoder"
    for layer in ["", "_1"] {
      let at = "layers/\(block)\(layer)/"
      for (part, heads) in [("query", 4), ("key", 2), ("value", 2)] {
        if gemma {
          add(at + "attention/\(part)_dense/vars/0", [heads, 8, head])
        } else {
          add(at + "_self_attention_layer/_\(part)_dense/vars/0", [8, heads, head])
        }
      }
      if gemma {
        add(at + "attention/output_dense/vars/0", [4, head, 8])
        var norms = ["pre_attention_norm", "pre_ffw_norm"]
        if family == "gemma2" { norms += ["post_attention_norm", "post_ffw_norm"] }
        for norm in norms { add(at + norm + "/vars/0", [8]) }
        for part in ["gating_ffw", "gating_ffw_2"] { add(at + part + "/vars/0", [8, 12]) }
        add(at + "ffw_linear/vars/0", [12, 8])
      } else {
        add(at + "_self_attention_layer/_output_dense/vars/0", [4, head, 8])
        for norm in ["_self_attention_layernorm", "_feedforward_layernorm"] { add(at + norm + "/vars/0", [8]) }
        for part in ["gate", "intermediate"] { add(at + "_feedforward_\(part)_dense/vars/0", [8, 12]) }
        add(at + "_feedforward_output_dense/vars/0", [12, 8])
      }
    }
  }

  private mutating func add(_ name: String, _ shape: [Int]) {
    tensors.append(StoredTensor(name: name, dtype: .f32, shape: shape, storage: "F32", byteCount: shape.reduce(4, *)))
  }
}

extension StoredTensor {
  /// Another name or shape for the same storage.
  init(name: String, like tensor: StoredTensor, shape: [Int]? = nil) {
    self.init(name: name, dtype: tensor.dtype, shape: shape ?? tensor.shape, storage: tensor.storage, byteCount: tensor.byteCount)
  }
}
