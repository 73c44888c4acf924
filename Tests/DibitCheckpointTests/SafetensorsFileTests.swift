import DibitTensor
import Testing

@testable import DibitCheckpoint

/// Written by `safetensors.torch.save` of safetensors 0.8.0 from literal tensors of each kind, with `{"format": "pt"}`.
let pythonFile: [UInt8] =
  littleEndian(0x1E0)
  + Array(
    #"""
    {"__metadata__":{"format":"pt"},"s":{"dtype":"I64","shape":[],"data_offsets":[0,8]},\#
    "e":{"dtype":"F32","shape":[0,3],"data_offsets":[8,8]},"w":{"dtype":"F32","shape":[2,2],"data_offsets":[8,24]},\#
    "b":{"dtype":"BF16","shape":[3],"data_offsets":[24,30]},"h":{"dtype":"F16","shape":[3],"data_offsets":[30,36]},\#
    "e4":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[36,39]},"u":{"dtype":"U8","shape":[2],"data_offsets":[39,41]},\#
    "m":{"dtype":"BOOL","shape":[2],"data_offsets":[41,43]}}    
    """#.utf8) + [
    7, 0, 0, 0, 0, 0, 0, 0,  // s
    0, 0, 0x80, 0x3F, 0, 0, 0x20, 0xC0, 0, 0, 0, 0, 0, 0xE0, 0x7F, 0x47,  // w
    0x80, 0x3F, 0, 0xBF, 0x40, 0x40,  // b
    0x66, 0x2E, 1, 0x80, 0xFF, 0x7B,  // h
    0x3E, 0xFE, 1, 0, 0xFF, 1, 0,  // e4, u, m
  ]

@Suite struct SafetensorsFileTests {
  @Test func filesWrittenByPython() throws {
    let file = try SafetensorsFile(bytes(pythonFile), file: "python")
    #expect(file.metadata.map(\.key) == ["format"] && file.metadata.map(\.value) == ["pt"])
    #expect(file.tensors.map(\.name) == ["s", "e", "w", "b", "h", "e4", "u", "m"])
    let weight = try #require(file.entry("w"))
    #expect(weight == TensorEntry(name: "w", dtype: .f32, shape: [2, 2], range: 496..<512))
    #expect(file.bytes(of: weight).array == Array(pythonFile[496..<512]))
    #expect(file.entry("W") == nil)
  }

  @Test func valuesWrittenByPython() throws {
    let scratch = Scratch()
    let checkpoint = try Checkpoint.open(try scratch.write(pythonFile, to: "any.name"))
    let expected: [(String, [Float])] = [
      ("s", [7]), ("e", []), ("w", [1, -2.5, 0, 65504]), ("b", [1, -0.5, 3]), ("h", [0.099975586, -0x1p-24, 65504]),
      ("e4", [1.75, -448, 0x1p-9]), ("u", [0, 255]), ("m", [1, 0]),
    ]
    for (name, values) in expected { #expect(try checkpoint.readVector(name) == values, "\(name)") }
  }

  @Test func aFileWithoutTensors() throws {
    let file = try SafetensorsFile(bytes(safetensors("{}", data: 0)), file: "f")
    #expect(file.tensors.isEmpty && file.metadata.isEmpty)
    #expect(try SafetensorsFile(bytes(safetensors(#"{"__metadata__":{}}   "#, data: 0)), file: "f").metadata.isEmpty)
  }

  @Test func headerOrderIsNotDataOrder() throws {
    let header = #"{"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]},"a":{"shape":[2],"data_offsets":[0,2],"dtype":"U8"}}"#
    let file = try SafetensorsFile(bytes(safetensors(header, data: 3)), file: "f")
    #expect(file.tensors.map(\.name) == ["a", "b"])
    #expect(file.entry("b").map { file.bytes(of: $0).array } == [2])
  }

  @Test func emptyTensorsMayLieAtAnyBoundary() throws {
    let header = #"""
      {"x":{"dtype":"F32","shape":[0],"data_offsets":[2,2]},"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},\#
      "y":{"dtype":"F32","shape":[3,0,9223372036854775],"data_offsets":[0,0]},\#
      "b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]},"z":{"dtype":"U8","shape":[0],"data_offsets":[3,3]}}
      """#
    let file = try SafetensorsFile(bytes(safetensors(header, data: 3)), file: "f")
    #expect(file.tensors.map(\.name) == ["y", "a", "x", "b", "z"])
  }

  @Test func namesAreBytes() throws {
    // Both spell the same letter; String's == would make them one.
    let scratch = Scratch()
    let (one, two) = ("\u{E9}", "e\u{301}")
    let header = #"{"\#(one)":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"\#(two)":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}"#
    let file = try SafetensorsFile(bytes(safetensors(header, data: 2)), file: "f")
    #expect(file.entry(one)?.range.lowerBound == file.bytes.count - 2)
    #expect(file.entry(two)?.range.lowerBound == file.bytes.count - 1)
    let checkpoint = try Checkpoint.open(try scratch.write(safetensors(header, data: 2), to: "accents"))
    #expect(try checkpoint.readVector(one) == [0])
    #expect(try checkpoint.readVector(two) == [1])
  }
}
