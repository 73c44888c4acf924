import DibitCheckpoint
import DibitConversion
import DibitFiles
import DibitJSON
import DibitKernels
import DibitModel
import DibitModelStore
import DibitQuantization
import DibitTensor
import DibitTestSupport
import Testing

/// Models and adapters written for other tools, and read back: not a bit may change.
@Suite struct ExportTests {
  private static let folder = String(#filePath.dropLast("ConversionTests/ExportTests.swift".count)) + "Fixtures/parity/"
  static let families = [
    "llama", "llama3", "mistral", "qwen2", "qwen3", "gemma2", "gemma3", "smollm3", "phi3", "olmo2", "gpt2", "gpt_neox",
  ]

  /// A fixture's checkpoint with a tokenizer beside it.
  func source(_ family: String, in scratch: Scratch) throws -> String {
    let path = try scratch.directory("source")
    for file in ["config.json", "model.safetensors"] {
      try scratch.write(try readFile(Self.folder + family + "/" + file, limit: 64 << 20), to: "source/" + file)
    }
    try scratch.write(smallTokenizer(), to: "source/tokenizer.json")
    return path
  }

  private func floats(_ path: String) throws -> [[Float]] {
    try ModelSource.open(path).weights().parameters.map { expanded($0.weight) }
  }

  @Test("a float model through GGUF and through safetensors", arguments: families)
  func floatModels(family: String) throws {
    let scratch = Scratch()
    let source = try source(family, in: scratch)
    try convert(source, scratch("model"), scheme(32, embedding: 32))
    let exporter = { Exporter(model: scratch("model"), output: $0, overwrite: false, on: Compute(threads: 1)) }
    try exporter(scratch("m.gguf")).writeGGUF()
    try exporter(scratch("floats")).writeSafetensors(.f32)
    let expected = try floats(source)
    let raised = family.hasPrefix("gemma") ? Set(try norms(source)) : []
    for (index, (found, value)) in zip(try floats(scratch("m.gguf")), expected).enumerated() {
      // llama.cpp keeps what Gemma's norms multiply by: one more.
      #expect(found == (raised.contains(index) ? value.map { $0 + 1 } : value), "parameter \(index)")
    }
    #expect(try floats(scratch("floats")) == expected)
    let (before, after) = (try Checkpoint.open(source), try Checkpoint.open(scratch("floats")))
    for name in after.tensorNames {
      #expect(try after.readVector(name) == before.readVector(name) && after.info(name)?.shape == before.info(name)?.shape)
    }
  }

  private func norms(_ path: String) throws -> [Int] {
    try ModelSource.open(path).weights().parameters.filter { $0.weight.rows == 1 }.map(\.index)
  }

  @Test("a packed model in GGUF, one scale per row or per group", arguments: ["llama", "phi3", "gpt2"], [nil, 32])
  func packedModels(family: String, group: Int?) throws {
    let scratch = Scratch()
    try convert(try source(family, in: scratch), scratch("model"), scheme(2, group: group))
    try Exporter(model: scratch("model"), output: scratch("m.gguf"), overwrite: false, on: Compute(threads: 2)).writeGGUF()
    #expect(try floats(scratch("m.gguf")) == floats(scratch("model")))
  }

  @Test("rows of 256 with one scale become Q2_K and Q4_K, and keep every value")
  func superBlocks() throws {
    let scratch = Scratch()
    let tiny = try TinyCheckpoint.llama(hidden: 256, wide: 512)
    var mixed = scheme(2, group: nil)
    mixed.tensorBits["model.layers.0.mlp.up_proj.weight"] = 3
    try convert(try tiny.write(to: scratch), scratch("model"), mixed)
    try Exporter(model: scratch("model"), output: scratch("m.gguf"), overwrite: false, on: Compute(threads: 2)).writeGGUF()
    let stored = try Checkpoint.open(scratch("m.gguf"))
    #expect(stored.info("blk.0.ffn_up.weight")?.storage == "Q4_K")
    #expect(stored.info("blk.0.attn_v.weight")?.storage == "Q2_K" && stored.info("token_embd.weight")?.storage == "Q4_K")
    #expect(try floats(scratch("m.gguf")) == floats(scratch("model")))
  }

  @Test("groups of weights become Q4_0 at 2 and 3 bits, Q5_0 at 4 and Q8_0 at 8, and keep every value", arguments: [32, 64])
  func groups(size: Int) throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.llama(hidden: 256, wide: 512).write(to: scratch)
    for (bits, type) in [(2, "Q4_0"), (3, "Q4_0"), (4, "Q5_0"), (8, "Q8_0")] {
      let (model, file) = (scratch("model\(bits)"), scratch("\(bits).gguf"))
      try convert(source, model, scheme(bits, group: size, embedding: max(4, bits)))
      try Exporter(model: model, output: file, overwrite: false, on: Compute(threads: 2)).writeGGUF()
      let stored = try Checkpoint.open(file)
      #expect(stored.info("blk.0.attn_v.weight")?.storage == type)
      #expect(stored.info("token_embd.weight")?.storage == (bits < 4 ? "Q5_0" : type))
      #expect(try floats(file) == floats(model))
    }
  }

  @Test func whatCannotBeWrittenSaysSo() throws {
    let scratch = Scratch()
    try convert(try TinyCheckpoint.afm7().write(to: scratch), scratch("model"), scheme(2, group: 32))
    let exporter = Exporter(model: scratch("model"), output: scratch("m.gguf"), overwrite: false, on: Compute(threads: 1))
    do throws(ConversionError) {
      try exporter.writeGGUF()
      Issue.record("afm7 has no architecture in llama.cpp")
    } catch {
      #expect(error.description.hasSuffix("no architecture for model_type 'afm7': write it as safetensors, which mlx-lm reads"))
    }
    #expect(scratch.names == ["model", "source"])
  }

  @Test("an adapter of every family through GGUF and back", arguments: families)
  func adapters(family: String) throws {
    let scratch = Scratch()
    try convert(try source(family, in: scratch), scratch("model"), scheme(32, embedding: 32))
    let (base, peft) = (try StoredModel.openConverted(scratch("model")), Self.folder + family + "/peft")
    guard isDirectory(peft) else { return }
    let count = try AdapterConverter.importAdapter(peft, base: base, output: scratch("own"), overwrite: false, on: Compute(threads: 1))
    #expect(count > 0)
    let file = scratch("adapter.gguf")
    #expect(
      try AdapterConverter.exportAdapter(
        [AdapterPart(path: scratch("own"))], base: base, format: .gguf, output: file, overwrite: false, on: Compute(threads: 1))
        == count)
    #expect(
      try AdapterConverter.importAdapter(file, base: base, output: scratch("back"), overwrite: false, on: Compute(threads: 1)) == count)
    let name = "/adapter_model.safetensors"
    let (before, after) = (try Checkpoint.open(peft + name), try Checkpoint.open(scratch("back") + name))
    #expect(Set(before.tensorNames) == Set(after.tensorNames))
    for tensor in before.tensorNames { #expect(try after.readVector(tensor) == before.readVector(tensor), "\(tensor)") }
  }
}
