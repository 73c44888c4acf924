internal import DibitCheckpoint
package import DibitJSON
package import DibitTensor
package import DibitTokenizer

/// One float tensor of a made-up checkpoint.
package struct TinyTensor: Sendable {
  /// The name in the checkpoint.
  package var name: String
  /// The type it is written as.
  package var dtype: DType
  /// Rows and columns, or one dimension.
  package var shape: [Int]
  /// The elements, row by row.
  package var values: [Float]

  /// A tensor of these values.
  package init(_ name: String, _ shape: [Int], _ values: [Float], dtype: DType = .f32) {
    (self.name, self.dtype, self.shape, self.values) = (name, dtype, shape, values)
  }
}

/// A random model of a few thousand weights, in memory: change what a test is about, then write it.
///
/// The feed-forward width of llama is no multiple of 64, so that its last group of a row is short.
package struct TinyCheckpoint: Sendable {
  /// The members of config.json.
  package var configuration: JSONObject
  /// What model.safetensors holds.
  package var tensors: [TinyTensor]
  /// The text of tokenizer.json.
  package var tokenizer: String

  /// Entries of the embedding; the tokenizer has a few less.
  package static let vocabulary = 320
  /// What the tokenizer is trained on, and what tests train on and generate from.
  package static let sentences = [
    "the goal of the match was late and the team won the cup", "the player ran over the field to the goal",
    "the soup needs salt and the bread needs butter", "bake the bread and stir the soup with care",
    "the rocket left the moon and the planet was small", "a comet came near the planet and the moon",
    "the bank pays the loan and the market fell", "the market was calm and the bank paid",
  ]

  /// A tokenizer with the control tokens that `dibit pretrain` gives its own.
  package static func makeTokenizer() throws -> Tokenizer {
    try Tokenizer.training(
      on: sentences, vocabularySize: vocabulary - 8, specialTokens: ["<|endoftext|>", "<turn_start>", "<turn_end>", "<n>"])
  }

  /// A llama of two layers.
  package static func llama(
    seed: UInt64 = 1, dtype: DType = .f32, tied: Bool = false, context: Int = 256, hidden: Int = 64, wide: Int = 96
  ) throws -> TinyCheckpoint {
    let (heads, keyHeads, head, layers) = (4, 2, hidden / 4, 2)
    var random = RandomTensors(seed: seed, dtype: dtype)
    random.matrix("model.embed_tokens", vocabulary, hidden)
    for layer in 0..<layers {
      let block = "model.layers.\(layer)."
      random.norm(block + "input_layernorm", hidden)
      random.norm(block + "post_attention_layernorm", hidden)
      random.matrix(block + "self_attn.q_proj", heads * head, hidden)
      random.matrix(block + "self_attn.k_proj", keyHeads * head, hidden)
      random.matrix(block + "self_attn.v_proj", keyHeads * head, hidden)
      random.matrix(block + "self_attn.o_proj", hidden, heads * head)
      random.matrix(block + "mlp.gate_proj", wide, hidden)
      random.matrix(block + "mlp.up_proj", wide, hidden)
      random.matrix(block + "mlp.down_proj", hidden, wide)
    }
    random.norm("model.norm", hidden)
    if !tied { random.matrix("lm_head", vocabulary, hidden) }
    let configuration = JSONObject([
      (key: "model_type", value: "llama"), (key: "vocab_size", value: .integer(vocabulary)), (key: "hidden_size", value: .integer(hidden)),
      (key: "intermediate_size", value: .integer(wide)), (key: "num_hidden_layers", value: .integer(layers)),
      (key: "num_attention_heads", value: .integer(heads)), (key: "num_key_value_heads", value: .integer(keyHeads)),
      (key: "hidden_act", value: "silu"), (key: "attention_bias", value: false), (key: "rms_norm_eps", value: 1e-5),
      (key: "rope_theta", value: 10_000.0), (key: "tie_word_embeddings", value: .bool(tied)),
      (key: "max_position_embeddings", value: .integer(context)),
    ])
    return TinyCheckpoint(configuration: configuration, tensors: random.tensors, tokenizer: try makeTokenizer().serialized())
  }

  /// An afm7 of five layers with keys and values and three that reuse them.
  package static func afm7(seed: UInt64 = 2, dtype: DType = .f32, context: Int = 256) throws -> TinyCheckpoint {
    let (hidden, wide, heads, keyHeads, head, layers, reusing) = (64, 176, 4, 2, 16, 4, 1)
    var random = RandomTensors(seed: seed, dtype: dtype)
    random.matrix("model.embedding", vocabulary, hidden)
    for layer in 0..<layers {
      let own = layer < layers - reusing
      let block = own ? "model.layers.\(layer)." : "model.kv_reuse_layers.\(layer - layers + reusing)."
      random.norm(block + "input_layernorm", hidden)
      random.norm(block + "post_attention_layernorm", hidden)
      random.norm(block + "self_attn.q_norm", head)
      if own {
        random.norm(block + "self_attn.k_norm", head)
        random.matrix(block + "self_attn.qkv_proj", (heads + 2 * keyHeads) * head, hidden)
        random.scalar(block + "self_attn.quant_key_scale", 0.03)
        random.scalar(block + "self_attn.quant_value_scale", 0.03)
      } else {
        random.matrix(block + "self_attn.q_proj", heads * head, hidden)
      }
      random.matrix(block + "self_attn.out_proj", hidden, heads * head)
      random.matrix(block + "mlp.gate_proj", wide, hidden)
      random.matrix(block + "mlp.up_proj", wide, hidden)
      random.matrix(block + "mlp.down_proj", hidden, wide)
    }
    random.norm("model.output_norm", hidden)
    let configuration = JSONObject([
      (key: "model_type", value: "afm7"), (key: "vocab_size", value: .integer(vocabulary)), (key: "hidden_dim", value: .integer(hidden)),
      (key: "num_layers", value: .integer(layers)), (key: "num_kv_reuse_layers", value: .integer(reusing)),
      (key: "num_heads", value: .integer(heads)), (key: "num_kv_heads", value: .integer(keyHeads)),
      (key: "hidden_dim_scale_factor", value: 2.75), (key: "rope_theta", value: 10_000.0), (key: "rms_norm_eps", value: 1e-5),
      (key: "tie_word_embeddings", value: true), (key: "max_position_embeddings", value: .integer(context)),
    ])
    return TinyCheckpoint(configuration: configuration, tensors: random.tensors, tokenizer: try makeTokenizer().serialized())
  }

  /// The family of this name.
  package static func named(_ family: String, dtype: DType = .f32) throws -> TinyCheckpoint {
    family == "llama" ? try llama(dtype: dtype) : try afm7(dtype: dtype)
  }

  /// The tensor of this name, for changing it.
  package subscript(_ name: String) -> TinyTensor {
    get { tensors[index(name)] }
    set { tensors[index(name)] = newValue }
  }

  private func index(_ name: String) -> Int {
    guard let index = tensors.firstIndex(where: { $0.name == name }) else { fatalError("the tiny checkpoint has no tensor \(name)") }
    return index
  }

  /// The number of weights.
  package var elements: Int { tensors.reduce(0) { $0 + $1.values.count } }

  /// Writes config.json, tokenizer.json and the weights, in `shards` files with an index when there is more than one.
  @discardableResult
  package func write(to scratch: Scratch, _ name: String = "source", shards: Int = 1) throws -> String {
    let path = try scratch.directory(name)
    try scratch.write(JSONValue.object(configuration).serialized(pretty: true), to: name + "/config.json")
    try scratch.write(tokenizer, to: name + "/tokenizer.json")
    guard shards > 1 else {
      try writeSafetensors(tensors, to: path + "/model.safetensors")
      return path
    }
    var map: [(key: String, value: JSONValue)] = []
    for shard in 0..<shards {
      let part = tensors.indices.filter { $0 % shards == shard }.map { tensors[$0] }
      let file = "model-0000\(shard + 1)-of-0000\(shards).safetensors"
      try writeSafetensors(part, to: path + "/" + file)
      map += part.map { (key: $0.name, value: .string(file)) }
    }
    let index: JSONValue = ["metadata": [:], "weight_map": .object(JSONObject(map))]
    try scratch.write(index.serialized(), to: name + "/model.safetensors.index.json")
    return path
  }
}

/// Draws tensors one after the other.
private struct RandomTensors {
  var tensors: [TinyTensor] = []
  private var rng: SplitMix64
  private let dtype: DType

  init(seed: UInt64, dtype: DType) {
    rng = SplitMix64(seed: seed)
    self.dtype = dtype
  }

  mutating func matrix(_ module: String, _ rows: Int, _ columns: Int) {
    let deviation = 1 / Float(columns).squareRoot()
    tensors.append(
      TinyTensor(module + ".weight", [rows, columns], (0..<rows * columns).map { _ in rng.normal() * deviation }, dtype: dtype))
  }

  mutating func norm(_ module: String, _ count: Int) {
    tensors.append(TinyTensor(module + ".weight", [count], (0..<count).map { _ in 1 + rng.uniform(bound: 0.1) }, dtype: dtype))
  }

  mutating func scalar(_ name: String, _ value: Float) { tensors.append(TinyTensor(name, [], [value])) }
}

/// Writes a folder of labelled texts, `count` for each of four topics, told apart by their words.
@discardableResult
package func writeTopics(to scratch: Scratch, _ name: String = "data", perLabel count: Int = 8, split: String? = nil) throws -> String {
  for (path, text, label) in topics(perLabel: count) {
    try scratch.write(text, to: [name, split, label, path].compactMap { $0 }.joined(separator: "/"))
  }
  return scratch(name)
}

/// Writes conversations of a question and an answer, a row for each.
package func writeConversations(
  _ pairs: [(question: String, answer: String)], to scratch: Scratch, _ name: String = "chats.jsonl"
) throws -> String {
  let rows = pairs.map { pair in
    let messages: JSONValue = [
      ["role": "user", "content": .string(pair.question)], ["role": "assistant", "content": .string(pair.answer)],
    ]
    return JSONValue.object(JSONObject([(key: "messages", value: messages)])).serialized() + "\n"
  }
  return try scratch.write(rows.joined(), to: name)
}

/// Short texts of four topics: file name, text and label.
package func topics(perLabel count: Int = 8) -> [(path: String, text: String, label: String)] {
  let words = [
    ("sport", ["goal", "match", "team", "player", "cup"]), ("food", ["soup", "bread", "salt", "butter", "stir"]),
    ("space", ["rocket", "moon", "planet", "comet", "small"]), ("money", ["bank", "loan", "market", "pays", "fell"]),
  ]
  var rng = SplitMix64(seed: 7)
  return words.flatMap { label, words in
    (0..<count).map { index in
      let text = (0..<3).map { _ in words[rng.below(words.count)] }.joined(separator: " ") + " \(index)"
      return (path: "\(index).txt", text: text, label: label)
    }
  }
}
