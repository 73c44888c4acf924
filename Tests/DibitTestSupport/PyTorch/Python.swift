/// A value that Python would pickle, written without the memo.
package indirect enum Python: Sendable {
  /// None, True and False.
  case none, yes, no
  /// A whole number.
  case int(Int)
  /// Text.
  case text(String)
  /// Bytes.
  case bytes([UInt8])
  /// A tuple.
  case tuple([Python])
  /// A list.
  case list([Python])
  /// A dictionary with keys that are text.
  case dict([(String, Python)])
  /// A function or class by its module and name.
  case global(String, String)
  /// What a function gives for these arguments.
  case call(Python, [Python])
  /// What a storage is called in the file.
  case persistent(Python)
  /// Instructions as they are.
  case raw([UInt8])

  /// The instructions that make the value.
  package var code: [UInt8] {
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
  package func pickle(version: UInt8 = 2) -> [UInt8] { [0x80, version] + code + [0x2E] }

  /// A tuple of whole numbers.
  package static func ints(_ values: [Int]) -> Python { .tuple(values.map(Python.int)) }

  /// A storage of a checkpoint: the entry `data/<key>` with `count` elements.
  package static func storage(_ key: String, _ type: String = "FloatStorage", count: Int) -> Python {
    .persistent(.tuple([.text("storage"), .global("torch", type), .text(key), .text("cpu"), .int(count)]))
  }

  /// The empty hooks that every tensor has.
  package static let hooks = Python.call(.global("collections", "OrderedDict"), [])

  /// A tensor over a storage of its own.
  package static func tensor(
    _ key: String = "0", _ type: String = "FloatStorage", count: Int, offset: Int = 0, shape: [Int], strides: [Int]
  ) -> Python {
    tensor(.storage(key, type, count: count), offset: offset, shape: shape, strides: strides)
  }

  /// A tensor over a storage.
  package static func tensor(_ storage: Python, offset: Int = 0, shape: [Int], strides: [Int]) -> Python {
    .call(.global("torch._utils", "_rebuild_tensor_v2"), [storage, .int(offset), ints(shape), ints(strides), .no, hooks])
  }
}
