package import DibitCheckpoint
internal import DibitJSON

/// A llama2.c checkpoint in Hugging Face terms.
package enum Llama2CModel {
  /// The config.json and the tensors of the Llama model that the header describes.
  ///
  /// llama2.c fixes what its header does not say: epsilon 1e-5, rotary base 10000, beginning of text 1, end of text 2. It rotates
  /// neighbouring pairs of a head where Hugging Face rotates the halves, so that rows of `q` and `k` are permuted:
  /// row `2 i + j` of a head becomes row `j D/2 + i`.
  package static func translation(of parameters: Llama2CParameters) -> ModelTranslation {
    let configuration: JSONValue = [
      "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": .integer(parameters.dimension),
      "intermediate_size": .integer(parameters.hiddenDimension), "num_hidden_layers": .integer(parameters.layerCount),
      "num_attention_heads": .integer(parameters.headCount), "num_key_value_heads": .integer(parameters.keyValueHeadCount),
      "vocab_size": .integer(parameters.vocabularySize), "max_position_embeddings": .integer(parameters.sequenceLength),
      "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu", "tie_word_embeddings": .bool(parameters.sharesClassifier),
      "attention_bias": false, "mlp_bias": false, "bos_token_id": 1, "eos_token_id": 2, "torch_dtype": "float32",
    ]
    var views = [TensorView("model.embed_tokens.weight", from: "tok_embeddings.weight")]
    for layer in 0..<parameters.layerCount { views += block(layer, parameters) }
    views.append(TensorView("model.norm.weight", from: "norm.weight"))
    if !parameters.sharesClassifier { views.append(TensorView("lm_head.weight", from: "output.weight")) }
    return ModelTranslation(configuration: configuration, views: views)
  }

  private static func block(_ layer: Int, _ parameters: Llama2CParameters) -> [TensorView] {
    let (source, name) = ("layers.\(layer).", "model.layers.\(layer).")
    func plain(_ hugging: String, _ original: String) -> TensorView {
      TensorView(name + hugging + ".weight", from: source + original + ".weight")
    }
    func halves(_ hugging: String, _ original: String, heads: Int) -> TensorView {
      let (C, D) = (parameters.dimension, parameters.headSize)
      return TensorView(
        name + hugging + ".weight", from: source + original + ".weight", split: [heads, D / 2, 2, C], order: [0, 2, 1, 3],
        shape: [heads * D, C])
    }
    return [
      plain("input_layernorm", "attention_norm"), halves("self_attn.q_proj", "attention.wq", heads: parameters.headCount),
      halves("self_attn.k_proj", "attention.wk", heads: parameters.keyValueHeadCount), plain("self_attn.v_proj", "attention.wv"),
      plain("self_attn.o_proj", "attention.wo"), plain("post_attention_layernorm", "ffn_norm"),
      plain("mlp.gate_proj", "feed_forward.w1"), plain("mlp.down_proj", "feed_forward.w2"), plain("mlp.up_proj", "feed_forward.w3"),
    ]
  }
}
