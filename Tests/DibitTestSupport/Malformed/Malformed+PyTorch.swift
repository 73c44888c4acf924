extension MalformedFile {
  private static func torch(_ description: String, _ bytes: [UInt8], says: String) -> MalformedFile {
    MalformedFile("PyTorch: " + description, [(name: "pytorch_model.bin", bytes: bytes)], says: says)
  }

  /// Eight bytes of storage "0".
  private static let storages: [(key: String, data: [UInt8])] = [(key: "0", data: floatBytes([0, 1]))]
  private static let good = Python.dict([("t", .tensor(count: 2, shape: [2], strides: [1]))])

  /// A right archive around a pickle that is wrong.
  private static func pickle(_ description: String, _ value: Python, says: String) -> MalformedFile {
    torch(description, ZipMaker.torch(value, storages).make().bytes, says: says)
  }

  private static func tensor(_ description: String, _ tensor: Python, says: String) -> MalformedFile {
    pickle(description, .dict([("t", tensor)]), says: says)
  }

  /// An archive around the right pickle, changed.
  private static func archive(_ description: String, says: String, _ change: (inout ZipMaker) -> Void) -> MalformedFile {
    var maker = ZipMaker.torch(good, storages)
    change(&maker)
    return torch(description, maker.make().bytes, says: says)
  }

  private static func short(_ text: String) -> [UInt8] { [0x8C, UInt8(text.utf8.count)] + Array(text.utf8) }

  /// Checkpoints of PyTorch that would run code, exhaust the machine, or reach beyond their storages.
  static var pytorch: [MalformedFile] { programs + bombs + lyingTensors + archives }

  private static var programs: [MalformedFile] {
    let system = Python.call(.global("os", "system"), [.text("true")])
    return [
      pickle("os.system", system, says: "'os.system'"),
      pickle(
        "os.system among the weights", .dict([("a", system), ("t", .tensor(count: 2, shape: [2], strides: [1]))]), says: "'os.system'"),
      pickle(
        "eval of a nested call", .call(.global("builtins", "eval"), [.call(.global("builtins", "getattr"), [])]), says: "'builtins.eval'"),
      pickle("a name put together on the stack", .raw(short("posix") + short("system") + [0x93]), says: "'posix.system'"),
      pickle(
        "a dotted name that begins harmlessly (CVE-2025-71325)", .raw(short("collections") + short("OrderedDict.__init__") + [0x93]),
        says: "'collections.OrderedDict.__init__'"),
      pickle("INST", .raw([0x28] + Python.text("true").code + [0x69] + Array("os\nsystem\n".utf8)), says: "'os.system'"),
      pickle("a program that is dropped at once", .raw(Python.global("os", "system").code + [0x30, 0x4E]), says: "'os.system'"),
      pickle("torch.load within torch.load (CVE-2025-32434)", .call(.global("torch", "load"), [.text("x")]), says: "'torch.load'"),
      pickle(
        "torch.storage._load_from_bytes", .call(.global("torch.storage", "_load_from_bytes"), [.bytes([0x80])]),
        says: "'torch.storage._load_from_bytes'"),
      pickle(
        "numpy's _reconstruct (CVE-2019-6446)", .call(.global("numpy.core.multiarray", "_reconstruct"), []),
        says: "'numpy.core.multiarray._reconstruct'"),
      pickle("a name from the registry of extensions", .raw([0x82, 1]), says: "0x82"),
      torch("a bare pickle", Python.call(.global("os", "system"), [.text("true")]).pickle(), says: "pickle"),
    ]
  }

  private static var bombs: [MalformedFile] {
    let laughs: [UInt8] = [0x29] + (0..<60).flatMap { _ in [UInt8(0x32), 0x86] }
    let one = Python.tensor(count: 2, shape: [2], strides: [1])
    return [
      pickle(
        "billion laughs in 200 levels", .raw(laughs + [UInt8](repeating: 0x85, count: 200)), says: "nested deeper than 64 levels"),
      pickle("lists nested 100,000 deep", .raw([0x29] + [UInt8](repeating: 0x85, count: 100_000)), says: "nested deeper than 64 levels"),
      pickle("an integer of 2^31 - 1 bytes", .raw([0x8B, 0xFF, 0xFF, 0xFF, 0x7F]), says: "more bytes expected"),
      pickle("an integer of -1 bytes", .raw([0x8B, 0xFF, 0xFF, 0xFF, 0xFF]), says: "more bytes expected"),
      pickle("text of 2^32 - 1 bytes", .raw([0x58, 0xFF, 0xFF, 0xFF, 0xFF]), says: "more bytes expected"),
      pickle("bytes of 2^63 bytes", .raw([0x8E] + littleEndian(1 << 63)), says: "more bytes expected"),
      pickle("a frame of 2^64 - 1 bytes", .raw([0x95] + littleEndian(.max)), says: "more bytes expected"),
      pickle("memo index 2^32 - 1", .raw([0x4E, 0x72, 0xFF, 0xFF, 0xFF, 0xFF]), says: "memo index"),
      pickle("a list that contains itself", .dict([("t", one), ("x", .raw([0x5D, 0x71, 0, 0x68, 0, 0x61]))]), says: "contains itself"),
      pickle("an empty stack", .raw([0x30]), says: "finds no value"),
      tensor("one element repeated into terabytes", .tensor(count: 2, shape: [1 << 40], strides: [0]), says: "repeats the stored elements"),
    ]
  }

  private static var lyingTensors: [MalformedFile] {
    [
      tensor("a shape beyond its storage", .tensor(count: 2, shape: [3], strides: [1]), says: "_rebuild_tensor_v2"),
      tensor("strides beyond the storage", .tensor(count: 2, shape: [2], strides: [2]), says: "_rebuild_tensor_v2"),
      tensor("strides whose product wraps", .tensor(count: 2, shape: [3], strides: [.max / 2]), says: "_rebuild_tensor_v2"),
      tensor("a negative stride", .tensor(count: 2, shape: [2], strides: [-1]), says: "_rebuild_tensor_v2"),
      tensor("an offset that wraps", .tensor(count: 2, offset: .max, shape: [1], strides: [1]), says: "_rebuild_tensor_v2"),
      tensor("a negative offset", .tensor(count: 2, offset: -1, shape: [1], strides: [1]), says: "_rebuild_tensor_v2"),
      tensor("a shape whose product wraps", .tensor(count: 2, shape: [1 << 32, 1 << 32], strides: [0, 0]), says: "_rebuild_tensor_v2"),
      tensor("a storage larger than its entry", .tensor(count: 3, shape: [2], strides: [1]), says: "12 bytes expected, 8 found"),
      tensor("a storage of 2^63 - 1 elements", .tensor(count: .max, shape: [1], strides: [1]), says: "torch"),
      tensor("a storage outside the archive", .tensor("../0", count: 2, shape: [2], strides: [1]), says: "../0"),
      tensor("a storage that is not there", .tensor("1", count: 2, shape: [2], strides: [1]), says: "'archive/data/1' expected"),
      tensor("a tensor that is a list", .list([.tensor(count: 2, shape: [2], strides: [1])]), says: "a list that holds tensors"),
      pickle("no dictionary", .tensor(count: 2, shape: [2], strides: [1]), says: "a dictionary of tensors expected"),
    ]
  }

  private static var archives: [MalformedFile] {
    let whole = ZipMaker.torch(good, storages).make().bytes
    return [
      archive("no data.pkl", says: "ZIP") { $0.entries.removeFirst() },
      archive("two data.pkl", says: "one 'NAME/data.pkl' expected") {
        $0.entries.append(.init(name: "b/data.pkl", data: [0x80, 2, 0x4E, 0x2E]))
      },
      archive("an entry twice", says: "two entries are called") { $0.entries.append($0.entries[2]) },
      archive("a path out of the archive", says: "a relative name") { $0.entries[3].name = "../../etc/passwd" },
      archive("another name in the local header", says: "local header") { $0.entries[2].localName = "archive/data/1" },
      archive("an encrypted entry", says: "encrypted") { $0.entries[2].flags = 1 },
      archive("a deflated tensor", says: "deflated") { $0.entries[2].method = 8 },
      archive("a checksum that is wrong", says: "CRC-32") { $0.entries[0].checksum = 7 },
      archive("fewer entries than it says", says: "entries expected") { $0.countChange = 1 },
      archive("TorchScript", says: "TorchScript") { $0.entries.append(.init(name: "archive/code/__torch__.py", data: [])) },
      archive("big-endian", says: "byte order") { $0.entries[1].data = Array("big".utf8) },
      archive("a storage cut short", says: "8 bytes expected, 7 found") { $0.entries[2].data.removeLast() },
      torch("cut short", Array(whole.dropLast(30)), says: "end record"),
      torch("bytes after the end", whole + [0], says: "end record"),
      torch("an archive behind another file", Array("PK\u{3}\u{4}".utf8) + whole, says: "ZIP"),
    ]
  }
}
