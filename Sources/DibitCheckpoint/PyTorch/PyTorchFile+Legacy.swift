internal import DibitFailure
internal import DibitTensor

extension PyTorchFile {
  /// The first pickle of a file without archive: the integer 0x1950A86A20F9469CFC6C.
  private static let magic: [UInt8] = [0x6C, 0xFC, 0x9C, 0x46, 0xF9, 0x20, 0x6A, 0xA8, 0x50, 0x19]

  /// A file as PyTorch 0.2 to 1.5 wrote it: pickles of a magic number, a version, the machine, the value and the keys of the storages;
  /// then for each key the number of elements, 8 bytes, and the elements.
  static func legacy(_ bytes: Bytes) throws(PyTorchFault) -> Contents {
    var position = 0
    let first = try pickle(bytes, &position)
    guard case .longInteger(let range) = first.heap[first.root], bytes.slice(range).array == magic else {
      throw .legacy(
        offset: 0, reason: "the magic number of torch.save expected, \(first.heap[first.root].kind) found; this is another pickle")
    }
    let versionAt = position
    let version = try pickle(bytes, &position)
    guard case .integer(1001) = version.heap[version.root] else {
      throw .legacy(offset: versionAt, reason: "version 1001 expected, \(version.heap[version.root].kind) found")
    }
    let machineAt = position
    let machine = try pickle(bytes, &position)
    guard case .dictionary(let dictionary) = machine.heap[machine.root],
      let order = machine.heap.dictionaries[dictionary].first(where: { machine.heap.isText($0.key, "little_endian") }),
      case .bool(let isLittle) = machine.heap[order.value]
    else { throw .legacy(offset: machineAt, reason: "a dictionary with 'little_endian' expected") }
    guard isLittle else { throw .byteOrder(found: "big") }
    let value = try pickle(bytes, &position)
    let keysAt = position
    let keys = try pickle(bytes, &position)
    guard let references = keys.heap.list(keys.root) else {
      throw .legacy(offset: keysAt, reason: "the list of storages expected, \(keys.heap[keys.root].kind) found")
    }
    var storages = [Range<Int>?](repeating: nil, count: value.heap.storages.count)
    for reference in references {
      guard case .string(let key) = keys.heap[reference] else {
        throw .legacy(offset: keysAt, reason: "the key of a storage expected, \(keys.heap[reference].kind) found")
      }
      guard let number = value.heap.storageNumbers[Array(key.utf8)], storages[number] == nil else {
        throw .legacy(offset: keysAt, reason: "storage \(quoted(key)) is listed twice, or no tensor uses it")
      }
      storages[number] = try storage(value.heap.storages[number], bytes, &position)
    }
    guard position == bytes.count else {
      throw .legacy(offset: position, reason: "the end of the file expected, \(bytes.count - position) more bytes found")
    }
    var ranges: [Range<Int>] = []
    for (storage, range) in zip(value.heap.storages, storages) {
      guard let range else { throw .missingStorage(entry: storage.key) }
      ranges.append(range)
    }
    return (heap: value.heap, root: value.root, storages: ranges)
  }

  private static func pickle(_ bytes: Bytes, _ position: inout Int) throws(PyTorchFault) -> (heap: PickleHeap, root: Int32) {
    do throws(PickleFault) {
      let (heap, root, size) = try PickleMachine.run(bytes.slice(position..<bytes.count), base: position)
      position += size
      return (heap: heap, root: root)
    } catch {
      throw .pickle(error)
    }
  }

  /// Returns the range of the elements of the storage at `position`.
  private static func storage(_ storage: TorchStorage, _ bytes: Bytes, _ position: inout Int) throws(PyTorchFault) -> Range<Int> {
    guard bytes.count - position >= 8 else {
      throw .legacy(offset: position, reason: "the size of storage \(quoted(storage.key)) expected, \(bytes.count - position) bytes found")
    }
    let count = bytes.zipNumber(position, UInt64.self)
    guard count == UInt64(storage.count) else {
      throw .legacy(offset: position, reason: "storage \(quoted(storage.key)): \(storage.count) elements expected, \(count) found")
    }
    position += 8
    guard bytes.count - position >= storage.byteCount else {
      throw .storageSize(storage: storage.key, expectedBytes: storage.byteCount, foundBytes: bytes.count - position)
    }
    defer { position += storage.byteCount }
    return position..<position + storage.byteCount
  }
}

extension PickleHeap {
  fileprivate func isText(_ reference: Int32, _ expected: String) -> Bool {
    guard case .string(let text) = self[reference] else { return false }
    return text == expected
  }
}
