import DibitJSON
import DibitTestSupport
import Testing

/// Models as other tools want them.
@Suite struct ExportCommandTests {
  private static let template = "{% for m in messages %}{{ m['content'] }}{% endfor %}"

  /// A llama whose chat ends with a token of its own, through a GGUF file, which keeps its tokens by id.
  private func throughGGUF(_ scratch: Scratch) throws {
    let source = try TinyCheckpoint.llama().write(to: scratch)
    let settings: JSONValue = [
      "bos_token": "<|endoftext|>", "eos_token": ["content": "<turn_end>"], "chat_template": .string(Self.template),
    ]
    try scratch.write(settings.serialized(), to: "source/tokenizer_config.json")
    try #require(try dibit("convert", source, "--bits", "4", "--output", scratch("first")).status == 0)
    let exported = try dibit("export", scratch("first"), "--format", "gguf", "--output", scratch("m.gguf"))
    #expect(
      exported.status == 0 && exported.output == "" && exported.errors.hasSuffix("wrote \(scratch("m.gguf"))\n"), "\(exported.errors)")
    #expect(exported.errors.contains("exporting: 100 %"), "\(exported.errors)")
    try #require(try dibit("convert", scratch("m.gguf"), "--bits", "16", "--output", scratch("model")).status == 0)
  }

  private func json(_ path: String) throws -> JSONValue { try JSONValue(parsing: contents(path)) }

  @Test func specialTokensTemplateAndStopsGoAlong() throws {
    let scratch = Scratch()
    try throughGGUF(scratch)
    try #require(try dibit("export", scratch("model"), "--format", "safetensors", "--output", scratch("floats")).status == 0)
    for file in ["model/tokenizer.json", "floats/tokenizer.json"] {
      let tokenizer = try json(scratch(file))
      let added = try #require(tokenizer["added_tokens"]?.array)
      #expect(added.compactMap { $0["content"]?.string } == ["<|endoftext|>", "<turn_start>", "<turn_end>", "<n>"])
      for token in added {
        let id = tokenizer["model"]?["vocab"]?[token["content"]?.string ?? ""]
        #expect(id != nil && id == token["id"], "\(token.serialized())")
      }
    }
    let settings = try json(scratch("floats/tokenizer_config.json"))
    #expect(settings["tokenizer_class"] == "PreTrainedTokenizerFast" && settings["chat_template"] == .string(Self.template))
    #expect(settings["bos_token"] == "<|endoftext|>" && settings["eos_token"] == "<turn_end>" && settings["model_max_length"] == 256)
    // The end of a turn, and what else 'dibit generate' stops at.
    #expect(try json(scratch("floats/generation_config.json")) == ["bos_token_id": 0, "eos_token_id": [2, 0]])
    let configuration = try json(scratch("floats/config.json"))
    #expect(configuration["bos_token_id"] == 0 && configuration["eos_token_id"] == 2 && configuration["quantization"] == nil)
    #expect(try text(scratch("floats/README.md")).hasPrefix("# model, exported by Dibit\n"))
    #expect(try dibit("generate", scratch("floats"), "--prompt", "the goal", "--max-tokens", "2").status == 0)
  }

  /// A block is 144 bytes for 256 weights, or 34 for 32; and a few norms.
  @Test("a family that llama.cpp does not know is refused in one line that says what to do")
  func afm7IsNoGGUF() throws {
    let work = try Workplace(adapter: true)
    let file = work.scratch("m.gguf")
    for model in [work.model, work.scratch("source")] {
      let outcome = try dibit("export", model, "--format", "gguf", "--output", file)
      #expect(outcome.status == 65 && outcome.output == "", "\(outcome.errors)")
      #expect(
        outcome.errorLines.count == 1
          && outcome.errors.hasSuffix(
            "'\(model)': cannot be written as GGUF: llama.cpp has no architecture for model_type 'afm7': "
              + "write it as safetensors, which mlx-lm reads\n"),
        "\(outcome.errors)")
    }
    let adapter = try dibit("export", work.model, "--adapter", work.adapter, "--format", "gguf", "--output", file)
    #expect(adapter.status == 65 && adapter.errorLines.count == 1, "\(adapter.errors)")
    #expect(
      adapter.errors.hasSuffix("llama.cpp has no architecture for model_type 'afm7': write it for mlx-lm or PEFT\n"), "\(adapter.errors)")
    #expect(!exists(file))
  }

  @Test(arguments: [("4", "Q4_K", 4.5...4.6), ("8", "Q8_0", 8.5...8.6)])
  func inspectSaysWhatAGGUFFileHolds(bits: String, type: String, bitsPerWeight: ClosedRange<Double>) throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.llama(hidden: 256, wide: 512).write(to: scratch)
    try #require(try dibit("convert", source, "--bits", bits, "--group-size", "row", "--output", scratch("model")).status == 0)
    try #require(try dibit("export", scratch("model"), "--format", "gguf", "--output", scratch("m.gguf")).status == 0)
    let facts = try dibit("inspect", scratch("m.gguf"), "--json").json()
    #expect(facts["kind"] == "quantised checkpoint" && facts["format"] == "GGUF")
    #expect(facts["stored_as"] == .object(JSONObject([(key: "F32", value: 5), (key: type, value: 16)])))
    #expect(bitsPerWeight.contains(facts["bits_per_weight"]?.double ?? 0))
    let floats = try dibit("inspect", source, "--json").json()
    #expect(floats["kind"] == "float checkpoint" && floats["bits_per_weight"] == 32 && floats["stored_as"] == ["F32": 21])
  }
}
