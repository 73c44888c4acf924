extension MalformedFile {
  /// A llama directory with a good weight file and a config.json changed by `change`: pairs of a text in it and its replacement.
  static var configurations: [MalformedFile] {
    let good =
      #"{"model_type":"llama","vocab_size":8,"hidden_size":4,"intermediate_size":8,"num_hidden_layers":1,"num_attention_heads":2,"#
      + #""num_key_value_heads":1,"rms_norm_eps":1e-5,"rope_theta":10000.0,"hidden_act":"silu","tie_word_embeddings":true}"#
    let weights = Array("{}".utf8)
    var builder = ByteBuilder()
    builder.append(UInt64(2))
    builder.append(weights)
    let empty = builder.bytes
    func config(_ description: String, _ text: String, says: String) -> MalformedFile {
      MalformedFile(
        "config.json: " + description, [(name: "config.json", bytes: Array(text.utf8)), (name: "model.safetensors", bytes: empty)],
        says: says)
    }
    func changed(_ old: String, _ new: String, says: String) -> MalformedFile {
      config("\(new) for \(old)", good.replacing(old, with: new), says: says)
    }
    return [
      config("nothing", "", says: "config.json"), config("a list", "[]", says: "model_type"),
      config("unfinished", #"{"model_type":"#, says: "config.json"),
      config("nested 100,000 deep", String(repeating: "{\"a\":", count: 100_000), says: "config.json"),
      config("duplicate keys", #"{"model_type":"llama","model_type":"gpt2"}"#, says: "config.json"),
      changed(#""model_type":"llama""#, #""model_type":"transformer-9000""#, says: "transformer-9000"),
      changed(#""model_type":"llama""#, #""model_type":7"#, says: "model_type"),
      changed(#""num_attention_heads":2"#, #""num_attention_heads":0"#, says: "num_attention_heads"),
      changed(#""num_key_value_heads":1"#, #""num_key_value_heads":0"#, says: "num_key_value_heads"),
      changed(#""num_key_value_heads":1"#, #""num_key_value_heads":3"#, says: "num_key_value_heads"),
      changed(#""num_hidden_layers":1"#, #""num_hidden_layers":2147483648"#, says: "num_hidden_layers"),
      changed(#""num_hidden_layers":1"#, #""num_hidden_layers":16777216"#, says: "at most 16384 layers"),
      changed(#""num_hidden_layers":1"#, #""num_hidden_layers":-1"#, says: "num_hidden_layers"),
      changed(#""num_hidden_layers":1"#, #""num_hidden_layers":513"#, says: "tensor"),
      changed(#""hidden_size":4"#, #""hidden_size":9223372036854775807"#, says: "hidden_size"),
      changed(#""hidden_size":4"#, #""hidden_size":1e400"#, says: "config.json"),
      changed(#""vocab_size":8"#, #""vocab_size":"8""#, says: "vocab_size"),
      changed(#""rope_theta":10000.0"#, #""rope_theta":-1"#, says: "rope_theta"),
      changed(#""rope_theta":10000.0"#, #""rope_scaling":{"rope_type":"mystery","factor":2}"#, says: "mystery"),
      changed(#""hidden_act":"silu""#, #""hidden_act":"relu7""#, says: "relu7"),
      changed(#""hidden_act":"silu""#, #""num_local_experts":8"#, says: "num_local_experts"),
      changed(#""hidden_act":"silu""#, #""vision_config":{}"#, says: "vision_config"),
      config("no tensors for it", good, says: "model.embed_tokens.weight"),
    ]
  }
}
