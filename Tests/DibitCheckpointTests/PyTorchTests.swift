import DibitFailure
@testable import DibitCheckpoint
@testable import DibitFiles
import DibitTensor
import DibitTestSupport
import Testing

/// Right files, written here and by PyTorch.
@Suite struct PyTorchTests {
  @Test(arguments: [false, true], [UInt16(0), 0x0808])
  func tensorsOfOneStorage(isWide: Bool, flags: UInt16) throws {
    let value = Python.dict([
      ("plain", .tensor(count: 12, shape: [3, 4], strides: [4, 1])),
      ("transposed", .tensor(count: 12, shape: [4, 3], strides: [1, 4])),
      ("sliced", .tensor(count: 12, offset: 4, shape: [2, 2], strides: [4, 2])),
      ("vector", .tensor(count: 12, offset: 1, shape: [3], strides: [4])),
      ("expanded", .tensor(count: 12, offset: 5, shape: [2, 3], strides: [0, 0])),
      ("scalar", .tensor(count: 12, offset: 11, shape: [], strides: [])),
      ("empty", .tensor(count: 12, offset: 12, shape: [0, 3], strides: [9, 9])),
      ("cube", .tensor(count: 12, shape: [2, 2, 3], strides: [1, 6, 2])),
      ("ones", .tensor(count: 12, offset: 4, shape: [1, 4], strides: [77, 1])),
      ("step", .int(3)), ("note", .list([.text("x"), .none, .dict([("y", .bytes([0xFF]))])])),
    ])
    var maker = ZipMaker.torch(value, ramp(12))
    maker.isWide = isWide
    maker.hasWideEntries = isWide && flags == 0
    for index in maker.entries.indices { maker.entries[index].flags = flags }
    let file = try torchFile(maker.make().bytes).get()
    #expect(file.tensors.count == 9)
    #expect(file.floats("plain") == (0..<12).map(Float.init))
    #expect(file.floats("transposed") == [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11])
    #expect(file.floats("sliced") == [4, 6, 8, 10])
    #expect(file.floats("vector") == [1, 5, 9])
    #expect(file.floats("expanded") == [5, 5, 5, 5, 5, 5])
    #expect(file.floats("scalar") == [11])
    #expect(file.floats("empty") == [])
    #expect(file.floats("cube") == [0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11])
    let contiguous = Set(file.tensors.filter(\.isContiguous).map(\.name))
    #expect(contiguous == ["plain", "scalar", "empty", "ones"])
    let plain = try #require(file.tensors.firstIndex { $0.name == "ones" })
    #expect(file.plainBytes(plain)?.array == floatBytes([4, 5, 6, 7]))
    // Data order: by first byte, then by last.
    #expect(file.tensors.map(\.used.lowerBound) == file.tensors.map(\.used.lowerBound).sorted())
  }

  @Test func everyStorageType() throws {
    let types: [(String, DType, [UInt8], Float)] = [
      ("DoubleStorage", .f64, littleEndian((2.5).bitPattern), 2.5), ("FloatStorage", .f32, floatBytes([-3]), -3),
      ("HalfStorage", .f16, [0x00, 0xC0], -2), ("BFloat16Storage", .bf16, [0x80, 0x3F], 1), ("CharStorage", .i8, [0xFF], -1),
      ("ByteStorage", .u8, [0xFF], 255), ("ShortStorage", .i16, [0xFE, 0xFF], -2), ("IntStorage", .i32, [7, 0, 0, 0], 7),
      ("LongStorage", .i64, littleEndian(9), 9), ("BoolStorage", .bool, [1], 1),
    ]
    for (type, dtype, data, value) in types {
      let file = try torchFile(
        ZipMaker.torch(.dict([("t", .tensor("0", type, count: 1, shape: [1], strides: [1]))]), [(key: "0", data: data)]).make().bytes
      ).get()
      #expect(file.tensors.first?.tensor.dtype == dtype && file.floats("t") == [value])
    }
    // The third way to rebuild gives the type apart from a storage of bytes.
    let bytes = Python.persistent(
      .tuple([.text("storage"), .global("torch.storage", "UntypedStorage"), .text("0"), .text("cpu"), .int(2)]))
    for (name, dtype, value) in [("float8_e4m3fn", DType.f8e4m3, Float(1.5)), ("float8_e5m2", .f8e5m2, 0.0625), ("uint8", .u8, 0x3C)] {
      let tensor = Python.call(
        .global("torch._utils", "_rebuild_tensor_v3"),
        [bytes, .int(1), .ints([1]), .ints([1]), .no, .hooks, .global("torch", name)])
      let file = try torchFile(
        ZipMaker.torch(.dict([("t", tensor)]), [(key: "0", data: [0, name == "float8_e5m2" ? 0x2C : 0x3C])]).make().bytes
      ).get()
      #expect(file.tensors.first?.tensor.dtype == dtype && file.floats("t") == [value])
    }
  }

  @Test func theExampleOfTheDocumentation() throws {
    let text: (String) -> [UInt8] = { [0x58, UInt8($0.utf8.count), 0, 0, 0] + Array($0.utf8) }
    var pickle: [UInt8] = [0x80, 2, 0x7D, 0x28] + text("t") + Array("ctorch._utils\n_rebuild_tensor_v2\n((".utf8) + text("storage")
    pickle += Array("ctorch\nFloatStorage\n".utf8) + text("0") + text("cpu") + [0x4B, 2, 0x74, 0x51]
    pickle +=
      [0x4B, 0, 0x4B, 2, 0x85, 0x4B, 1, 0x85, 0x89] + Array("ccollections\nOrderedDict\n".utf8) + [0x29, 0x52, 0x74, 0x52, 0x75, 0x2E]
    #expect(try torchFile(ZipMaker.torch(pickle, ramp(2)).make().bytes).get().floats("t") == [0, 1])
  }

  @Test func parametersOfATrainingCheckpoint() throws {
    let parameter = Python.call(
      .global("torch._utils", "_rebuild_parameter"), [.tensor(count: 2, shape: [2], strides: [1]), .yes, .hooks])
    let stateful = Python.call(
      .global("torch._utils", "_rebuild_parameter_with_state"),
      [.tensor(count: 2, offset: 1, shape: [1], strides: [1]), .yes, .hooks, .dict([])])
    let typed = Python.call(
      .global("torch._tensor", "_rebuild_from_type_v2"),
      [
        .global("torch._utils", "_rebuild_tensor_v2"), .global("torch", "Tensor"),
        .tuple([.storage("0", count: 2), .int(0), .ints([1]), .ints([1]), .no, .hooks]), .dict([("note", .text("x"))]),
      ])
    // An OrderedDict with attributes, as Module.state_dict() has.
    let state = Python.raw(
      Python.call(.global("collections", "OrderedDict"), [.list([.list([.text("a"), parameter]), .tuple([.text("b"), stateful])])]).code
        + Python.dict([("_metadata", .dict([("version", .int(1))]))]).code + [0x62])
    for key in TorchStateDict.parameterKeys {
      let root = Python.dict([
        (key, .raw(state.code)), ("epoch", .int(4)), ("optimizer", .dict([("state", .dict([("0", typed)]))])),
        ("rng", .tensor("r", "ByteStorage", count: 1, shape: [1], strides: [1])),
        ("device", .call(.global("torch", "device"), [.text("cpu")])),
      ])
      let file = try torchFile(ZipMaker.torch(root, ramp(2) + [(key: "r", data: [1])]).make().bytes).get()
      #expect(file.tensors.map(\.name) == ["a", "b"] && file.floats("a") == [0, 1] && file.floats("b") == [1])
    }
    let nested = Python.dict([("net", .dict([("layers", .dict([("0", typed)])), ("w", parameter)]))])
    let file = try torchFile(ZipMaker.torch(nested, ramp(2)).make().bytes).get()
    #expect(Set(file.tensors.map(\.name)) == ["net.layers.0", "net.w"])
  }

  @Test func everyInstructionOfProtocolFive() throws {
    // FRAME, SHORT_BINUNICODE, MEMOIZE, BINGET, DUP, POP, POP_MARK, EMPTY_SET, ADDITEMS, FROZENSET, BYTEARRAY8, BINUNICODE8, LONG4, …
    var code: [UInt8] = [0x95] + littleEndian(4) + [0x7D, 0x94, 0x8C, 1, 0x61, 0x94]
    code += Python.tensor(count: 2, shape: [2], strides: [1]).code + [0x94, 0x73]
    code += [0x8D] + littleEndian(1) + [0x62] + [0x68, 2, 0x73]
    code += [0x8C, 1, 0x63, 0x8F, 0x28, 0x4B, 1, 0x4D, 1, 0, 0x90, 0x73, 0x8C, 1, 0x64, 0x28, 0x4A, 1, 0, 0, 0, 0x91, 0x73]
    code += [0x8C, 1, 0x65, 0x96] + littleEndian(2) + [1, 2, 0x73, 0x8C, 1, 0x66, 0x8B, 1, 0, 0, 0, 0xFF, 0x73]
    code += [0x8C, 1, 0x67, 0x47] + [UInt8](repeating: 0, count: 8) + [0x32, 0x30, 0x28, 0x4E, 0x31, 0x73]
    code += [0x8C, 1, 0x68, 0x8C, 11] + Array("collections".utf8) + [0x8C, 11] + Array("OrderedDict".utf8) + [0x93, 0x29, 0x81, 0x73]
    let file = try torchFile(ZipMaker.torch([0x80, 5] + code + [0x2E], ramp(2)).make().bytes).get()
    #expect(file.tensors.map(\.name) == ["a", "b"] && file.floats("b") == [0, 1])
  }

  @Test func archivesWithoutChecksums() throws {
    var maker = ZipMaker.torch(.dict([("t", .tensor(count: 2, shape: [2], strides: [1]))]), ramp(2))
    for index in maker.entries.indices { maker.entries[index].checksum = 0 }
    #expect(try torchFile(maker.make().bytes).get().floats("t") == [0, 1])
    maker.entries[1].checksum = nil
    guard case .archive(.checksum(entry: "archive/data.pkl", expected: 0, found: _)) = torchFault(maker.make().bytes) else {
      Issue.record("a checksum of zero among others was taken")
      return
    }
  }

  @Test func aContainerReadsAndReleasesRows() throws {
    let scratch = Scratch()
    let value = Python.dict([
      ("t", .tensor(count: 12, shape: [4, 3], strides: [1, 4])), ("u", .tensor(count: 12, shape: [3, 4], strides: [4, 1])),
    ])
    let path = try scratch.write(ZipMaker.torch(value, ramp(12)).make().bytes, to: "m.pt")
    let container = try PyTorchContainer(MappedFile(path: path))
    let checkpoint = try Checkpoint(path: path, format: .pytorch, containers: [container])
    #expect(checkpoint.info("t")?.storage == "F32, strides [1, 4]" && checkpoint.info("u")?.storage == "F32")
    for _ in 0..<2 {
      #expect(try checkpoint.readVector("t") == [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11])
      #expect(try checkpoint.bytes("u")?.array == ramp(12)[0].data && checkpoint.bytes("t") == nil)
      for name in checkpoint.tensorNames { checkpoint.release(name) }
    }
    try scratch.write([0x50, 0x4B, 3, 4], to: "bad.pt")
    let bad = scratch("bad.pt")
    let mapped = try MappedFile(path: bad)
    let found = error { () throws(CheckpointError) in _ = try PyTorchContainer(mapped) }
    #expect(found == .pytorch(file: bad, .archive(.endRecord(fileBytes: 4))) && found?.kind == .badData)
  }
}
