import DibitCheckpoint
import DibitFiles
import DibitTensor
import DibitTestSupport
import Glibc

/// Small valid files to begin with: what a parser accepts leads the fuzzer deeper than what it refuses at once.
enum FuzzSeeds {
  /// The bytes with these in place of the first ones, so that no execution is spent on finding a magic number.
  static func beginning(_ bytes: [UInt8], with magic: [UInt8]) -> [UInt8] { magic + bytes.dropFirst(magic.count) }

  /// The variables of a Llama backbone of one layer: vocabulary 8, width 4, two heads of two, feed-forward 8.
  static let kerasTensors: [StoredTensor] = {
    let block = "layers/llama_transformer_decoder/"
    let shapes: [(String, [Int])] = [
      ("layers/reversible_embedding/vars/0", [8, 4]), ("layers/llama_layer_norm/vars/0", [4]),
      (block + "_self_attention_layernorm/vars/0", [4]), (block + "_feedforward_layernorm/vars/0", [4]),
      (block + "_self_attention_layer/_query_dense/vars/0", [4, 2, 2]), (block + "_self_attention_layer/_key_dense/vars/0", [4, 1, 2]),
      (block + "_self_attention_layer/_value_dense/vars/0", [4, 1, 2]), (block + "_self_attention_layer/_output_dense/vars/0", [2, 2, 4]),
      (block + "_feedforward_gate_dense/vars/0", [4, 8]), (block + "_feedforward_intermediate_dense/vars/0", [4, 8]),
      (block + "_feedforward_output_dense/vars/0", [8, 4]),
    ]
    return shapes.map { StoredTensor(name: $0, dtype: .f32, shape: $1, storage: "F32", byteCount: $1.reduce(4, *)) }
  }()

  /// Writes the seeds of a target into a directory.
  static func write(_ target: FuzzTarget, into directory: String) {
    for (index, bytes) in seeds(target).enumerated() {
      guard let file = fopen("\(directory)/seed-\(index)", "w") else { continue }
      fwrite(bytes, 1, bytes.count, file)
      fclose(file)
    }
  }

  private static func seeds(_ target: FuzzTarget) -> [[UInt8]] {
    switch target {
    case .json: [#"{"a":[1,-2.5e3,"\u00e9\n",true,null],"b":{}}"#, "[]", "\"\\ud83d\\ude00\""].map { Array($0.utf8) }
    case .config: configurations.map { Array($0.utf8) }
    case .keras: [Array(keras.utf8)]
    case .safetensors: [safetensors]
    case .gguf: [gguf(type: 0, bytes: 64), gguf(type: 8, bytes: 64), gguf(type: 10, bytes: 128)]
    case .llama2c: llama2c
    case .zip: [zip(), zip { $0.isWide = true }, zip { $0.hasWideEntries = true }, zip { $0.entries[2].flags = 8 }]
    case .pickle: [pickle(stateDict), pickle(.dict([("model", stateDict), ("step", .int(3)), ("x", .list([.none, .yes]))]))]
    case .ggufModel: [ggufModel]
    case .tokenizer: tokenizers.map { Array($0.utf8) }
    case .sentencePiece: [sentencePiece(kind: 2, bytes: false), sentencePiece(kind: 1, bytes: false), sentencePiece(kind: 2, bytes: true)]
    case .llama2cTokenizer: [llama2cTokenizer]
    case .jinja: templates.map { Array($0.utf8) }
    case .csv: tables.map { Array($0.utf8) }
    case .jsonl: rows.map { Array($0.utf8) }
    }
  }

  // MARK: Weights

  private static let safetensors: [UInt8] = {
    let header =
      #"{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},"#
      + #""b":{"dtype":"BF16","shape":[3],"data_offsets":[16,22]}}"#
    var builder = ByteBuilder()
    builder.append(UInt64(header.utf8.count))
    builder.append(header)
    return builder.bytes + [UInt8](repeating: 0x3F, count: 22)
  }()

  private static func gguf(type: UInt32, bytes: Int) -> [UInt8] {
    var file = GGUFBytes()
    let numbers = GGUFBytes.number(UInt32(4)) + GGUFBytes.number(UInt64(2)) + GGUFBytes.number(UInt64(7))
    file.pairs = [
      GGUFBytes.pair("general.architecture", GGUFBytes.string, GGUFBytes.text("llama")),
      GGUFBytes.pair("general.alignment", GGUFBytes.uint32, GGUFBytes.number(UInt32(32))),
      GGUFBytes.pair("n", GGUFBytes.array, numbers), GGUFBytes.pair("f", 6, GGUFBytes.number(UInt32(0x3F80_0000))),
    ]
    let columns: UInt64 = type == 0 ? 16 : type == 8 ? 32 : 256
    file.tensors = [GGUFBytes.tensor("a", [columns], type: type)]
    file.data = bytes
    return file.bytes
  }

  private static let ggufModel: [UInt8] = {
    typealias G = GGUFBytes
    var file = G()
    func count(_ key: String, _ value: UInt32) -> [UInt8] { G.pair("llama." + key, G.uint32, G.number(value)) }
    func list(_ type: UInt32, _ items: [[UInt8]]) -> [UInt8] { G.number(type) + G.number(UInt64(items.count)) + items.joined() }
    let tokens = ["<unk>", "<s>", "</s>", "\u{2581}", "a", "b", "ab", "é"]
    file.pairs = [
      G.pair("general.architecture", G.string, G.text("llama")), count("block_count", 1), count("context_length", 16),
      count("embedding_length", 4), count("feed_forward_length", 8), count("attention.head_count", 2), count("attention.head_count_kv", 1),
      count("rope.dimension_count", 2), G.pair("llama.attention.layer_norm_rms_epsilon", 6, G.number(Float(1e-5).bitPattern)),
      G.pair("llama.rope.freq_base", 6, G.number(Float(10_000).bitPattern)),
      G.pair("tokenizer.ggml.model", G.string, G.text("llama")), G.pair("tokenizer.ggml.tokens", G.array, list(8, tokens.map(G.text))),
      G.pair("tokenizer.ggml.scores", G.array, list(6, tokens.indices.map { G.number(Float(-$0).bitPattern) })),
      G.pair("tokenizer.ggml.token_type", G.array, list(5, [2, 3, 3, 1, 1, 1, 1, 1].map { G.number(Int32($0)) })),
      G.pair("tokenizer.ggml.bos_token_id", G.uint32, G.number(UInt32(1))),
      G.pair("tokenizer.ggml.eos_token_id", G.uint32, G.number(UInt32(2))),
    ]
    let tensors: [(String, [UInt64])] = [
      ("token_embd.weight", [4, 8]), ("output_norm.weight", [4]), ("blk.0.attn_norm.weight", [4]), ("blk.0.ffn_norm.weight", [4]),
      ("blk.0.attn_q.weight", [4, 4]), ("blk.0.attn_k.weight", [4, 2]), ("blk.0.attn_v.weight", [4, 2]),
      ("blk.0.attn_output.weight", [4, 4]), ("blk.0.ffn_gate.weight", [4, 8]), ("blk.0.ffn_up.weight", [4, 8]),
      ("blk.0.ffn_down.weight", [8, 4]),
    ]
    var offset: UInt64 = 0
    for (name, shape) in tensors {
      file.tensors.append(G.tensor(name, shape, offset: offset))
      offset += (shape.reduce(4, *) + 31) / 32 * 32
    }
    file.data = Int(offset)
    return file.bytes
  }()

  private static let llama2c: [[UInt8]] = {
    func header(_ start: [UInt32], _ size: Int, flag: UInt8? = nil) -> [UInt8] {
      var builder = ByteBuilder()
      for number in start { builder.append(number) }
      if let flag { builder.append(flag) }
      return builder.bytes + [UInt8](repeating: 0, count: size - builder.bytes.count)
    }
    // dim 4, hidden 4, one layer, two heads, one for keys, vocabulary 4, sequence 2.
    let legacy = 16 + (4 + 4) + (16 + 8 + 8 + 16) + 16 * 3 + 4 + 2 * 2
    let plain = (4 + 4 + 4) + 16 + (16 + 8 + 8 + 16) + 16 * 3
    return [
      header([4, 4, 1, 2, 1, 4, 2], 28 + 4 * legacy), header([4, 4, 1, 2, 1, UInt32(bitPattern: -4), 2], 28 + 4 * (legacy + 16)),
      header([0x616B_3432, 1, 4, 4, 1, 2, 1, 4, 2], 256 + 4 * plain, flag: 1),
      header([0x616B_3432, 2, 4, 4, 1, 2, 1, 4, 2], 256 + 4 * 12 + 2 * (plain - 12), flag: 1),
    ]
  }()

  private static let stateDict = Python.dict([
    ("a", .tensor(count: 16, shape: [2, 4], strides: [4, 1])), ("b", .tensor(count: 16, offset: 8, shape: [4, 2], strides: [1, 4])),
  ])

  private static func pickle(_ value: Python) -> [UInt8] { value.pickle() }

  private static func zip(_ change: (inout ZipMaker) -> Void = { _ in }) -> [UInt8] {
    var maker = ZipMaker.torch(stateDict, [(key: "0", data: [UInt8](repeating: 1, count: 64))])
    change(&maker)
    return maker.make().bytes
  }

  // MARK: Texts

  private static let configurations = [
    #"{"model_type":"llama","vocab_size":8,"hidden_size":4,"intermediate_size":8,"num_hidden_layers":1,"num_attention_heads":2,"#
      + #""num_key_value_heads":1,"rms_norm_eps":1e-5,"rope_theta":10000.0,"hidden_act":"silu","tie_word_embeddings":true}"#,
    #"{"model_type":"qwen3","vocab_size":8,"hidden_size":4,"intermediate_size":8,"num_hidden_layers":1,"num_attention_heads":2,"#
      + #""head_dim":2,"num_key_value_heads":1,"rms_norm_eps":1e-5,"rope_theta":1e6,"hidden_act":"silu","rope_scaling":"#
      + #"{"rope_type":"llama3","factor":8.0,"low_freq_factor":1.0,"high_freq_factor":4.0,"original_max_position_embeddings":8192}}"#,
    #"{"model_type":"gpt2","vocab_size":8,"n_embd":4,"n_layer":1,"n_head":2,"n_positions":8,"layer_norm_epsilon":1e-5}"#,
    #"{"model_type":"afm7","vocab_size":8,"hidden_dim":4,"num_layers":4,"num_kv_reuse_layers":1,"num_heads":2,"num_kv_heads":1,"#
      + #""hidden_dim_scale_factor":2.0,"rope_theta":10000.0,"rms_norm_eps":1e-5,"tie_word_embeddings":true}"#,
  ]

  private static let keras =
    #"{"class_name":"LlamaBackbone","config":{"name":"x","dtype":"float32","vocabulary_size":8,"num_layers":1,"num_query_heads":2,"#
    + #""num_key_value_heads":1,"hidden_dim":4,"intermediate_dim":8,"layer_norm_epsilon":1e-05,"rope_max_wavelength":10000}}"#

  private static let tokenizers: [String] = {
    func file(_ model: String, normalizer: String = "null", cut: String = "null", decoder: String = "null", added: String = "[]") -> String
    {
      #"{"version":"1.0","added_tokens":\#(added),"normalizer":\#(normalizer),"pre_tokenizer":\#(cut),"post_processor":null,"#
        + #""decoder":\#(decoder),"model":\#(model)}"#
    }
    let merges = #"{"type":"BPE","vocab":{"a":0,"b":1,"ab":2,"<s>":3},"merges":["a b"],"unk_token":"<s>"}"#
    return [
      file(merges),
      file(
        merges, normalizer: #"{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Lowercase"},{"type":"Prepend","prepend":"_"}]}"#,
        cut: #"{"type":"Split","pattern":{"Regex":"\\s+(?!\\S)|\\p{L}+|[^a-z]{1,3}"},"behavior":"Isolated","invert":false}"#,
        decoder: #"{"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]}"#),
      file(
        merges,
        added: #"[{"id":3,"content":"<s>","single_word":false,"lstrip":true,"rstrip":false,"normalized":false,"special":true}]"#),
      file(#"{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["a",-1.5],["b",-2],["ab",-3]],"byte_fallback":false}"#),
      file(
        merges, cut: #"{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}"#,
        decoder: #"{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true}"#),
    ]
  }()

  private static let templates = [
    "{{ bos_token }}{% for m in messages %}{{ '<' + m['role'] + '>' + m.content | trim }}{% if not loop.last %},{% endif %}{% endfor %}",
    "{% macro f(x, y=1) %}{{ x ~ y }}{% endmacro %}{%- set ns = namespace(n=0) -%}{% for i in range(3) %}{% set ns.n = ns.n + i %}"
      + "{{ f(i) }}{% endfor %}{{ ns.n }}",
    "{{ {'a': [1, 2.5, none]} | tojson(indent=2) }}{{ 'a,b'.split(',')[::-1] | join('-') | upper }}{{ messages[0].get('x', 'y') }}",
    "{% if tools is defined and tools | length > 0 %}{{ tools | map(attribute='name') | list | sort }}{% else %}{{ raise_exception('no') }}"
      + "{% endif %}{{ '%s' | replace('s', 'é') }}{{ 7 // 2 ** 3 % 5 }}",
    "{% generation %}{{ messages | selectattr('role', 'equalto', 'user') | list | count }}{% endgeneration %}{# c #}{% raw %}{{{% endraw %}",
  ]

  // MARK: Data

  private static let tables = [
    "text,label\r\n\"a, \"\"b\"\"\nc\",x\r\nd,\"y;z\"\r\n", "id\ttext\tlabel_text\tlabel\n1\tone\tx\t0\n2\ttwo\ty\t1\n",
    "prompt;completion\nhi;ho\n", "{\"text\":\"a\",\"label\":\"b\"}\n{\"text\":\"c\",\"label\":\"d\"}\n",
  ]

  private static let rows = [
    #"{"text":"a\u00e9","label":["x","y"]}"# + "\n" + #"{"text":"b","label":"y"}"# + "\n",
    #"[{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"assistant","content":"b","weight":1}]"# + "\n",
    #"{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":"b"}]}"#,
    #"{"prompt":"p","completion":"c"}"# + "\n\n" + #"{"prompt":"q","completion":"c"}"#,
  ]

  // MARK: Vocabularies

  private static func sentencePiece(kind: UInt8, bytes: Bool) -> [UInt8] {
    func field(_ number: UInt8, _ content: [UInt8]) -> [UInt8] { [number << 3 | 2, UInt8(content.count)] + content }
    func piece(_ text: String, _ score: Float, _ type: UInt8) -> [UInt8] {
      var builder = ByteBuilder()
      builder.append(score)
      return field(1, field(1, Array(text.utf8)) + [0x15] + builder.bytes + [0x18, type])
    }
    var file = piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3)
    if bytes {
      for byte in 0..<256 { file += piece("<0x" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true) + ">", 0, 6) }
    }
    for (index, text) in ["\u{2581}", "a", "b", "ab", "\u{2581}a"].enumerated() { file += piece(text, -Float(index), 1) }
    // byte_fallback is field 35.
    return file + field(2, [0x18, kind] + (bytes ? [0x98, 0x02, 1] : [])) + field(3, [0x18, 1, 0x20, 1, 0x28, 1])
  }

  private static let llama2cTokenizer: [UInt8] = {
    var pieces = ["<unk>", "\n<s>\n", "\n</s>\n"]
    for byte in 0..<256 { pieces.append("<0x" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true) + ">") }
    pieces += [" ", "a", "b", "ab"]
    var builder = ByteBuilder()
    builder.append(UInt32(6))
    for (index, piece) in pieces.enumerated() {
      builder.append(-Float(index))
      builder.append(UInt32(piece.utf8.count))
      builder.append(piece)
    }
    // The target takes the number of pieces beyond 259 from the last byte: one more piece that ends in it.
    builder.append(Float(0))
    builder.append(UInt32(1))
    return builder.bytes + [5]
  }()
}
