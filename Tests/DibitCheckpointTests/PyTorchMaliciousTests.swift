import DibitTensor
import DibitTestSupport
import Testing

@testable import DibitCheckpoint

private func fault(_ value: Python, _ storages: [(key: String, data: [UInt8])] = ramp(2)) -> PyTorchFault? {
  torchFault(ZipMaker.torch(value, storages).make().bytes)
}

/// The name that a pickle was refused for.
private func forbidden(_ code: [UInt8]) -> String? {
  guard case .forbidden(_, let name) = pickleFault([0x80, 4] + code + [0x2E]) else { return nil }
  return name
}

private func short(_ text: String) -> [UInt8] { [0x8C, UInt8(text.utf8.count)] + Array(text.utf8) }

/// Pickles that would run code, or exhaust the machine, in other readers.
@Suite struct PyTorchMaliciousTests {
  @Test func nothingIsRun() {
    let system = Python.global("os", "system")
    #expect(forbidden(Python.call(system, [.text("true")]).code) == "os.system")
    #expect(forbidden(Python.dict([("weights", .call(system, [.text("true")]))]).code) == "os.system")
    #expect(forbidden(Python.call(.global("builtins", "eval"), [.call(.global("builtins", "getattr"), [])]).code) == "builtins.eval")
    // Names put together on the stack; dotted paths that begin at something harmless.
    #expect(forbidden(short("posix") + short("system") + [0x93]) == "posix.system")
    #expect(forbidden(short("torch") + short("_utils._rebuild_tensor_v2") + [0x93]) == "torch._utils._rebuild_tensor_v2")
    #expect(forbidden(short("torch.serialization") + short("os.system") + [0x93]) == "torch.serialization.os.system")
    #expect(forbidden(short("collections") + short("OrderedDict.__init__.__globals__") + [0x93]) != nil)
    // INST and OBJ name and call at once.
    #expect(forbidden([0x28] + Python.text("true").code + [0x69] + Array("os\nsystem\n".utf8)) == "os.system")
    #expect(forbidden([0x28] + system.code + [0x6F]) == "os.system")
    // A name without a call, and one that is dropped at once: named is enough.
    #expect(forbidden(system.code + [0x30, 0x4E]) == "os.system")
    // What loaders with a list of safe names were led to: torch functions that open files or look names up.
    for name in ["load", "hub.load", "jit.load", "classes", "ops", "_C._TensorBase", "utils.model_zoo.load_url", "_utils", "storage"] {
      #expect(forbidden(Python.global("torch", name).code) == "torch." + name)
    }
    for (module, name) in [
      ("torch.storage", "_load_from_bytes"), ("torch._dynamo", "guards"), ("numpy.testing._private.utils", "runstring"),
      ("pickle", "loads"),
      ("functools", "partial"), ("operator", "attrgetter"), ("__builtin__", "eval"), ("builtins", "__import__"), ("sys", "modules"),
      ("numpy.core.multiarray", "_reconstruct"), ("argparse", "Namespace"), ("timeit", "timeit"),
      ("idlelib.pyshell", "ModifiedInterpreter"),
    ] {
      #expect(forbidden(Python.global(module, name).code) == module + "." + name)
    }
    let error = CheckpointError.pytorch(file: "m.bin", .pickle(.forbidden(offset: 64, name: "os.system")))
    #expect(
      error.description
        == "'m.bin': pickle at byte 64: the file asks to run 'os.system', which is not data; Dibit runs nothing from a file, and nothing was "
        + "run; do not open this file in Python unless you trust whoever made it")
  }

  @Test func unknownInstructions() {
    // EXT1, PERSID, NEXT_BUFFER, READONLY_BUFFER, NEWOBJ_EX, protocol 0, nonsense.
    for opcode: UInt8 in [0x82, 0x83, 0x84, 0x50, 0x97, 0x98, 0x92, 0x49, 0x4C, 0x46, 0x53, 0x56, 0x70, 0x67, 0x6C, 0x64, 0x00, 0xFF] {
      #expect(pickleFault([0x80, 2, opcode, 0, 0, 0, 0, 0x2E]) == .opcode(offset: 48, found: opcode))
    }
    #expect(pickleFault([0x80, 1, 0x4E, 0x2E]) == .protocolVersion(offset: 46, found: 1))
    #expect(pickleFault([0x80, 6, 0x4E, 0x2E]) == .protocolVersion(offset: 46, found: 6))
    #expect(pickleFault(Array("cos\nsystem\n.".utf8)) == .start(offset: 46, found: 0x63))
    #expect(pickleFault([0x80, 2, 0x4E, 0x2E, 0]) == .trailingBytes(offset: 50, found: 1))
    #expect(pickleFault([0x80, 2, 0x4E, 0x4E, 0x2E]) == .leftOver(offset: 50, count: 2))
    #expect(pickleFault([0x80, 2, 0x2E]) == .leftOver(offset: 48, count: 0))
  }

  @Test func stackAndMemo() {
    for opcode: UInt8 in [0x30, 0x32, 0x85, 0x87, 0x61, 0x73, 0x52, 0x62, 0x51, 0x81, 0x93, 0x94] {
      #expect(pickleFault([0x80, 4, opcode, 0x2E]) == .stackUnderflow(offset: 48, opcode: opcode))
      // Values below a mark are out of reach.
      #expect(pickleFault([0x80, 4, 0x4E, 0x4E, 0x28, opcode, 0x2E]) == .stackUnderflow(offset: 51, opcode: opcode))
    }
    for opcode: UInt8 in [0x74, 0x65, 0x75, 0x31, 0x6F, 0x90, 0x91] {
      #expect(pickleFault([0x80, 4, 0x4E, opcode, 0x2E]) == .noMark(offset: 49, opcode: opcode))
    }
    #expect(pickleFault([0x80, 2, 0x4E, 0x72, 0xFF, 0xFF, 0xFF, 0xFF, 0x2E]) == .memoIndex(offset: 49, found: 0xFFFF_FFFF, limit: 9))
    #expect(pickleFault([0x80, 2, 0x68, 3, 0x2E]) == .memoEmpty(offset: 48, index: 3))
    #expect(pickleFault([0x80, 2, 0x4E, 0x71, 3, 0x68, 2, 0x2E]) == .memoEmpty(offset: 51, index: 2))
    #expect(pickleFault([0x80, 2, 0x6A, 0xFF, 0xFF, 0xFF, 0xFF, 0x2E]) == .memoEmpty(offset: 48, index: 0xFFFF_FFFF))
    #expect(pickleFault([0x80, 2, 0x4E, 0x4E, 0x61, 0x2E]) == .operand(offset: 50, opcode: 0x61, expected: "a list", found: "None"))
    #expect(
      pickleFault([0x80, 2, 0x7D, 0x28, 0x4E, 0x75, 0x2E])
        == .operand(offset: 51, opcode: 0x75, expected: "keys and values", found: "1 objects"))
    #expect(
      pickleFault([0x80, 2, 0x4E, 0x29, 0x52, 0x2E])
        == .operand(offset: 50, opcode: 0x52, expected: "the name of a function or class", found: "None"))
  }

  @Test func lengths() {
    // Texts, bytes, integers and frames that are longer than the file.
    for code: [UInt8] in [
      [0x58, 0xFF, 0xFF, 0xFF, 0xFF], [0x8D] + littleEndian(.max), [0x8E] + littleEndian(1 << 63), [0x96] + littleEndian(1 << 40),
      [0x8B, 0xFF, 0xFF, 0xFF, 0x7F], [0x8B, 0xFF, 0xFF, 0xFF, 0xFF], [0x95] + littleEndian(.max), [0x8A, 200], [0x43, 9], [0x47, 1],
      Array("cos".utf8), [0x4A, 1],
    ] {
      guard case .truncated = pickleFault([0x80, 4] + code) else {
        Issue.record("\(code) was taken")
        continue
      }
    }
    #expect(pickleFault([0x80, 4, 0x8C, 1, 0xFF, 0x2E]) == .text(offset: 50))
  }

  @Test(.timeLimit(.minutes(10)))
  func bombs() {
    // Each tuple holds the one before twice: 2^200 elements when unfolded, 201 objects here.
    var laughs: [UInt8] = [0x29]
    for _ in 0..<60 { laughs += [0x32, 0x86] }
    let shared = Python.dict([("t", .tensor(count: 2, shape: [2], strides: [1])), ("bomb", .raw(laughs))])
    #expect(fault(shared) == nil)
    #expect(fault(.dict([("bomb", .raw(laughs + [UInt8](repeating: 0x85, count: 100)))])) == .tooDeep(limit: 64))
    #expect(fault(.raw(laughs + [UInt8](repeating: 0x85, count: 1_000_000))) == .tooDeep(limit: 64))
    // Dictionaries that hold tensors, twice each.
    var levels: [UInt8] = Python.dict([("t", .tensor(count: 2, shape: [2], strides: [1]))]).code + [0x71, 0]
    for _ in 0..<30 {
      levels += [0x30, 0x7D, 0x28] + Python.text("a").code + [0x68, 0] + Python.text("b").code + [0x68, 0, 0x75, 0x71, 0]
    }
    #expect(fault(.raw(levels)) == .sharedDictionary(key: "b"))
    // A list in itself, a dictionary in itself.
    #expect(fault(.raw([0x7D, 0x71, 0] + Python.text("a").code + [0x68, 0, 0x73])) == .cycle)
    #expect(fault(.dict([("a", .raw([0x5D, 0x71, 0, 0x68, 0, 0x61]))])) == .cycle)
    // A list that is copied again and again: 20,000 times 20,000 elements.
    let list: [UInt8] = [0x5D, 0x71, 0, 0x28] + [UInt8](repeating: 0x4E, count: 20_000) + [0x65, 0x30]
    let set = Python.global("builtins", "set").code + [0x71, 1, 0x30]
    let copies = (0..<20_000).flatMap { _ -> [UInt8] in [0x68, 1, 0x68, 0, 0x85, 0x52] }
    guard case .tooManyObjects = pickleFault([0x80, 2, 0x28] + list + set + copies + [0x74, 0x2E]) else {
      Issue.record("the copies were made")
      return
    }
    // Arguments by the million, used again and again.
    let arguments: [UInt8] = [0x28] + [UInt8](repeating: 0x4E, count: 100_000) + [0x74, 0x71, 0, 0x30]
    let calls = (0..<100).flatMap { _ -> [UInt8] in [0x68, 1, 0x68, 0, 0x52] }
    guard
      case .operand(_, 0x52, expected: "at most 8 arguments", found: "100000") = pickleFault(
        [0x80, 2, 0x28] + arguments + set + calls + [0x2E])
    else {
      Issue.record("100000 arguments were taken")
      return
    }
    // Names that grow with every level.
    let long = String(repeating: "x", count: 300)
    let inner = Python.dict([(long, .dict([(long, .tensor(count: 2, shape: [2], strides: [1]))]))])
    #expect(fault(inner) == .longName(key: long + "." + long, limit: 512))
  }

  @Test func tensorsBeyondTheirStorage() {
    func reason(_ tensor: Python) -> Bool {
      guard case .pickle(.arguments) = fault(.dict([("t", tensor)])) else { return false }
      return true
    }
    let huge = Int.max / 2
    for (offset, shape, strides) in [
      (0, [3], [1]), (1, [2], [1]), (2, [1], [1]), (3, [0], [1]), (0, [2], [2]), (0, [2, 2], [1, 1]), (-1, [1], [1]), (0, [-1], [1]),
      (0, [1], [-1]), (0, [2], [huge]), (0, [3], [huge]), (huge, [2], [huge]), (.max, [1], [1]), (0, [huge, 4], [0, 0]),
      (0, [1 << 32, 1 << 32], [0, 0]), (0, [0, huge, 16], [0, 0, 0]), (0, [2], []),
      (0, [Int](repeating: 1, count: 65), [Int](repeating: 1, count: 65)),
      (0, [1 << 62, 4], [1, 1]),
    ] {
      #expect(reason(.tensor(count: 2, offset: offset, shape: shape, strides: strides)), "\(offset) \(shape) \(strides)")
    }
    #expect(reason(.tensor(count: Int.max, shape: [1], strides: [1])) && reason(.tensor(count: -1, shape: [1], strides: [1])))
    for key in ["", ".", "..", "../0", "/0", "a/b"] { #expect(reason(.tensor(key, count: 2, shape: [2], strides: [1])), "\(key)") }
    #expect(fault(.dict([("t", .tensor("1", count: 2, shape: [2], strides: [1]))])) == .missingStorage(entry: "archive/data/1"))
    #expect(
      fault(.dict([("t", .tensor(count: 3, shape: [2], strides: [1]))])) == .storageSize(storage: "0", expectedBytes: 12, foundBytes: 8))
    #expect(reason(.tuple([.tensor(count: 2, shape: [2], strides: [1]), .tensor(count: 3, shape: [2], strides: [1])])))
    #expect(reason(.tensor("0", "ComplexFloatStorage", count: 1, shape: [1], strides: [1])))
    // One element repeated into terabytes.
    #expect(
      fault(.dict([("t", .tensor(count: 2, shape: [1 << 40], strides: [0]))])) == .expansion(tensor: "t", shape: [1 << 40], limit: 64 << 20)
    )
  }

  @Test func valuesThatAreNoTensors() {
    let tensor = Python.tensor(count: 2, shape: [2], strides: [1])
    #expect(fault(tensor) == .notAStateDict(found: "a tensor"))
    #expect(fault(.list([tensor])) == .notAStateDict(found: "a list"))
    #expect(fault(.dict([("a", .int(1))])) == .noTensors(keys: ["a"]))
    #expect(fault(.dict([("a", .list([tensor]))])) == .value(key: "a", found: "a list that holds tensors"))
    #expect(fault(.dict([("a", tensor), ("b", .storage("0", count: 2))])) == .value(key: "b", found: "a storage"))
    #expect(fault(.dict([("a", tensor), ("b", .global("collections", "OrderedDict"))])) == .value(key: "b", found: "a function or class"))
    #expect(
      fault(.dict([("a", .raw(Python.dict([]).code + Python.int(0).code + tensor.code + [0x73]))]))
        == .key(path: "a.", found: "the integer 0"))
    #expect(fault(.dict([("a", tensor), ("a", tensor)])) == .duplicateName("a"))
    #expect(fault(.dict([("a.b", tensor), ("a", .dict([("b", tensor)]))])) == .duplicateName("a.b"))
    #expect(
      fault(.dict([("model", .dict([("a", tensor)])), ("state_dict", .dict([("b", tensor)]))]))
        == .ambiguous(keys: ["model", "state_dict"]))
    #expect(fault(.dict([("model", .dict([("a", tensor)])), ("w", tensor)])) == .ambiguous(keys: ["model", "w"]))
  }
}
