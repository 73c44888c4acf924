import DibitJSON
import DibitTensor
import Testing

@testable import DibitCheckpoint
@testable import DibitModelStore

/// Presets that must not be read with other numbers than Keras computes.
@Suite struct KerasErrorTests {
  private static let llama: [(key: String, value: JSONValue)] = [
    ("vocabulary_size", 10), ("num_layers", 2), ("num_query_heads", 4), ("num_key_value_heads", 2), ("hidden_dim", 8),
    ("intermediate_dim", 12),
  ]
  private static let gemma: [(key: String, value: JSONValue)] =
    Array(llama.dropLast()) + [(key: "intermediate_dim", value: 24), (key: "head_dim", value: 4)]

  /// What translating such a preset throws; `changes` replace arguments or add some.
  private func error(
    _ name: String, _ arguments: [(key: String, value: JSONValue)], _ changes: [(String, JSONValue)] = [],
    tensors: (([StoredTensor]) -> [StoredTensor])? = nil, preset: String? = nil
  ) -> ModelStoreError? {
    var members = JSONObject(arguments)
    for (key, value) in changes { members[key] = value }
    let keras: JSONValue = ["class_name": .string(name), "config": .object(members)]
    let stored = Preset(preset ?? (name.hasPrefix("Gemma") ? "gemma" : name.hasPrefix("Mistral") ? "mistral" : "llama")).tensors
    do throws(ModelStoreError) {
      _ = try KerasModel.translate(keras, tensors: tensors?(stored) ?? stored, path: "p")
      return nil
    } catch { return error }
  }

  private func key(_ error: ModelStoreError?) -> String? {
    if case .malformed(path: "p", let key, _, _) = error { key } else { nil }
  }

  @Test func defaultsAreAccepted() {
    #expect(error("LlamaBackbone", Self.llama) == nil)
    #expect(error("Llama3Backbone", Self.llama, [("dropout", 0), ("dtype", "bfloat16"), ("name", "x"), ("trainable", true)]) == nil)
    #expect(error("GemmaBackbone", Self.gemma) == nil)
  }

  @Test(arguments: [
    ("LlamaBackbone", "attention_sinks", true as JSONValue), ("LlamaBackbone", "hidden_dim", 0), ("LlamaBackbone", "hidden_dim", "8"),
    ("LlamaBackbone", "num_query_heads", 3), ("LlamaBackbone", "num_key_value_heads", 3), ("LlamaBackbone", "num_layers", .null),
    ("LlamaBackbone", "num_layers", 10_000_000),
    ("LlamaBackbone", "vocabulary_size", 1_000_000_000_000), ("LlamaBackbone", "layer_norm_epsilon", -1),
    ("LlamaBackbone", "rope_position_scaling_factor", 2), ("LlamaBackbone", "rope_scaling_factor", 0.5),
    ("LlamaBackbone", "tie_word_embeddings", true),
    ("LlamaBackbone", "dtype", ["class_name": "QuantizedDTypePolicy", "config": ["name": "int8"]] as JSONValue),
    ("LlamaBackbone", "dtype", "int8_from_bfloat16"), ("LlamaBackbone", "head_dim", 2),
    ("GemmaBackbone", "use_sliding_window_attention", true), ("GemmaBackbone", "final_logit_soft_cap", 30),
    ("GemmaBackbone", "attention_logit_soft_cap", 50), ("GemmaBackbone", "query_head_dim_normalize", false),
    ("GemmaBackbone", "use_post_attention_norm", true), ("GemmaBackbone", "layer_norm_epsilon", 1e-5),
    ("GemmaBackbone", "intermediate_dim", 25), ("GemmaBackbone", "head_dim", .null), ("GemmaBackbone", "rope_max_wavelength", 1_000_000),
  ]) func argumentsThatCannotBeExpressed(_ name: String, _ argument: String, _ value: JSONValue) {
    #expect(key(error(name, name == "GemmaBackbone" ? Self.gemma : Self.llama, [(argument, value)])) == argument)
  }

  @Test func ropeOfLlama3NeedsAllItsNumbers() {
    let changes: [(String, JSONValue)] = [
      ("rope_low_freq_factor", 1), ("rope_high_freq_factor", 4), ("rope_pretraining_sequence_length", 64),
    ]
    #expect(key(error("LlamaBackbone", Self.llama, changes)) == "rope_frequency_adjustment_factor")
    #expect(error("LlamaBackbone", Self.llama, changes + [("rope_frequency_adjustment_factor", 8)]) == nil)
  }

  @Test func otherClasses() {
    for name in ["BertBackbone", "MixtralBackbone", "LlamaCausalLM"] { #expect(key(error(name, Self.llama)) == "class_name") }
    #expect(
      throws: ModelStoreError.malformed(
        path: "p", key: "class_name", expected: "a LlamaBackbone, Llama3Backbone, MistralBackbone or GemmaBackbone with its 'config'",
        found: "none")
    ) { try KerasModel.translate([], tensors: [], path: "p") }
    #expect(!KerasModel.recognises(["model_type": "llama", "class_name": "x", "config": [:]]) && !KerasModel.recognises(3))
  }

  @Test func tensorsThatDoNotFit() {
    let query = "layers/llama_transformer_decoder_1/_self_attention_layer/_query_dense/vars/0"
    #expect(
      error("LlamaBackbone", Self.llama) { $0.filter { $0.name != query } }
        == .tensor(
          "1/self_attention_layer/query_dense/0", path: "p", expected: "a variable of shape [8, 4, 2]",
          found: "none; the file is not whole"))
    #expect(
      error("LlamaBackbone", Self.llama) { $0.map { $0.name == query ? StoredTensor(name: query, like: $0, shape: [8, 2, 4]) : $0 } }
        == .tensor(query, path: "p", expected: "shape [8, 4, 2]", found: "[8, 2, 4]"))
    // A layer too many, adapters of Keras, other things.
    for name in [
      "layers/llama_transformer_decoder_2/_feedforward_layernorm/vars/0", "layers/llama_transformer_decoder/_new_dense/vars/0",
    ] {
      #expect(
        error("LlamaBackbone", Self.llama) { $0 + [StoredTensor(name: name, like: $0[0])] }
          == .tensor(name, path: "p", expected: "a variable that the configuration has a place for", found: "one too many"))
    }
    for name in [
      query.dropLast() + "1", "layers/dense/vars/0", "vars/0", "layers/llama_transformer_decoder_01/_x/vars/0", "x", "layers",
      "layers/llama_transformer_decoder_-1/x/vars/0", "layers/reversible_embedding/vars/2", "layers/llama_layer_norm/x/vars/0",
    ] {
      #expect(
        error("LlamaBackbone", Self.llama) { $0 + [StoredTensor(name: String(name), like: $0[0])] }
          == .tensor(String(name), path: "p", expected: "a variable of a llama backbone", found: "a name that is not known"))
    }
    let twice = "layers/transformer_layer_0/_feedforward_layernorm/vars/0"
    #expect(
      error("LlamaBackbone", Self.llama) { $0 + [StoredTensor(name: twice, like: $0[0])] }
        == .tensor(
          twice, path: "p", expected: "one tensor in its place",
          found: "also 'layers/llama_transformer_decoder/_feedforward_layernorm/vars/0'"))
    // An output layer of its own where the family has none.
    #expect(
      key(error("GemmaBackbone", Self.gemma) { $0 + [StoredTensor(name: "layers/reversible_embedding/vars/1", like: $0[0])] })
        == "vocabulary_size")
  }

  @Test func scaleOfTheLargeGemma2() throws {
    var members = JSONObject(Self.gemma)
    for (key, value) in [("use_post_ffw_norm", true), ("use_post_attention_norm", true), ("query_head_dim_normalize", false)]
      as [(String, JSONValue)]
    {
      members[key] = value
    }
    let keras: JSONValue = ["class_name": "GemmaBackbone", "config": .object(members)]
    let model = try KerasModel.translate(keras, tensors: Preset("gemma2").tensors, path: "p")
    #expect(model.configuration["query_pre_attn_scalar"]?.int == 2)
    #expect(model.configuration["layer_types"] == ["full_attention", "full_attention"])
    #expect(model.configuration["attn_logit_softcapping"] == .null)
  }
}
