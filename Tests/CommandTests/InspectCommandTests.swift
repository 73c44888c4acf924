import DibitCheckpoint
import DibitJSON
import DibitTestSupport
import Testing

/// Files with tensors that are no model, and models of families that Dibit does not know.
@Suite struct InspectCommandTests {
  private func write(_ metadata: [(key: String, value: GGUFValue)], to path: String) throws {
    var writer = try GGUFWriter(
      path: path, metadata: metadata, tensors: [(name: "a", type: .f32, shape: [3, 2]), (name: "b", type: .f32, shape: [2])])
    try writer.append(floats: ([1, 2, 3, 4, 5, 6] as [Float]).span)
    try writer.append(floats: ([7, 8] as [Float]).span)
    _ = try writer.finalize()
  }

  @Test("a GGUF file without a model: its metadata in a bounded form, and its tensors")
  func tensorFile() throws {
    let scratch = Scratch()
    let metadata: [(key: String, value: GGUFValue)] = [
      ("general.name", .text("two\ntensors")), ("x.count", .uint32(7)), ("x.flag", .bool(true)), ("x.rate", .float64(0.5)),
      ("x.infinite", .float32(.infinity)), ("x.list", .array(.float32([1, 2, 3]))), ("x.bytes", .string([0xFF, 0xFE])),
      ("x.long", .text(String(repeating: "a", count: 200))),
    ]
    try write(metadata, to: scratch("x.gguf"))
    let facts = try dibit("inspect", scratch("x.gguf"), "--json", "--tensors").json()
    #expect(facts["kind"] == "tensor file" && facts["format"] == "GGUF" && facts["tensors"] == 2 && facts["bytes"] == 32)
    #expect(facts["no_model"] == "the key 'general.architecture' is missing" && facts["stored_as"] == ["F32": 2])
    #expect(facts["list"]?.array?.first == ["name": "a", "dtype": "F32", "storage": "F32", "shape": [3, 2]])
    #expect(facts["metadata_keys"] == 8)
    #expect(
      facts["metadata"] == [
        "general.name": "two tensors", "x.count": 7, "x.flag": true, "x.rate": 0.5, "x.infinite": "inf",
        "x.list": "an array of 3 float32", "x.bytes": "2 bytes that are no UTF-8",
        "x.long": .string(String(repeating: "a", count: 160) + "…"),
      ])
    let shown = try dibit("inspect", scratch("x.gguf"), "--tensors")
    #expect(shown.status == 0 && shown.errors == "" && shown.output.hasSuffix("\n\na  F32  [3, 2]\nb  F32     [2]\n"), "\(shown.output)")
    #expect(shown.output.contains("metadata.general.name  two tensors\n") && shown.output.contains("tensors                2\n"))
  }

  @Test("people are shown 24 keys of many, --json all")
  func manyKeys() throws {
    let scratch = Scratch()
    try write((0..<40).map { (key: "k\($0)", value: .uint32(1)) }, to: scratch("x.gguf"))
    let shown = try dibit("inspect", scratch("x.gguf")).output.split(separator: "\n")
    #expect(shown.count { $0.hasPrefix("metadata.") } == 24 && shown.contains("metadata       and more: --json shows the rest"), "\(shown)")
    #expect(try dibit("inspect", scratch("x.gguf"), "--json").json()["metadata"]?.object?.count == 40)
  }

  @Test("a model of another architecture, or without a part, says so and is shown; 'convert' still refuses it")
  func otherArchitecture() throws {
    let scratch = Scratch()
    try write([(key: "general.architecture", value: .text("rwkv6"))], to: scratch("r.gguf"))
    let facts = try dibit("inspect", scratch("r.gguf"), "--json").json()
    #expect(facts["kind"] == "tensor file" && facts["tensors"] == 2)
    #expect(facts["no_model"]?.string?.hasPrefix("general.architecture 'rwkv6' is not supported; supported are llama, ") == true)
    #expect(try dibit("convert", scratch("r.gguf"), "-o", scratch("o")).status == 65)
    try write([(key: "general.architecture", value: .text("llama"))], to: scratch("l.gguf"))
    #expect(try dibit("inspect", scratch("l.gguf"), "--json").json()["no_model"] == "the key 'llama.block_count' is missing")
    // A directory whose config.json names a family that is not known, and one without a config.json.
    var tiny = try TinyCheckpoint.llama()
    tiny.configuration["model_type"] = "mamba"
    let source = try tiny.write(to: scratch)
    let directory = try dibit("inspect", source, "--json").json()
    #expect(directory["kind"] == "tensor file" && directory["tensors"] == 21)
    #expect(directory["no_model"]?.string?.hasPrefix("the architecture 'mamba' is not supported; supported are ") == true)
    let bare = try scratch.directory("bare")
    try scratch.write(contents(source + "/model.safetensors"), to: "bare/model.safetensors")
    #expect(try dibit("inspect", bare, "--json").json()["no_model"] == "there is no config.json")
  }

  @Test("what is broken is refused as before")
  func broken() throws {
    let scratch = Scratch()
    try write([(key: "a", value: .uint32(1))], to: scratch("x.gguf"))
    let whole = try contents(scratch("x.gguf"))
    let cut = try scratch.write(Array(whole.dropLast(40)), to: "cut.gguf")
    let outcome = try dibit("inspect", cut)
    #expect(outcome.status == 65 && outcome.output == "" && outcome.errorLines.count == 1, "\(outcome)")
    var tiny = try TinyCheckpoint.llama()
    tiny.configuration["num_attention_heads"] = "four"
    #expect(try dibit("inspect", try tiny.write(to: scratch)).status == 65)
  }
}
