import DibitFiles
import DibitFailure
import DibitCheckpoint
import DibitConversion
import DibitJSON
import DibitTestSupport
import Testing

/// Every failure names its cause in one sentence and leaves nothing behind.
@Suite struct ConversionErrorTests {
  /// Converts `tiny` after `change` and expects this message; paths in it are relative to the source.
  private func expectError(
    _ message: (_ source: String) -> String, kind: FailureKind = .badData, sourceLocation: SourceLocation = #_sourceLocation,
    change: (inout TinyCheckpoint) -> Void
  ) throws {
    let scratch = Scratch()
    var tiny = try TinyCheckpoint.llama()
    change(&tiny)
    let source = try tiny.write(to: scratch)
    let error = conversionError(source, scratch("model"))
    #expect(error?.description == message(source), sourceLocation: sourceLocation)
    #expect(error?.kind == kind, sourceLocation: sourceLocation)
    #expect(scratch.names == ["source"], sourceLocation: sourceLocation)
  }

  @Test("the tensor and the element that are no number", arguments: [("nan", Float.nan), ("inf", .infinity), ("-inf", -.infinity)])
  func notFinite(name: String, value: Float) throws {
    try expectError({ _ in
      "tensor 'model.layers.1.mlp.down_proj.weight': the element at [7, 95] is \(name): the checkpoint is damaged, a converted model could not work"
    }) { $0["model.layers.1.mlp.down_proj.weight"].values[7 * 96 + 95] = value }
  }

  @Test func notFiniteNorm() throws {
    try expectError({ _ in
      "tensor 'model.norm.weight': the element at [0, 3] is nan: the checkpoint is damaged, a converted model could not work"
    }) {
      $0["model.norm.weight"].values[3] = .nan
    }
  }

  @Test func missingTensor() throws {
    try expectError({ "'\($0)': there is no tensor 'model.layers.1.self_attn.v_proj.weight'" }) {
      $0.tensors.removeAll { $0.name == "model.layers.1.self_attn.v_proj.weight" }
    }
  }

  @Test func wrongShape() throws {
    try expectError({ "'\($0)': tensor 'model.layers.0.mlp.up_proj.weight': shape [96, 64] expected, [64, 96] found" }) {
      $0["model.layers.0.mlp.up_proj.weight"].shape = [64, 96]
    }
    try expectError({ "'\($0)': tensor 'model.layers.0.input_layernorm.weight': shape [64] expected, [8, 8] found" }) {
      $0["model.layers.0.input_layernorm.weight"].shape = [8, 8]
    }
  }

  @Test func unknownArchitecture() throws {
    try expectError({
      "'\($0)': config.json: the architecture 'mamba' is not supported; supported are llama, mistral, qwen2, qwen3, gemma, "
        + "gemma2, gemma3_text, smollm3, phi3, olmo2, gpt2, gpt_neox, afm7"
    }) {
      $0.configuration["model_type"] = "mamba"
    }
    try expectError({ "'\($0)': config.json: the key 'model_type' is missing" }) { $0.configuration["model_type"] = nil }
  }

  static let unsupported: [(key: String, value: JSONValue, message: String)] = [
    (
      "rope_scaling", ["rope_type": "llama3", "factor": 8.0], "the key 'rope_scaling.low_freq_factor' is missing"
    ),
    (
      "rope_scaling", ["type": "spiral", "factor": 2.0],
      "'rope_scaling.rope_type' is \"spiral\", which is not supported; supported is default, linear, dynamic, llama3, yarn or longrope"
    ),
    ("attention_bias", 1, "'attention_bias': expected true or false, found 1"),
    (
      "hidden_act", "relu",
      "'hidden_act' is \"relu\", which is not supported; supported is silu, gelu, gelu_new or gelu_pytorch_tanh"
    ),
    ("num_local_experts", 8, "'num_local_experts' is 8, which is not supported; supported is a configuration without it"),
    ("hidden_size", 0, "'hidden_size': expected a whole number from 1 to 16777216, found 0"),
    ("num_key_value_heads", 3, "'num_key_value_heads': expected a divisor of the 4 heads, found 3"),
    ("head_dim", 15, "'head_dim': expected an even number, found 15"),
    ("tie_word_embeddings", "yes", "'tie_word_embeddings': expected true or false, found \"yes\""),
    ("rms_norm_eps", -1, "'rms_norm_eps': expected a positive number, found -1"),
  ]

  @Test(arguments: unsupported.indices)
  func unsupportedKey(index: Int) throws {
    let item = Self.unsupported[index]
    try expectError({ "'\($0)': config.json: \(item.message)" }) { $0.configuration[item.key] = item.value }
  }

  @Test func unknownExtraTensor() throws {
    try expectError({ "'\($0)': tensor 'model.layers.0.mlp.router.weight' belongs to no part of llama" }) {
      $0.tensors.append(TinyTensor("model.layers.0.mlp.router.weight", [2, 2], [1, 2, 3, 4]))
    }
  }

  @Test func missingFiles() throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.llama().write(to: scratch)
    try scratch.remove("source/tokenizer.json")
    let tokenizer = conversionError(source, scratch("model"))
    #expect(
      tokenizer?.description
        == "'\(source)': no tokenizer.json, tokenizer.model or tokenizer.bin there")
    #expect(tokenizer?.kind == .notFound)
    try scratch.remove("source/model.safetensors")
    #expect(
      conversionError(source, scratch("model"))?.description
        == "'\(source)': no file with tensors in this directory (safetensors, GGUF, HDF5, PyTorch or llama2.c); it holds 'config.json'")
    _ = try TinyCheckpoint.llama().write(to: scratch, "bare")
    try scratch.remove("bare/config.json")
    let config = conversionError(scratch("bare"), scratch("model"))
    #expect(config?.description == "'\(scratch("bare"))/config.json': no such file or directory")
    #expect(config?.kind == .notFound)
    #expect(scratch.names == ["bare", "source"])
  }

  @Test func missingShard() throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.llama().write(to: scratch, shards: 2)
    try scratch.remove("source/model-00002-of-00002.safetensors")
    #expect(
      conversionError(source, scratch("model"))?.description
        == "'\(source)/model.safetensors.index.json': the shard 'model-00002-of-00002.safetensors' is not beside the index; download it too"
    )
    #expect(scratch.names == ["source"])
  }

  @Test func truncatedWeights() throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.llama().write(to: scratch)
    let whole = try contents(source + "/model.safetensors")
    try scratch.remove("source/model.safetensors")
    try scratch.write(Array(whole.dropLast(100)), to: "source/model.safetensors")
    let error = conversionError(source, scratch("model"))
    #expect(
      error?.description
        == "'\(source)/model.safetensors': the file is cut short: \(whole.count) bytes expected, \(whole.count - 100) found, 100 missing; make or download it again"
    )
    #expect(error?.kind == .badData)
    #expect(scratch.names == ["source"])
  }

  @Test func brokenJSON() throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.llama().write(to: scratch)
    try scratch.remove("source/config.json")
    try scratch.write("{\"model_type\": ", to: "source/config.json")
    let error = conversionError(source, scratch("model"))
    #expect(error?.description.hasPrefix("'\(source)/config.json': ") == true)
    #expect(error?.kind == .badData)
    #expect(scratch.names == ["source"])
  }

  @Test func alreadyConverted() throws {
    let scratch = Scratch()
    try convert(try TinyCheckpoint.llama().write(to: scratch), scratch("model"))
    let error = conversionError(scratch("model"), scratch("twice"))
    #expect(error == .alreadyConverted(path: scratch("model")))
    #expect(error?.description == "'\(scratch("model"))' is a converted model already: convert the checkpoint that it came from")
    #expect(scratch.names == ["model", "source"])
  }

  @Test func outputs() throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.llama().write(to: scratch)
    let (taken, lost) = (try scratch.directory("taken"), scratch("no/such"))
    try scratch.write("mine", to: "taken/letter.txt")
    #expect(conversionError(source, taken) == .file(.outputExists(path: taken)))
    #expect(
      conversionError(source, taken)?.description == "'\(taken)': the output exists already; choose another name")
    #expect(conversionError(source, lost) == .file(.missingParent(path: lost, parent: scratch("no"))))
    #expect(
      conversionError(source, taken, overwrite: true)?.description
        == "'\(taken)': will not be overwritten, because it is a directory without manifest.json, so it may not be an output of dibit; "
        + "remove it by hand or choose another name")
    #expect(
      conversionError(source, source + "/config.json", overwrite: true)?.description
        == "'\(source)/config.json': the output lies in the input '\(source)'; choose a place outside of it")
    for path in [taken, lost] { #expect(conversionError(source, path)?.kind == .cannotCreate) }
    #expect(try text(taken + "/letter.txt") == "mine")
    #expect(scratch.names == ["source", "taken"])
  }

  @Test("stopping at any tensor leaves nothing", arguments: [1, 2, 10])
  func interruption(stop: Int) throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.llama().write(to: scratch)
    var calls = 0
    let error = conversionError(source, scratch("model")) { _ in
      calls += 1
      #expect(scratch.names.count == 2)
      return calls < stop
    }
    #expect(error == .interrupted)
    #expect(error?.description == "interrupted: nothing was written")
    #expect(error?.kind == .interrupted)
    #expect(calls == stop)
    #expect(scratch.names == ["source"])
  }

  @Test func interruptionKeepsTheOldModel() throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.llama().write(to: scratch)
    try convert(source, scratch("model"))
    let before = try files(below: scratch("model"))
    #expect(conversionError(source, scratch("model"), overwrite: true) { _ in false } == .interrupted)
    #expect(try files(below: scratch("model")) == before)
    #expect(scratch.names == ["model", "source"])
  }
}
