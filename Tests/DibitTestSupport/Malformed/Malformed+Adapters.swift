extension MalformedFile {
  /// A llama of one layer that every malformed adapter is opened for: width 4, two heads of two, one for keys and values.
  package static var hostModel: [(name: String, bytes: [UInt8])] {
    let layer = "model.layers.0."
    let tensors: [(String, [Int])] = [
      ("model.embed_tokens.weight", [8, 4]), ("model.norm.weight", [4]), (layer + "input_layernorm.weight", [4]),
      (layer + "post_attention_layernorm.weight", [4]), (layer + "self_attn.q_proj.weight", [4, 4]),
      (layer + "self_attn.k_proj.weight", [2, 4]), (layer + "self_attn.v_proj.weight", [2, 4]),
      (layer + "self_attn.o_proj.weight", [4, 4]), (layer + "mlp.gate_proj.weight", [8, 4]), (layer + "mlp.up_proj.weight", [8, 4]),
      (layer + "mlp.down_proj.weight", [4, 8]),
    ]
    let configuration =
      #"{"model_type":"llama","vocab_size":8,"hidden_size":4,"intermediate_size":8,"num_hidden_layers":1,"num_attention_heads":2,"#
      + #""num_key_value_heads":1,"rms_norm_eps":1e-5,"rope_theta":10000.0,"hidden_act":"silu","tie_word_embeddings":true}"#
    return [
      (name: "host/config.json", bytes: Array(configuration.utf8)), (name: "host/model.safetensors", bytes: floats(tensors)),
    ]
  }

  /// A safetensors file of zeros.
  private static func floats(_ tensors: [(String, [Int])], bytes: Int? = nil) -> [UInt8] {
    var (entries, end): ([String], Int) = ([], 0)
    for (name, shape) in tensors {
      let size = shape.reduce(4, *)
      entries.append(#""\#(name)":{"dtype":"F32","shape":\#(shape),"data_offsets":[\#(end),\#(end + size)]}"#)
      end += size
    }
    let header = "{" + entries.joined(separator: ",") + "}"
    var builder = ByteBuilder()
    builder.append(UInt64(header.utf8.count))
    builder.append(header)
    return builder.bytes + [UInt8](repeating: 0, count: bytes ?? end)
  }

  /// Adapters of PEFT and mlx-lm that do not fit their own configuration or the model.
  static var adapters: [MalformedFile] { peft + mlx }

  private static var peft: [MalformedFile] {
    let query = "base_model.model.model.layers.0.self_attn.q_proj"
    let good = [(query + ".lora_A.weight", [2, 4]), (query + ".lora_B.weight", [4, 2])]
    let configuration = #"{"peft_type":"LORA","r":2,"lora_alpha":4,"target_modules":["q_proj"]}"#
    func adapter(_ description: String, _ weights: [UInt8]?, _ text: String = configuration, says: String) -> MalformedFile {
      var files = [(name: "adapter_config.json", bytes: Array(text.utf8))]
      files.append(
        weights.map { (name: "adapter_model.safetensors", bytes: $0) } ?? (name: "README.md", bytes: Array("an adapter".utf8)))
      return MalformedFile("PEFT: " + description, files, for: .adapter, says: says)
    }
    func config(_ description: String, _ old: String, _ new: String, says: String) -> MalformedFile {
      adapter(description, floats(good), configuration.replacing(old, with: new), says: says)
    }
    func code(_ value: Python) -> MalformedFile {
      MalformedFile(
        "PEFT: adapter_model.bin that runs code",
        [
          (name: "adapter_config.json", bytes: Array(configuration.utf8)),
          (name: "adapter_model.bin", bytes: ZipMaker.torch(value).make().bytes),
        ], for: .adapter, says: "'os.system'")
    }
    return [
      adapter("A without B (llama.cpp 18466)", floats([good[0]]), says: "lora_B"),
      adapter("B without A", floats([good[1]]), says: "lora_A"),
      adapter("rank of A differs from B's", floats([(good[0].0, [3, 4]), good[1]]), says: "lora_A"),
      adapter("rank of B differs from A's", floats([good[0], (good[1].0, [4, 3])]), says: "lora_B"),
      adapter("another width in", floats([(good[0].0, [2, 8]), good[1]]), says: "lora_A"),
      adapter("another width out", floats([good[0], (good[1].0, [8, 2])]), says: "lora_B"),
      adapter("A that is transposed", floats([(good[0].0, [4, 2]), good[1]]), says: "lora_A"),
      adapter("three dimensions (llama.cpp 29128)", floats([(good[0].0, [2, 4, 1]), good[1]]), says: "lora_A"),
      adapter(
        "a layer that the model lacks", floats(good + good.map { ($0.0.replacing("layers.0", with: "layers.1"), $0.1) }), says: "layers.1"),
      adapter(
        "one expert more (llama.cpp 29144)",
        floats(good + good.map { ($0.0.replacing("self_attn.q_proj", with: "mlp.experts.8.up_proj"), $0.1) }), says: "experts.8"),
      adapter("a module of another model", floats(good.map { ($0.0.replacing("q_proj", with: "c_attn"), $0.1) }), says: "c_attn"),
      adapter("a module by its trainer's name", floats(good + [("optimizer.state", [4])]), says: "optimizer.state"),
      adapter("weights cut short (llama.cpp 27056)", Array(floats(good).dropLast(4)), says: "cut short"),
      adapter(
        "no bytes for its shape (onnxruntime 27518)", floats([(good[0].0, [2, 4]), (good[1].0, [4, 2])], bytes: 0), says: "cut short"),
      adapter("a shape whose product wraps", floats([]) + [0], says: "belong to no tensor"),
      adapter("no weights", nil, says: "adapter_model.safetensors"),
      config("rank 0", #""r":2"#, #""r":0"#, says: "'r'"), config("rank 2^31", #""r":2"#, #""r":2147483648"#, says: "'r'"),
      config("rank -1", #""r":2"#, #""r":-1"#, says: "'r'"), config("rank 2.5", #""r":2"#, #""r":2.5"#, says: "'r'"),
      config("a rank that the matrices do not have", #""r":2"#, #""r":3"#, says: "lora_A"),
      config("alpha NaN", #""lora_alpha":4"#, #""lora_alpha":NaN"#, says: "adapter_config.json"),
      config("alpha 1e400", #""lora_alpha":4"#, #""lora_alpha":1e400"#, says: "adapter_config.json"),
      config("alpha 1e300", #""lora_alpha":4"#, #""lora_alpha":1e300"#, says: "lora_alpha"),
      config("alpha -4", #""lora_alpha":4"#, #""lora_alpha":-4"#, says: "lora_alpha"),
      config("alpha as text", #""lora_alpha":4"#, #""lora_alpha":"4""#, says: "lora_alpha"),
      config("DoRA", #""r":2"#, #""r":2,"use_dora":true"#, says: "lora_magnitude_vector"),
      config("ranks by pattern", #""r":2"#, #""r":2,"rank_pattern":{"q_proj":4}"#, says: "rank_pattern"),
      config("another method", "LORA", "IA3", says: "peft_type"),
      config("no JSON", "{", "", says: "adapter_config.json"),
      code(.call(.global("os", "system"), [.text("true")])),
    ]
  }

  private static var mlx: [MalformedFile] {
    let good = [("model.layers.0.self_attn.q_proj.lora_a", [4, 2]), ("model.layers.0.self_attn.q_proj.lora_b", [2, 4])]
    let configuration = #"{"fine_tune_type":"lora","num_layers":1,"lora_parameters":{"rank":2,"scale":2.0,"dropout":0.0}}"#
    func adapter(_ description: String, _ tensors: [(String, [Int])], _ text: String = configuration, says: String) -> MalformedFile {
      MalformedFile(
        "mlx-lm: " + description,
        [(name: "adapter_config.json", bytes: Array(text.utf8)), (name: "adapters.safetensors", bytes: floats(tensors))], for: .adapter,
        says: says)
    }
    func config(_ description: String, _ old: String, _ new: String, says: String) -> MalformedFile {
      adapter(description, good, configuration.replacing(old, with: new), says: says)
    }
    return [
      adapter("A without B", [good[0]], says: "lora_"), adapter("B without A", [good[1]], says: "lora_"),
      adapter("rank of A differs from B's", [(good[0].0, [4, 3]), good[1]], says: "lora_"),
      adapter("PEFT's orientation", [(good[0].0, [2, 4]), (good[1].0, [4, 2])], says: "lora_"),
      adapter("another width", [(good[0].0, [8, 2]), good[1]], says: "lora_"),
      adapter("one dimension", [(good[0].0, [8]), good[1]], says: "lora_a"),
      adapter("a tensor that is no adapter's", good + [("model.norm.weight", [4])], says: "model.norm.weight"),
      adapter("a layer that the model lacks", good.map { ($0.0.replacing("layers.0", with: "layers.9"), $0.1) }, says: "layers.9"),
      config("rank 0", #""rank":2"#, #""rank":0"#, says: "lora_parameters.rank"),
      config("rank 2^31", #""rank":2"#, #""rank":2147483648"#, says: "lora_parameters.rank"),
      config("scale 0", #""scale":2.0"#, #""scale":0"#, says: "lora_parameters.scale"),
      config("scale 1e30", #""scale":2.0"#, #""scale":1e30"#, says: "lora_parameters.scale"),
      config("DoRA", #""lora""#, #""dora""#, says: "fine_tune_type"),
      config("no parameters", #""lora_parameters""#, #""parameters""#, says: "lora_parameters"),
    ]
  }
}
