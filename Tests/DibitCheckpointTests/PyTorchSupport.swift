import DibitTensor
import Testing

@testable import DibitCheckpoint

/// A value that Python would pickle, written without the memo.
indirect enum Python: Sendable {
  case none, yes, no
  case int(Int)
  case text(String)
  case bytes([UInt8])
  case tuple([Python])
  case list([Python])
  case dict([(String, Python)])
  case global(String, String)
  case call(Python, [Python])
  /// What a storage is called in the file.
  case persistent(Python)
  /// Instructions as they are.
  case raw([UInt8])

  var code: [UInt8] {
    switch self {
    case .none: [0x4E]
    case .yes: [0x88]
    case .no: [0x89]
    case .int(let value): [0x8A, 8] + littleEndian(UInt64(bitPattern: Int64(value)))
    case .text(let text): [0x58] + littleEndian(UInt64(text.utf8.count)).prefix(4) + Array(text.utf8)
    case .bytes(let bytes): [0x42] + littleEndian(UInt64(bytes.count)).prefix(4) + bytes
    case .tuple(let elements): [0x28] + elements.flatMap(\.code) + [0x74]
    case .list(let elements): [0x5D, 0x28] + elements.flatMap(\.code) + [0x65]
    case .dict(let pairs): [0x7D, 0x28] + pairs.flatMap { Python.text($0.0).code + $0.1.code } + [0x75]
    case .global(let module, let name): [0x63] + Array((module + "\n" + name + "\n").utf8)
    case .call(let function, let arguments): function.code + Python.tuple(arguments).code + [0x52]
    case .persistent(let id): id.code + [0x51]
    case .raw(let bytes): bytes
    }
  }

  /// The value as a whole pickle.
  func pickle(version: UInt8 = 2) -> [UInt8] { [0x80, version] + code + [0x2E] }

  static func ints(_ values: [Int]) -> Python { .tuple(values.map(Python.int)) }

  static func storage(_ key: String, _ type: String = "FloatStorage", count: Int) -> Python {
    .persistent(.tuple([.text("storage"), .global("torch", type), .text(key), .text("cpu"), .int(count)]))
  }

  static let hooks = Python.call(.global("collections", "OrderedDict"), [])

  static func tensor(
    _ key: String = "0", _ type: String = "FloatStorage", count: Int, offset: Int = 0, shape: [Int], strides: [Int]
  ) -> Python {
    tensor(.storage(key, type, count: count), offset: offset, shape: shape, strides: strides)
  }

  static func tensor(_ storage: Python, offset: Int = 0, shape: [Int], strides: [Int]) -> Python {
    .call(.global("torch._utils", "_rebuild_tensor_v2"), [storage, .int(offset), ints(shape), ints(strides), .no, hooks])
  }
}

/// Writes ZIP archives, right ones and wrong ones.
struct ZipMaker {
  struct Entry {
    var name: String
    var data: [UInt8]
    var method: UInt16 = 0
    var flags: UInt16 = 0
    /// Only the local header's.
    var localName: String?
    var checksum: UInt32?
  }

  var entries: [Entry]
  var isWide = false
  /// Sizes and offsets in extra fields.
  var hasWideEntries = false
  var comment: [UInt8] = []
  var countChange = 0

  /// The archive, and where its records begin.
  func make() -> (bytes: [UInt8], locals: [Int], centrals: [Int], end: Int) {
    var (bytes, locals, directory, centrals) = ([UInt8](), [Int](), [UInt8](), [Int]())
    for entry in entries {
      let sum = entry.checksum ?? CyclicRedundancyCheck.crc32(Bytes(SharedBytes(entry.data)))
      let size = UInt64(entry.data.count)
      let wide = hasWideEntries ? number(1, 2) + number(24, 2) + number(size, 8) + number(size, 8) + number(UInt64(bytes.count), 8) : []
      let narrow = hasWideEntries ? UInt64(UInt32.max) : size
      let common = number(UInt64(entry.flags), 2) + number(UInt64(entry.method), 2) + number(0, 4)
      let sizes = number(UInt64(sum), 4) + number(narrow, 4) + number(narrow, 4)
      let name = Array((entry.localName ?? entry.name).utf8)
      locals.append(bytes.count)
      let described = entry.flags & 8 != 0
      let at = bytes.count
      let localWide = described ? [] : wide.isEmpty ? [] : Array(wide.prefix(2)) + number(16, 2) + wide[4..<20]
      bytes += number(0x0403_4B50, 4) + number(20, 2) + common + (described ? number(0, 12) : sizes)
      bytes += number(UInt64(name.count), 2) + number(UInt64(localWide.count), 2) + name + localWide + entry.data
      if described { bytes += number(0x0807_4B50, 4) + number(UInt64(sum), 4) + number(size, 4) + number(size, 4) }
      centrals.append(directory.count)
      let offset = hasWideEntries ? UInt64(UInt32.max) : UInt64(at)
      directory += number(0x0201_4B50, 4) + number(20, 2) + number(20, 2) + common + sizes
      directory += number(UInt64(entry.name.utf8.count), 2) + number(UInt64(wide.count), 2) + number(0, 10) + number(offset, 4)
      directory += Array(entry.name.utf8) + wide
    }
    let begin = bytes.count
    bytes += directory
    let count = UInt64(entries.count + countChange)
    if isWide {
      let record = bytes.count
      bytes += number(0x0606_4B50, 4) + number(44, 8) + number(45, 2) + number(45, 2) + number(0, 8) + number(count, 8) + number(count, 8)
      bytes += number(UInt64(directory.count), 8) + number(UInt64(begin), 8)
      bytes += number(0x0706_4B50, 4) + number(0, 4) + number(UInt64(record), 8) + number(1, 4)
    }
    let end = bytes.count
    bytes += number(0x0605_4B50, 4) + number(0, 4) + number(isWide ? 0xFFFF : count, 2) + number(isWide ? 0xFFFF : count, 2)
    bytes += number(isWide ? 0xFFFF_FFFF : UInt64(directory.count), 4) + number(isWide ? 0xFFFF_FFFF : UInt64(begin), 4)
    bytes += number(UInt64(comment.count), 2) + comment
    return (bytes: bytes, locals: locals, centrals: centrals.map { begin + $0 }, end: end)
  }

  private func number(_ value: UInt64, _ size: Int) -> [UInt8] {
    (0..<size).map { $0 < 8 ? UInt8(truncatingIfNeeded: value >> (8 * $0)) : 0 }
  }
}

extension ZipMaker {
  /// An archive as `torch.save` writes it.
  static func torch(_ value: Python, _ storages: [(key: String, data: [UInt8])] = [], prefix: String = "archive") -> ZipMaker {
    torch(value.pickle(), storages, prefix: prefix)
  }

  static func torch(_ pickle: [UInt8], _ storages: [(key: String, data: [UInt8])] = [], prefix: String = "archive") -> ZipMaker {
    let data = storages.map { Entry(name: prefix + "/data/" + $0.key, data: $0.data) }
    return ZipMaker(
      entries: [Entry(name: prefix + "/data.pkl", data: pickle), Entry(name: prefix + "/byteorder", data: Array("little".utf8))] + data
        + [Entry(name: prefix + "/version", data: Array("3\n".utf8))])
  }
}

/// Little-endian bytes of floats.
func floatBytes(_ values: [Float]) -> [UInt8] { values.flatMap { littleEndian(UInt64($0.bitPattern)).prefix(4) } }

/// The floats 0, 1, 2, … as a storage called "0".
func ramp(_ count: Int) -> [(key: String, data: [UInt8])] { [(key: "0", data: floatBytes((0..<count).map(Float.init)))] }

/// The file, or its fault.
func torchFile(_ array: [UInt8]) -> Result<PyTorchFile, PyTorchFault> {
  do throws(PyTorchFault) { return .success(try PyTorchFile(bytes(array))) } catch { return .failure(error) }
}

func torchFault(_ array: [UInt8]) -> PyTorchFault? {
  guard case .failure(let fault) = torchFile(array) else { return nil }
  return fault
}

/// The fault of a pickle in an otherwise right archive.
func pickleFault(_ pickle: [UInt8]) -> PickleFault? {
  guard case .pickle(let fault) = torchFault(ZipMaker.torch(pickle).make().bytes) else { return nil }
  return fault
}

extension PyTorchFile {
  /// All rows of a tensor as floats, `step` of them at a time.
  func floats(_ name: String, step: Int = 2) -> [Float]? {
    guard let index = tensors.firstIndex(where: { $0.name == name }) else { return nil }
    let shape = tensors[index].tensor.shape
    let rows = shape.count >= 2 ? shape[0] : 1
    let columns = (shape.count >= 2 ? shape.dropFirst() : shape[...]).reduce(1, *)
    var result: [Float] = []
    for row in stride(from: 0, to: rows, by: step) {
      let end = min(row + step, rows)
      var part = [Float](repeating: .nan, count: (end - row) * columns)
      var span = part.mutableSpan
      readRows(index, rows: row..<end, into: &span)
      result += part
    }
    return result
  }
}
