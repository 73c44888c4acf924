import DibitFailure
@testable import DibitCheckpoint
@testable import DibitFiles
import DibitTensor
import Glibc
import Testing

@Suite struct SafetensorsWriterTests {
  @Test func goldenFile() throws {
    let scratch = Scratch()
    var writer = try SafetensorsWriter(
      path: scratch("golden"), tensors: [(name: "a\n", dtype: .f16, shape: [1, 2]), (name: "é", dtype: .u8, shape: [])],
      metadata: [(key: "format", value: "dibit"), (key: "b", value: "\"")])
    try writer.put(floats: [1, -2], as: .f16)
    try writer.put(bytes: [7])
    let digest = try writer.finalize()
    let header =
      #"{"__metadata__":{"format":"dibit","b":"\""},"a\n":{"dtype":"F16","shape":[1,2],"data_offsets":[0,4]},"é":{"dtype":"U8","#
      + #""shape":[],"data_offsets":[4,5]}}"#
    let padding = 184 - header.utf8.count
    #expect((0..<64).contains(padding))
    let expected = littleEndian(184) + Array(header.utf8) + [UInt8](repeating: 0x20, count: padding) + [0, 0x3C, 0, 0xC0, 7]
    #expect(try readFile(scratch("golden"), limit: 1000) == expected)
    // sha256sum of the expected bytes.
    #expect(digest == "591eb2d4591762d6e6f93ec655218003c4547baa7240da73f191cbbb2dae5c9c")
  }

  @Test(arguments: DType.allCases)
  func bytesComeBack(dtype: DType) throws {
    let scratch = Scratch()
    let shapes: [[Int]] = [[3, 5], [], [0], [7], [2, 0, 4], [2, 3, 4], [1, 1, 1, 1]]
    let contents = shapes.map { shape in (0..<shape.reduce(dtype.byteCount, *)).map { UInt8(truncatingIfNeeded: $0 * 37 + shape.count) } }
    var writer = try SafetensorsWriter(
      path: scratch("f"), tensors: shapes.enumerated().map { (name: "t\($0.offset)", dtype: dtype, shape: $0.element) })
    for content in contents { try writer.put(bytes: content) }
    _ = try writer.finalize()
    let file = try SafetensorsFile(MappedFile(path: scratch("f")).bytes, file: "f")
    #expect((file.tensors.first { !$0.range.isEmpty }?.range.lowerBound ?? 1) % 64 == 0)
    for (index, shape) in shapes.enumerated() {
      let entry = try #require(file.entry("t\(index)"))
      #expect(entry.shape == shape && entry.dtype == dtype && file.bytes(of: entry).array == contents[index])
    }
  }

  @Test func floatsComeBack() throws {
    let scratch = Scratch()
    let values: [Float] = [0, -0.0, 1, -1.5, 65504, 0x1p-24, .infinity, -.infinity, .nan] + (0..<40_000).map { Float($0 % 2048) }
    let dtypes: [DType] = [.f64, .f32, .bf16, .f16]
    var writer = try SafetensorsWriter(path: scratch("f"), tensors: dtypes.map { (name: $0.rawValue, dtype: $0, shape: [values.count]) })
    for dtype in dtypes { try writer.put(floats: values, as: dtype) }
    _ = try writer.finalize()
    let checkpoint = try Checkpoint.open(scratch("f"))
    for dtype in dtypes {
      let found = try checkpoint.readVector(dtype.rawValue)
      let expected = dtype == .bf16 ? values.map { Float(BFloat16($0)) } : values
      #expect(zip(found, expected).allSatisfy { $0 == $1 || $0.isNaN && $1.isNaN } && found.count == expected.count, "\(dtype)")
    }
  }

  @Test func theExampleInTheDocumentation() throws {
    let page = String(decoding: try readFile("docs/formats/staging.md", limit: 1 << 20), as: UTF8.self)
    let dump = page.split(separator: "\n").filter { $0.hasPrefix("000000") }
    let expected = dump.flatMap { $0.prefix { $0 != "|" }.split(separator: " ").dropFirst().compactMap { UInt8($0, radix: 16) } }
    let scratch = Scratch()
    var writer = try SafetensorsWriter(path: scratch("f"), tensors: [(name: "a", dtype: .u8, shape: [2])])
    try writer.put(bytes: [1, 2])
    _ = try writer.finalize()
    #expect(try readFile(scratch("f"), limit: 1000) == expected)
  }

  @Test func halvesAreRoundedToEven() {
    let values: [Float] = [2049, 2051, 65520, 0x1p-25, 0x1.8p-24]
    let codes = Narrowing.narrow(values.span, to: .f16)
    #expect(codes == [0x00, 0x68, 0x02, 0x68, 0x00, 0x7C, 0x00, 0x00, 0x02, 0x00])
  }

  @Test func piecesOfAnySizeGiveTheSameBytes() throws {
    let scratch = Scratch()
    let content = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 9) }
    var digests: [String] = []
    for (name, piece) in [("one", 3_000_000), ("some", 700_001), ("many", 4093)] {
      var writer = try SafetensorsWriter(path: scratch(name), tensors: [(name: "t", dtype: .u8, shape: [content.count])])
      for first in stride(from: 0, to: content.count, by: piece) {
        try writer.put(bytes: Array(content[first..<min(first + piece, content.count)]))
      }
      digests.append(try writer.finalize())
    }
    #expect(Set(digests).count == 1)
    let files = try ["one", "some", "many"].map { try readFile(scratch($0), limit: 1 << 22) }
    #expect(files[0] == files[1] && files[0] == files[2] && files[0].suffix(content.count).elementsEqual(content))
  }

  @Test func everyTensorGetsExactlyItsBytes() throws {
    let scratch = Scratch()
    let tensors: [(name: String, dtype: DType, shape: [Int])] = [(name: "a", dtype: .f16, shape: [2]), (name: "b", dtype: .u8, shape: [3])]
    func write(_ name: String, pieces: [Int]) -> CheckpointError? {
      error { () throws(CheckpointError) in
        var writer = try SafetensorsWriter(path: scratch(name), tensors: tensors)
        for piece in pieces { try writer.put(bytes: [UInt8](repeating: 1, count: piece)) }
        _ = try writer.finalize()
      }
    }
    func wrong(_ name: String, _ tensor: String, _ declared: Int, _ given: Int) -> CheckpointError {
      .wrongByteCount(file: scratch(name), tensor: tensor, declared: declared, given: given)
    }
    #expect(write("whole", pieces: [1, 3, 0, 2, 1]) == nil)
    #expect(write("none", pieces: []) == wrong("none", "a", 4, 0))
    #expect(write("short", pieces: [4, 2]) == wrong("short", "b", 3, 2))
    #expect(write("across", pieces: [3, 2]) == wrong("across", "a", 4, 5))
    #expect(write("long", pieces: [4, 4]) == wrong("long", "b", 3, 4))
    #expect(write("after", pieces: [4, 3, 1]) == wrong("after", "b", 3, 4))
    #expect(try scratch.names() == ["whole"])
  }

  @Test func declarations() throws {
    let scratch = Scratch()
    func refused(_ tensors: [(name: String, dtype: DType, shape: [Int])], metadata: [(key: String, value: String)] = []) -> String? {
      let error = error { () throws(CheckpointError) in
        _ = try SafetensorsWriter(path: scratch("f"), tensors: tensors, metadata: metadata)
      }
      guard case .badDeclaration(_, let tensor, _) = error else { return nil }
      return tensor
    }
    #expect(refused([(name: "a", dtype: .u8, shape: [1]), (name: "a", dtype: .u8, shape: [2])]) == "a")
    #expect(refused([(name: "__metadata__", dtype: .u8, shape: [1])]) == "__metadata__")
    #expect(refused([(name: "n", dtype: .u8, shape: [-1])]) == "n")
    #expect(refused([(name: "n", dtype: .f32, shape: [1 << 40, 1 << 40])]) == "n")
    #expect(refused([(name: "m", dtype: .u8, shape: [.max]), (name: "n", dtype: .u8, shape: [1])]) == "n")
    #expect(refused([], metadata: [(key: "k", value: "1"), (key: "k", value: "2")]) == "__metadata__")
    #expect(refused([(name: "\u{E9}", dtype: .u8, shape: [1]), (name: "e\u{301}", dtype: .u8, shape: [1])]) == nil)
    #expect(try scratch.names() == [])
  }

  @Test func aFileWithoutTensors() throws {
    let scratch = Scratch()
    _ = try SafetensorsWriter(path: scratch("f"), tensors: []).finalize()
    #expect(try readFile(scratch("f"), limit: 100).count == 64)
    #expect(try Checkpoint.open(scratch("f")).tensorNames == [])
  }

  @Test func aFullDisk() {
    let big: [(name: String, dtype: DType, shape: [Int])] = [(name: "t", dtype: .u8, shape: [3 << 20])]
    let full = CheckpointError.file(.system(operation: "write", path: "/dev/full", code: ENOSPC))
    // Found while appending, and by a small file when it finishes.
    let appending = error { () throws(CheckpointError) in
      var writer = try SafetensorsWriter(path: "/dev/full", tensors: big)
      try writer.put(bytes: [UInt8](repeating: 0, count: 3 << 20))
    }
    #expect(appending == full)
    let finalizing = error { () throws(CheckpointError) in _ = try SafetensorsWriter(path: "/dev/full", tensors: []).finalize() }
    #expect(finalizing == full)
    #expect(full.description == "'/dev/full': cannot write: No space left on device" && full.kind == .inputOutput)
    #expect(exists("/dev/full"))
  }

  @Test func existingFilesAreKept() throws {
    let scratch = Scratch()
    let path = try scratch.write("precious", to: "f")
    #expect(error { () throws(CheckpointError) in _ = try SafetensorsWriter(path: path, tensors: []) } == .file(.outputExists(path: path)))
    #expect(try readFile(path, limit: 100) == Array("precious".utf8))
    #expect(
      error { () throws(CheckpointError) in _ = try SafetensorsWriter(path: scratch("no/f"), tensors: []) }
        == .file(.missingParent(path: scratch("no/f"), parent: scratch("no"))))
  }
}
