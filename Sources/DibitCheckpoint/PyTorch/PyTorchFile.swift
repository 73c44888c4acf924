internal import DibitTensor

/// A tensor of a PyTorch file, and where its storage lies.
struct LocatedTorchTensor: Equatable, Sendable {
  let name: String
  let tensor: TorchTensor
  /// The bytes of its storage, from the start of the file.
  let storage: Range<Int>
  /// The bytes of the storage that it uses: to the end of its last element.
  let used: Range<Int>
  /// True where its elements lie row by row, without gaps.
  let isContiguous: Bool

  init(name: String, tensor: TorchTensor, storage: Range<Int>) {
    (self.name, self.tensor, self.storage) = (name, tensor, storage)
    let size = tensor.dtype.byteCount
    let begin = storage.lowerBound + tensor.offset * size
    // The strides of a tensor without elements may be anything.
    let isEmpty = tensor.shape.contains(0)
    used = begin..<begin + (isEmpty ? 0 : zip(tensor.shape, tensor.strides).reduce(1) { $0 + ($1.0 - 1) * $1.1 } * size)
    var expected = 1
    var contiguous = true
    for (dimension, stride) in zip(tensor.shape, tensor.strides).reversed() where dimension != 1 {
      contiguous = contiguous && stride == expected
      expected *= max(dimension, 1)
    }
    isContiguous = contiguous || isEmpty
  }
}

/// A file of `torch.save`: a ZIP archive since PyTorch 1.6, before that a row of pickles and the storages.
///
/// The pickle in it is read as data; see ``PickleMachine``. Layout and rules: `docs/formats/pytorch.md`.
struct PyTorchFile: Sendable {
  /// The whole file.
  let bytes: Bytes
  /// The tensors, in the order of their data; several may share a storage.
  let tensors: [LocatedTorchTensor]

  /// Checks the archive, the pickle and every tensor against its storage; the tensors' data is not read.
  init(_ bytes: Bytes) throws(PyTorchFault) {
    self.bytes = bytes
    let (heap, root, storages) = try Self.isLegacy(bytes) ? Self.legacy(bytes) : Self.archive(bytes)
    // A repeated element costs nothing in the file; what it costs when it is read is limited.
    let limit = max(64 << 20, bytes.count.multipliedReportingOverflow(by: 16).partialValue)
    var tensors: [LocatedTorchTensor] = []
    for (name, tensor) in try TorchStateDict.tensors(heap, root: root) {
      let size = TensorSize(dtype: tensor.dtype, shape: tensor.shape)?.bytes ?? Int.max
      guard size <= max(limit, heap.storages[tensor.storage].byteCount) else {
        throw .expansion(tensor: name, shape: tensor.shape, limit: limit)
      }
      tensors.append(LocatedTorchTensor(name: name, tensor: tensor, storage: storages[tensor.storage]))
    }
    self.tensors = tensors.sorted {
      ($0.used.lowerBound, $0.used.upperBound) != ($1.used.lowerBound, $1.used.upperBound)
        ? ($0.used.lowerBound, $0.used.upperBound) < ($1.used.lowerBound, $1.used.upperBound)
        : $0.name.utf8.lexicographicallyPrecedes($1.name.utf8)
    }
  }

  /// The contents of a file: the pickled value and the range of each storage.
  typealias Contents = (heap: PickleHeap, root: Int32, storages: [Range<Int>])

  /// The file begins with a pickle.
  private static func isLegacy(_ bytes: Bytes) -> Bool { bytes.count > 0 && bytes[0] == 0x80 }

  private static func archive(_ bytes: Bytes) throws(PyTorchFault) -> Contents {
    let archive = try zip { () throws(ZipFault) in try ZipArchive(bytes) }
    let names = archive.entries.map(\.name)
    let pickles = names.filter { $0 == "data.pkl" || $0.hasSuffix("/data.pkl") }
    guard let pickle = pickles.first else { throw .noPickle(entries: names) }
    guard pickles.count == 1 else { throw .severalPickles(pickles) }
    let prefix = String(pickle.dropLast("data.pkl".count))
    if let program = names.first(where: { $0 == prefix + "constants.pkl" || $0.hasPrefix(prefix + "code/") }) {
      throw .torchScript(entry: program)
    }
    if let entry = archive.entry(prefix + "byteorder") {
      let order = try zip { () throws(ZipFault) in try archive.checkedBytes(of: entry) }
      guard order.count <= 64, order.array.elementsEqual("little".utf8) else {
        throw .byteOrder(found: String(decoding: order.slice(0..<min(order.count, 64)).array, as: UTF8.self))
      }
    }
    guard let entry = archive.entry(pickle) else { throw .noPickle(entries: names) }
    let data = try zip { () throws(ZipFault) in
      _ = try archive.bytes(of: entry)
      return entry.range.count > PickleMachine.sizeLimit ? nil : try archive.checkedBytes(of: entry)
    }
    let heap: PickleHeap
    let root: Int32
    do throws(PickleFault) {
      guard let data else { throw .tooLarge(limit: PickleMachine.sizeLimit, found: entry.range.count) }
      let size: Int
      (heap, root, size) = try PickleMachine.run(data, base: entry.range.lowerBound)
      guard size == data.count else { throw .trailingBytes(offset: entry.range.lowerBound + size, found: data.count - size) }
    } catch {
      throw .pickle(error)
    }
    var storages: [Range<Int>] = []
    for storage in heap.storages {
      guard let entry = archive.entry(prefix + "data/" + storage.key) else {
        throw .missingStorage(entry: prefix + "data/" + storage.key)
      }
      _ = try zip { () throws(ZipFault) in try archive.bytes(of: entry) }
      guard entry.range.count == storage.byteCount else {
        throw .storageSize(storage: storage.key, expectedBytes: storage.byteCount, foundBytes: entry.range.count)
      }
      storages.append(entry.range)
    }
    return (heap: heap, root: root, storages: storages)
  }

  private static func zip<Result>(_ body: () throws(ZipFault) -> Result) throws(PyTorchFault) -> Result {
    do throws(ZipFault) {
      return try body()
    } catch {
      throw .archive(error)
    }
  }
}
