internal import DibitFailure
internal import DibitTensor

extension PickleHeap {
  /// The number of the storage that a persistent id names: `('storage', type, key, location, count[, view])`.
  mutating func addStorage(_ id: Int32, offset: Int) throws(PickleFault) -> Int {
    func wrong(_ reason: String) -> PickleFault { .arguments(offset: offset, name: "persistent id", reason: reason) }
    guard let fields = tuple(id).map(Array.init), fields.count == 5 || fields.count == 6, case .string("storage") = self[fields[0]] else {
      throw wrong("('storage', type, key, location, count) expected")
    }
    guard case .string(let key) = self[fields[2]], !key.isEmpty, key != ".", key != "..", !key.utf8.contains(0x2F) else {
      throw wrong("the key of a storage expected, \(self[fields[2]].kind) found")
    }
    let dtype: DType?
    switch self[fields[1]] {
    case .global(.storage(let type)): dtype = type
    case .global(.otherStorage(let name)): throw wrong("storage \(quoted(key)): type \(name) is not supported")
    default: throw wrong("storage \(quoted(key)): a type of storage expected, \(self[fields[1]].kind) found")
    }
    guard case .integer(let count) = self[fields[4]], count >= 0 else {
      throw wrong("storage \(quoted(key)): a count from 0 expected, \(self[fields[4]].kind) found")
    }
    let (byteCount, overflow) = count.multipliedReportingOverflow(by: dtype?.byteCount ?? 1)
    guard !overflow else { throw wrong("storage \(quoted(key)): \(count) elements have more bytes than 64 bits can count") }
    if fields.count == 6, case .none = self[fields[5]] {
    } else if fields.count == 6 {
      throw wrong("storage \(quoted(key)) is a view of another one, as PyTorch before 0.4 wrote it; save it again with a current PyTorch")
    }
    let storage = TorchStorage(key: key, dtype: dtype, count: count, byteCount: byteCount)
    if let known = storageNumbers[Array(key.utf8)] {
      guard storages[known] == storage else { throw wrong("storage \(quoted(key)) is described in two ways") }
      return known
    }
    storageNumbers[Array(key.utf8)] = storages.count
    storages.append(storage)
    return storages.count - 1
  }

  /// The tensor that a call of one of PyTorch's rebuilding functions stands for.
  mutating func rebuild(_ global: PickleGlobal, _ arguments: [Int32], offset: Int) throws(PickleFault) -> PickleObject {
    switch global {
    case .rebuildTensor(let version): return try rebuildTensor(version, arguments, offset: offset)
    case .rebuildParameter(let withState):
      // (data, requires_grad, hooks[, state])
      guard arguments.count == (withState ? 4 : 3), case .tensor = self[arguments[0]] else {
        throw .arguments(offset: offset, name: "torch._utils._rebuild_parameter", reason: "a tensor, a flag and hooks expected")
      }
      return self[arguments[0]]
    default:
      // (function, type, arguments, state), where the function is one of the above.
      let name = "torch._tensor._rebuild_from_type_v2"
      guard arguments.count == 4, case .global(let function) = self[arguments[0]], case .global(.tensorType) = self[arguments[1]],
        let inner = tuple(arguments[2]), inner.count <= 8
      else { throw .arguments(offset: offset, name: name, reason: "a function, a type, arguments and a state expected") }
      switch function {
      case .rebuildTensor, .rebuildParameter: return try rebuild(function, Array(inner), offset: offset)
      default: throw .arguments(offset: offset, name: name, reason: "a function that rebuilds a tensor expected")
      }
    }
  }

  /// `(storage, offset, shape, strides)`; from version 2 `requires_grad, hooks`, in version 3 a dtype, and perhaps metadata.
  private mutating func rebuildTensor(_ version: Int, _ arguments: [Int32], offset: Int) throws(PickleFault) -> PickleObject {
    func wrong(_ reason: String) -> PickleFault {
      .arguments(offset: offset, name: "torch._utils._rebuild_tensor" + (version == 1 ? "" : "_v\(version)"), reason: reason)
    }
    let least = [4, 6, 7][version - 1]
    guard arguments.count == least || version > 1 && arguments.count == least + 1 else {
      throw wrong("\(least) arguments expected, \(arguments.count) found")
    }
    guard case .storage(let number) = self[arguments[0]] else { throw wrong("a storage expected, \(self[arguments[0]].kind) found") }
    guard case .integer(let start) = self[arguments[1]], start >= 0 else {
      throw wrong("a storage offset from 0 expected, \(self[arguments[1]].kind) found")
    }
    guard let shape = dimensions(arguments[2]) else { throw wrong("a shape of at most 64 whole numbers from 0 expected") }
    guard let strides = dimensions(arguments[3]), strides.count == shape.count else {
      throw wrong("\(shape.count) strides from 0 expected")
    }
    // Bits that say "conjugate" or "negate" when the tensor is read.
    if arguments.count > least, case .dictionary(let metadata) = self[arguments[least]], !dictionaries[metadata].isEmpty {
      throw wrong("a tensor that is negated or conjugated only when it is used is not supported; call resolve_neg() before saving")
    }
    let storage = storages[number]
    let dtype: DType
    switch (version, storage.dtype, version == 3 ? self[arguments[6]] : .none) {
    case (3, _, .global(.dtype(let named))): dtype = named
    case (3, _, .global(.otherDType(let name))): throw wrong("dtype \(name) is not supported")
    case (3, _, let other): throw wrong("a dtype expected, \(other.kind) found")
    case (_, let typed?, _): dtype = typed
    default: throw wrong("storage \(quoted(storage.key)) has no type of elements")
    }
    guard TensorSize(dtype: dtype, shape: shape) != nil else { throw wrong("shape \(shown(shape)) has more bytes than 64 bits can count") }
    guard let last = Self.lastElement(start, shape, strides), last <= storage.byteCount / dtype.byteCount else {
      throw wrong(
        "shape \(shown(shape)) with strides \(shown(strides)) at element \(start) reaches beyond storage \(quoted(storage.key)) of "
          + "\(storage.byteCount / dtype.byteCount) elements")
    }
    tensors.append(TorchTensor(storage: number, dtype: dtype, offset: start, shape: shape, strides: strides))
    return .tensor(tensors.count - 1)
  }

  /// The element after the last one of a view, in the storage; nil where that does not fit 64 bits.
  private static func lastElement(_ start: Int, _ shape: [Int], _ strides: [Int]) -> Int? {
    guard !shape.contains(0) else { return start }
    var last = start
    for (dimension, stride) in zip(shape, strides) {
      let (reach, overflow) = (dimension - 1).multipliedReportingOverflow(by: stride)
      let (next, carry) = last.addingReportingOverflow(reach)
      guard !overflow, !carry else { return nil }
      last = next
    }
    let (end, overflow) = last.addingReportingOverflow(1)
    return overflow ? nil : end
  }
}
