import DibitTensor
import DibitTestSupport
import Testing

@testable import DibitCheckpoint

/// Damaged files give a value or a fault, and never stop the program.
@Suite struct PyTorchFuzzTests {
  private static let value = Python.dict([
    (
      "state_dict",
      .dict([
        ("a", .tensor(count: 12, shape: [4, 3], strides: [1, 4])), ("b", .tensor(count: 12, offset: 4, shape: [8], strides: [1])),
        ("c", .dict([("d", .tensor("1", "HalfStorage", count: 2, shape: [1, 2], strides: [2, 1]))])),
      ])
    ),
    ("epoch", .int(3)), ("more", .list([.tuple([.text("x")]), .none])),
  ])
  private static let storages = ramp(12) + [(key: "1", data: [0, 0x3C, 0, 0xBC])]

  @Test func cutAtEveryByte() {
    for isWide in [false, true] {
      var maker = ZipMaker.torch(Self.value, Self.storages)
      maker.isWide = isWide
      let bytes = maker.make().bytes
      #expect(torchFault(bytes) == nil)
      for count in 0..<bytes.count { #expect(torchFault(Array(bytes[..<count])) != nil, "\(count) bytes") }
    }
    let pickle = Self.value.pickle()
    for count in 0..<pickle.count { #expect(pickleFault(Array(pickle[..<count])) != nil, "a pickle of \(count) bytes") }
  }

  @Test(.timeLimit(.minutes(5)), arguments: 0..<4)
  func mutations(part: Int) {
    var random = SplitMix64(seed: UInt64(part))
    var (taken, refused) = (0, 0)
    for round in 0..<5_000 {
      // Half of the rounds damage the archive, half the pickle inside a right one; legacy files take their share.
      var subject = round % 3 == 0 ? ZipMaker.torch(Self.value, Self.storages).make().bytes : Self.value.pickle(version: 4)
      for _ in 0...Int(random.next() % 4) {
        let at = Int(random.next() % UInt64(subject.count))
        switch random.next() % 6 {
        case 0: subject[at] ^= 1 << UInt8(random.next() % 8)
        case 1: subject[at] = [0, 1, 0x7F, 0x80, 0xFF][Int(random.next() % 5)]
        case 2: subject.remove(at: at)
        case 3: subject.insert(UInt8(truncatingIfNeeded: random.next()), at: at)
        case 4:
          subject.insert(contentsOf: subject[max(0, at - Int(random.next() % 40))..<at], at: Int(random.next() % UInt64(subject.count)))
        default: for index in at..<min(at + 8, subject.count) { subject[index] = 0xFF }
        }
        if subject.isEmpty { subject = [0] }
      }
      let file =
        round % 3 == 0 ? subject : round % 3 == 1 ? ZipMaker.torch(subject, Self.storages).make().bytes : legacy(subject, Self.storages)
      switch torchFile(file) {
      case .success(let file):
        taken += 1
        for tensor in file.tensors { #expect(file.floats(tensor.name) != nil) }
      case .failure(let fault):
        refused += 1
        #expect(!fault.description.isEmpty && !fault.description.contains("\n"))
      }
    }
    #expect(taken > 20 && refused > 2_000, "\(taken) taken, \(refused) refused")
  }
}

/// A file without archive around this pickle.
func legacy(_ pickle: [UInt8], _ storages: [(key: String, data: [UInt8])], elementSizes: [String: Int] = ["0": 4, "1": 2]) -> [UInt8] {
  let magic: [UInt8] = [0x80, 2, 0x8A, 10, 0x6C, 0xFC, 0x9C, 0x46, 0xF9, 0x20, 0x6A, 0xA8, 0x50, 0x19, 0x2E]
  let machine = Python.dict([("protocol_version", .int(1001)), ("little_endian", .yes)]).pickle()
  let keys = Python.list(storages.map { .text($0.key) }).pickle()
  let data = storages.flatMap { littleEndian(UInt64($0.data.count / (elementSizes[$0.key] ?? 1))) + $0.data }
  return magic + Python.int(1001).pickle() + machine + pickle + keys + data
}

@Suite struct PyTorchLegacyTests {
  private let value = Python.dict([
    ("t", .tensor(count: 2, shape: [2], strides: [1])), ("u", .tensor(count: 2, offset: 1, shape: [1], strides: [1])),
  ])

  @Test func tensors() throws {
    let bytes = legacy(value.pickle(), ramp(2))
    let file = try torchFile(bytes).get()
    #expect(file.floats("t") == [0, 1] && file.floats("u") == [1])
    for count in 0..<bytes.count { #expect(torchFault(Array(bytes[..<count])) != nil, "\(count) bytes") }
  }

  @Test("bytes too many and storages missing or twice are told by name")
  func faults() {
    let pickle = value.pickle()
    let good = legacy(pickle, ramp(2))
    #expect(torchFault(good + [0]) == .legacy(offset: good.count, reason: "the end of the file expected, 1 more bytes found"))
    #expect(torchFault(legacy(pickle, [])) == .missingStorage(entry: "0"))
    let twice = "storage '0' is listed twice, or no tensor uses it"
    guard case .legacy(_, twice) = torchFault(legacy(pickle, ramp(2) + ramp(2))),
      case .legacy(_, "storage '9' is listed twice, or no tensor uses it") = torchFault(legacy(pickle, [(key: "9", data: [])])),
      case .legacy(_, "storage '0': 2 elements expected, 3 found") = torchFault(legacy(pickle, ramp(3)))
    else {
      Issue.record("a wrong list of storages was taken")
      return
    }
    #expect(
      torchFault(Python.dict([]).pickle())
        == .legacy(offset: 0, reason: "the magic number of torch.save expected, a dictionary found; this is another pickle"))
    #expect(torchFault(Python.call(.global("os", "system"), []).pickle()) == .pickle(.forbidden(offset: 2, name: "os.system")))
    var big = good
    // NEWTRUE becomes NEWFALSE.
    let index = good.indices.first { good[$0] == 0x88 && good[..<$0].suffix(13).elementsEqual("little_endian".utf8) }
    if let index { big[index] = 0x89 }
    #expect(torchFault(big) == .byteOrder(found: "big"))
  }
}
