internal import DibitFailure
internal import DibitTensor

/// A value that a pickle builds. Containers hold the numbers of their elements, so that values that are shared, nested deeply or part of
/// themselves cost nothing and are given back without recursion.
enum PickleObject: Sendable {
  case none
  case bool(Bool)
  case integer(Int)
  /// An integer of more than 64 bits: where its bytes lie in the pickle.
  case longInteger(Range<Int>)
  case float
  case string(String)
  case bytes
  /// The range of its elements in ``PickleHeap/items``.
  case tuple(Range<Int>)
  /// An index into ``PickleHeap/lists``; sets are lists.
  case list(Int)
  /// An index into ``PickleHeap/dictionaries``.
  case dictionary(Int)
  case global(PickleGlobal)
  /// An index into ``PickleHeap/storages``.
  case storage(Int)
  /// An index into ``PickleHeap/tensors``.
  case tensor(Int)
  /// A plain value whose content does not matter: a device, a NumPy scalar.
  case opaque

  /// The kind with its article, for messages.
  var kind: String {
    switch self {
    case .none: "None"
    case .bool: "a bool"
    case .integer(let value): "the integer \(value)"
    case .longInteger: "an integer of more than 64 bits"
    case .float: "a float"
    case .string(let text): "the text " + quoted(text)
    case .bytes: "bytes"
    case .tuple(let range): "a tuple of \(range.count)"
    case .list: "a list"
    case .dictionary: "a dictionary"
    case .global: "a function or class"
    case .storage: "a storage"
    case .tensor: "a tensor"
    case .opaque: "a plain object"
    }
  }
}

/// The memory of elements behind tensors: a run of bytes in the file.
struct TorchStorage: Equatable, Sendable {
  /// Its name in the file.
  let key: String
  /// The type of its elements; nil for bytes.
  let dtype: DType?
  /// The number of elements, or of bytes without a type.
  let count: Int
  /// The size in bytes.
  let byteCount: Int
}

/// A tensor: a view of a storage. Element `(i, j, …)` is element `offset + i strides[0] + j strides[1] + …` of the storage, and all
/// elements lie within it.
struct TorchTensor: Equatable, Sendable {
  /// The number of its storage.
  let storage: Int
  let dtype: DType
  let offset: Int
  let shape: [Int]
  let strides: [Int]
}

/// Everything that a pickle built.
struct PickleHeap: Sendable {
  var objects: [PickleObject] = []
  var items: [Int32] = []
  var lists: [[Int32]] = []
  var dictionaries: [[(key: Int32, value: Int32)]] = []
  var storages: [TorchStorage] = []
  var tensors: [TorchTensor] = []
  var storageNumbers: [[UInt8]: Int] = [:]

  subscript(reference: Int32) -> PickleObject { objects[Int(reference)] }

  /// The elements of a tuple, or nil for any other object.
  func tuple(_ reference: Int32) -> ArraySlice<Int32>? {
    guard case .tuple(let range) = self[reference] else { return nil }
    return items[range]
  }

  /// The elements of a list, or nil for any other object.
  func list(_ reference: Int32) -> [Int32]? {
    guard case .list(let index) = self[reference] else { return nil }
    return lists[index]
  }

  /// The integers of a tuple of at most 64 of them that are not negative, or nil.
  func dimensions(_ reference: Int32) -> [Int]? {
    guard let elements = tuple(reference), elements.count <= 64 else { return nil }
    var result: [Int] = []
    for element in elements {
      guard case .integer(let value) = self[element], value >= 0 else { return nil }
      result.append(value)
    }
    return result
  }
}
