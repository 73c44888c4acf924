@testable import DibitCheckpoint
@testable import DibitFiles
import DibitTensor
import Testing

/// A value of every type, and arrays of every type.
let everyValue: [(key: String, value: GGUFValue)] = [
  ("general.architecture", .text("llama")), ("u8", .uint8(200)), ("i8", .int8(-100)), ("u16", .uint16(60_000)), ("i16", .int16(-30_000)),
  ("u32", .uint32(4_000_000_000)), ("i32", .int32(-2_000_000_000)), ("f32", .float32(0.1)), ("yes", .bool(true)), ("no", .bool(false)),
  ("s", .string([0xFF, 0, 0x61])), ("u64", .uint64(.max)), ("i64", .int64(.min)), ("f64", .float64(0.1)),
  ("au8", .array(.uint8([1, 2, 3]))), ("ai8", .array(.int8([-1]))), ("au16", .array(.uint16([1]))), ("ai16", .array(.int16([-2]))),
  ("au32", .array(.uint32([7, 8]))), ("ai32", .array(.int32([-7, 8]))), ("af32", .array(.float32([1.5]))),
  ("ab", .array(.bool([true, false]))), ("as", .array(.strings(GGUFStrings([Array("a".utf8), [], [0xC3]])))),
  ("aa", .array(.arrays([.uint8([1]), .arrays([]), .strings(GGUFStrings([[65]]))]))), ("au64", .array(.uint64([.max]))),
  ("ai64", .array(.int64([.min]))), ("af64", .array(.float64([0.1]))), ("empty", .array(.int32([]))),
]

/// Writes a file with these tensors, whose bytes count up, and reads it back whole.
func ggufBytes(
  _ metadata: [(key: String, value: GGUFValue)], _ tensors: [(name: String, type: GGMLType, shape: [Int])], in scratch: Scratch
) throws -> [UInt8] {
  var writer = try GGUFWriter(path: scratch("w.gguf"), metadata: metadata, tensors: tensors)
  let size = writer.byteCount
  for (_, type, shape) in tensors {
    let data = (0..<shape.reduce(1, *) / type.blockSize * type.blockBytes).map { UInt8(truncatingIfNeeded: $0) }
    try writer.append(data.span)
  }
  _ = try writer.finalize()
  let file = try readFile(scratch("w.gguf"), limit: 1 << 24)
  #expect(file.count == size)
  removeTree(scratch("w.gguf"))
  return file
}

/// Half of a scale as fp16 codes for a row of the grid.
private func grid(_ codes: [UInt8], _ scales: [Float16]) -> [UInt32] {
  let group = codes.count / scales.count
  return codes.indices.map { ((Float(codes[$0]) - 1.5) * Float(scales[$0 / group])).bitPattern }
}

@Suite struct GGUFWriterTests {
  @Test func everythingComesBack() throws {
    let tensors: [(name: String, type: GGMLType, shape: [Int])] = [
      ("a", .f32, [3, 5]), ("b", .q8_0, [2, 64]), ("c", .i8, []), ("d", .bf16, [1, 2, 3, 4]), ("e", .q2K, [256]), ("f", .f64, [1]),
    ]
    let file = try GGUFFile(bytes(try ggufBytes(everyValue, tensors, in: Scratch())), file: "f")
    #expect(file.version == 3 && file.alignment == 32)
    #expect(file.metadata.map(\.key) == everyValue.map(\.key))
    #expect(file.metadata.map(\.value) == everyValue.map(\.value))
    #expect(file["u64"] == .uint64(.max) && file["missing"] == nil)
    #expect(file.tensors.map(\.name) == tensors.map(\.name) && file.tensors.map(\.shape) == tensors.map(\.shape))
    for tensor in file.tensors {
      let data = file.bytes(of: tensor).array
      #expect(data == data.indices.map { UInt8(truncatingIfNeeded: $0) })
    }
    #expect(file.tensor("d")?.type == .bf16 && file.tensor("x") == nil)
  }

  @Test func aCheckpointReadsRows() throws {
    let scratch = Scratch()
    var writer = try GGUFWriter(
      path: scratch("m"), metadata: [], tensors: [(name: "w", type: .f16, shape: [3, 2]), ("q", .q8_0, [2, 32])])
    let (floats, block): ([Float], [UInt8]) = ([1, 2, 3, 4, 5, 6], [0, 0x3C] + [UInt8](repeating: 3, count: 32))
    try writer.append(floats: floats.span)
    for _ in 0..<2 { try writer.append(block.span) }
    _ = try writer.finalize()
    let checkpoint = try Checkpoint.open(scratch("m"))
    #expect(checkpoint.format == .gguf && checkpoint.gguf?.version == 3)
    #expect(try checkpoint.readVector("w") == floats)
    #expect(try checkpoint.readVector("q") == [Float](repeating: 3, count: 64))
    #expect(checkpoint.info("q")?.storage == "Q8_0" && checkpoint.info("q")?.dtype == .f32 && checkpoint.info("q")?.byteCount == 68)
    var row = Matrix(rows: 1, columns: 2)
    try checkpoint.readRows("w", rows: 1..<2, into: &row)
    #expect(row.values == [3, 4])
    #expect(try checkpoint.bytes("w")?.count == 12)
    #expect(try checkpoint.bytes("q") == nil)
    checkpoint.release("q")
  }

  @Test(arguments: [
    ("", GGMLType.f32, [1]), (String(repeating: "n", count: 64), .f32, [1]), ("a", .f32, [0]), ("a", .f32, [1, 1, 1, 1, 1]),
    ("a", .q8_0, [33]), ("a", .f32, [-1, -1]), ("a", .f32, [1 << 40, 1 << 40]), ("a", .q2K, []),
  ])
  func badDeclarations(name: String, type: GGMLType, shape: [Int]) {
    let scratch = Scratch()
    #expect(throws: CheckpointError.self) { _ = try GGUFWriter(path: scratch("f"), metadata: [], tensors: [(name, type, shape)]) }
    #expect(!exists(scratch("f")))
  }

  @Test func unfinishedFilesAreRemovedAndSizesAreChecked() throws {
    let scratch = Scratch()
    do {
      var writer = try GGUFWriter(path: scratch("f"), metadata: [], tensors: [(name: "a", type: .f32, shape: [1])])
      let long: [UInt8] = [1, 2, 3, 4, 5]
      var caught: CheckpointError?
      do throws(CheckpointError) { try writer.append(long.span) } catch { caught = error }
      #expect(caught == .wrongByteCount(file: scratch("f"), tensor: "a", declared: 4, given: 5))
      do throws(CheckpointError) { _ = try writer.finalize() } catch { caught = error }
      #expect(caught == .wrongByteCount(file: scratch("f"), tensor: "a", declared: 4, given: 0))
    }
    #expect(!exists(scratch("f")))
  }

  @Test func theGridIsStoredExactly() throws {
    var rng = SplitMix64(seed: 2)
    // Every kind of scale: normal, negative, the largest, subnormal and even, the smallest normal.
    for bits: UInt16 in [0x3C00, 0x2E66, 0xAE66, 0x7BFF, 0x0002, 0x0400, 0x0401 &+ 1, 0x03FE, 0x1234] {
      let scale = Float16(bitPattern: bits)
      let codes = (0..<512).map { _ in UInt8(rng.below(4)) }
      let blocks = try #require(GGUFQ2K.encode(codes: codes, scales: [scale]))
      #expect(widenedBlocks(blocks, .q2K).map(\.bitPattern) == grid(codes, [scale]), "scale \(scale)")
    }
  }

  @Test func groupsInSmallRatios() throws {
    var rng = SplitMix64(seed: 3)
    let codes = (0..<512).map { _ in UInt8(rng.below(4)) }
    for scales: [Float16] in [[1, 2, 3, 4, 5, 1, 2, 3], [0.5, 0.25, 0.75, 0.5, 7, 7, 14, 21], [1, -1, 1, 1, 1, 1, 1, 1].map { abs($0) }] {
      let blocks = try #require(GGUFQ2K.encode(codes: codes, scales: scales))
      #expect(widenedBlocks(blocks, .q2K).map(\.bitPattern) == grid(codes, scales))
    }
  }

  @Test func whatIsNotExactIsRefused() {
    let codes = [UInt8](repeating: 1, count: 256)
    #expect(GGUFQ2K.encode(codes: codes, scales: [Float16(bitPattern: 1)]) == nil, "half of 2^-24 is no fp16 number")
    #expect(GGUFQ2K.encode(codes: codes, scales: [1, 1.001, 1, 1]) == nil)
    #expect(GGUFQ2K.encode(codes: codes, scales: [1, 7, 1, 1]) == nil)
    #expect(GGUFQ2K.encode(codes: codes, scales: [.infinity]) == nil)
    #expect(GGUFQ2K.encode(codes: codes, scales: [.nan]) == nil)
    #expect(GGUFQ2K.encode(codes: Array(codes.dropLast()), scales: [1]) == nil)
    #expect(GGUFQ2K.encode(codes: codes, scales: [Float16](repeating: 1, count: 32)) == nil, "groups of 8")
    #expect(GGUFQ2K.encode(codes: [UInt8](repeating: 4, count: 256), scales: [1]) == nil)
    #expect(GGUFQ2K.encode(codes: [], scales: [1]) == nil)
  }

  @Test func zeroScalesGiveZeros() throws {
    let codes = (0..<256).map { UInt8($0 & 3) }
    #expect(widenedBlocks(try #require(GGUFQ2K.encode(codes: codes, scales: [0])), .q2K) == [Float](repeating: 0, count: 256))
    let mixed = try #require(GGUFQ2K.encode(codes: codes, scales: [0, 1]))
    #expect(widenedBlocks(mixed, .q2K) == (0..<256).map { $0 < 128 ? 0 : Float(codes[$0]) - 1.5 })
  }
}
