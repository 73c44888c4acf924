import DibitTensor
import DibitTestSupport
import Testing

@testable import DibitCheckpoint

private let good = ZipMaker.torch(.dict([("t", .tensor(count: 2, shape: [2], strides: [1]))]), ramp(2))

/// The fault of an archive with some bytes replaced.
private func zipFault(_ array: [UInt8]) -> ZipFault? {
  guard case .archive(let fault) = torchFault(array) else { return nil }
  return fault
}

/// The good archive with bytes replaced at offsets that are counted from its records.
private func patched(
  _ maker: ZipMaker = good, _ patch: (inout [UInt8], _ locals: [Int], _ centrals: [Int], _ end: Int) -> Void
) -> [UInt8] {
  var (bytes, locals, centrals, end) = maker.make()
  patch(&bytes, locals, centrals, end)
  return bytes
}

@Suite struct PyTorchArchiveTests {
  @Test func endRecords() {
    let (bytes, _, centrals, end) = good.make()
    #expect(torchFault(bytes) == nil)
    #expect(zipFault([0x50, 0x4B, 3, 4]) == .endRecord(fileBytes: 4))
    #expect(zipFault(bytes + [0]) == .endRecord(fileBytes: bytes.count + 1))
    // A second end record hidden in the comment of the first, or after it.
    #expect(
      zipFault(bytes + bytes[end...]) == .directory(offset: UInt64(centrals[0]), bytes: UInt64(end - centrals[0]), expectedEnd: end + 22))
    var commented = good
    commented.comment = Array(bytes[end...])
    #expect(
      zipFault(commented.make().bytes) == .directory(offset: UInt64(centrals[0]), bytes: UInt64(end - centrals[0]), expectedEnd: end + 22))
    commented.comment = [1]
    #expect(zipFault(commented.make().bytes) == .endRecord(fileBytes: bytes.count + 1))
    // Another archive or program before it.
    #expect(
      zipFault(Array("#!/bin/sh\n".utf8) + bytes)
        == .directory(offset: UInt64(centrals[0]), bytes: UInt64(end - centrals[0]), expectedEnd: end + 10))
  }

  @Test func countsAndDisks() {
    for change in [-1, 1, 60_000] {
      var maker = good
      maker.countChange = change
      guard case .entryCount = zipFault(maker.make().bytes) else {
        Issue.record("count changed by \(change)")
        continue
      }
    }
    let end = good.make().end
    #expect(zipFault(patched { bytes, _, _, end in bytes[end + 4] = 1 }) == .multipleDisks(offset: end))
    #expect(
      zipFault(patched { bytes, _, _, end in bytes[end + 8] = 9 })
        == .field(record: "end record", offset: end, field: "entries on this disk", expected: 4, found: 9))
    let central = good.make().centrals[1]
    #expect(zipFault(patched { bytes, _, centrals, _ in bytes[centrals[1] + 34] = 1 }) == .multipleDisks(offset: central))
    guard case .directory = zipFault(patched { bytes, _, _, end in bytes[end + 19] = 0x7F }) else {
      Issue.record("a directory beyond the file was taken")
      return
    }
  }

  @Test func wideRecords() {
    var wide = good
    wide.isWide = true
    let end = wide.make().end
    #expect(torchFault(wide.make().bytes) == nil)
    // 2^63 entries, offsets beyond the file, a record of another size, several disks.
    for (offset, byte) in [
      (-76 + 31, UInt8(0x80)), (-76 + 55, 0xFF), (-76 + 47, 0xFF), (-76 + 4, 45), (-76 + 16, 1), (-20 + 8, 1), (-4, 2),
    ] {
      #expect(zipFault(patched(wide) { bytes, _, _, end in bytes[end + offset] = byte }) != nil, "\(offset)")
    }
    #expect(
      zipFault(
        patched(wide) { bytes, _, _, end in
          bytes[end + 10] = 3; bytes[end + 8] = 3; bytes[end + 11] = 0; bytes[end + 9] = 0
        })
        == .field(record: "end record", offset: end, field: "count", expected: 4, found: 3))
    wide.hasWideEntries = true
    #expect(torchFault(wide.make().bytes) == nil)
    // Sizes of 2^64-1 in the extra field, a field that is too short, none, a field that is longer than its space.
    for (offset, byte) in [(4, UInt8(0xFF)), (2, 8), (0, 2), (2, 99)] {
      let fault = zipFault(
        patched(wide) { bytes, _, centrals, _ in
          let extra = centrals[0] + 46 + "archive/data.pkl".utf8.count
          if offset == 4 { for at in 4..<20 { bytes[extra + at] = byte } } else { bytes[extra + offset] = byte }
        })
      #expect(fault != nil, "\(offset)")
    }
  }

  @Test func entries() {
    func fault(_ change: (inout ZipMaker) -> Void) -> PyTorchFault? {
      var maker = good
      change(&maker)
      return torchFault(maker.make().bytes)
    }
    #expect(fault { $0.entries[0].method = 8 } == .archive(.compressed(entry: "archive/data.pkl", method: 8)))
    #expect(fault { $0.entries[2].method = 8 } == .archive(.compressed(entry: "archive/data/0", method: 8)))
    // What no one reads may be compressed.
    #expect(fault { $0.entries[3].method = 8 } == nil)
    #expect(fault { $0.entries[2].flags = 1 } == .archive(.encrypted(entry: "archive/data/0")))
    #expect(fault { $0.entries[2].flags = 0x2000 } == .archive(.encrypted(entry: "archive/data/0")))
    #expect(fault { $0.entries[2].flags = 0x20 } == .archive(.flags(entry: "archive/data/0", found: 0x20)))
    #expect(fault { $0.entries[3].name = "archive/data/0" } == .archive(.duplicateName("archive/data/0")))
    for name in ["../data/0", "archive/../x", "/etc/passwd", "a\\b", "a\0b", ""] {
      guard case .archive(.name) = fault({ $0.entries[3].name = name }) else {
        Issue.record("the name \(name) was taken")
        continue
      }
    }
    guard
      case .archive(.localHeader(entry: "archive/data/0", _, field: "name", _, _)) = fault({ $0.entries[2].localName = "archive/data/1" })
    else {
      Issue.record("another local name was taken")
      return
    }
    #expect(
      fault { $0.entries[0].checksum = 7 }
        == .archive(
          .checksum(entry: "archive/data.pkl", expected: 7, found: CyclicRedundancyCheck.crc32(bytes(good.entries[0].data)))))
    #expect(CyclicRedundancyCheck.crc32(bytes(Array("123456789".utf8))) == 0xCBF4_3926)
  }

  @Test func localHeadersAgree() {
    let local = good.make().locals[2]
    for (offset, field) in [(6, "flags"), (8, "method"), (14, "checksum"), (18, "stored size"), (22, "size")] {
      guard
        case .localHeader(entry: "archive/data/0", offset: local, field: field, _, _) = zipFault(
          patched { bytes, locals, _, _ in bytes[locals[2] + offset] ^= 2 })
      else {
        Issue.record("\(field)")
        continue
      }
    }
    #expect(
      zipFault(patched { bytes, locals, _, _ in bytes[locals[2]] = 0 })
        == .signature(record: "local header", offset: local, expected: 0x0403_4B50, found: 0x0403_4B00))
  }

  @Test func overlapsAndHoles() {
    let (_, locals, centrals, _) = good.make()
    // The same data twice, as in archives that unpack to more than they hold.
    #expect(
      zipFault(
        patched { bytes, locals, centrals, _ in
          bytes.replaceSubrange(centrals[3] + 42..<centrals[3] + 46, with: littleEndian(UInt64(locals[2])).prefix(4))
        })
        == .overlap(entry: "archive/version", begin: locals[2], previous: "archive/data/0", previousEnd: locals[3]))
    // An entry that reaches over the next one.
    let longer = patched { bytes, locals, centrals, _ in
      for at in [centrals[0] + 20, centrals[0] + 24, locals[0] + 18, locals[0] + 22] { bytes[at] &+= 8 }
    }
    #expect(
      zipFault(longer) == .overlap(entry: "archive/byteorder", begin: locals[1], previous: "archive/data.pkl", previousEnd: locals[1] + 8))
    let shorter = patched { bytes, locals, centrals, _ in
      for at in [centrals[0] + 20, centrals[0] + 24, locals[0] + 18, locals[0] + 22] { bytes[at] &-= 8 }
    }
    #expect(zipFault(shorter) == .hole(entry: "archive/byteorder", begin: locals[1], previousEnd: locals[1] - 8))
    // A size beyond the file.
    let last = patched { bytes, locals, centrals, _ in
      for at in [centrals[3] + 23, centrals[3] + 27, locals[3] + 21, locals[3] + 25] { bytes[at] = 0x7F }
    }
    #expect(
      zipFault(last)
        == .recordOutside(
          record: "data of 'archive/version'", offset: locals[3] + 30 + 15, bytes: 0x7F00_0002, limit: centrals[0]))
  }

  @Test func descriptors() {
    var maker = good
    maker.entries[2].flags = 8
    #expect(torchFault(maker.make().bytes) == nil)
    let at = maker.make().locals[3] - 16
    #expect(
      zipFault(patched(maker) { bytes, locals, _, _ in bytes[locals[3] - 4] ^= 1 }) == .descriptor(entry: "archive/data/0", offset: at))
  }

  @Test func theRightEntries() {
    let pickle = good.entries[0].data
    func fault(_ entries: [(String, [UInt8])]) -> PyTorchFault? {
      torchFault(ZipMaker(entries: entries.map { ZipMaker.Entry(name: $0.0, data: $0.1) }).make().bytes)
    }
    let data = ramp(2)[0].data
    #expect(fault([("a/data.pkl", pickle), ("a/data/0", data)]) == nil)
    #expect(fault([("a/version", [])]) == .noPickle(entries: ["a/version"]))
    #expect(fault([]) != nil)
    #expect(fault([("a/data.pkl", pickle), ("b/data.pkl", pickle)]) == .severalPickles(["a/data.pkl", "b/data.pkl"]))
    #expect(fault([("a/data.pkl", pickle)]) == .missingStorage(entry: "a/data/0"))
    #expect(fault([("a/data.pkl", pickle), ("b/data/0", data)]) == .missingStorage(entry: "a/data/0"))
    #expect(fault([("a/data.pkl", pickle), ("a/data/0", data + [0])]) == .storageSize(storage: "0", expectedBytes: 8, foundBytes: 9))
    #expect(fault([("a/data.pkl", pickle), ("a/data/0", [1])]) == .storageSize(storage: "0", expectedBytes: 8, foundBytes: 1))
    #expect(fault([("a/data.pkl", pickle), ("a/data/0", data), ("a/byteorder", Array("big".utf8))]) == .byteOrder(found: "big"))
    #expect(fault([("a/data.pkl", pickle), ("a/code/x.py", [])]) == .torchScript(entry: "a/code/x.py"))
    #expect(fault([("a/data.pkl", pickle), ("a/constants.pkl", [])]) == .torchScript(entry: "a/constants.pkl"))
  }
}
