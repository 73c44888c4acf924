import DibitFailure
@testable import DibitCheckpoint
@testable import DibitFiles
import DibitTensor
import Glibc
import Testing

/// A GGUF file put together piece by piece, right or wrong.
private struct Pieces {
  var magic = Array("GGUF".utf8)
  var version: UInt32 = 3
  var tensorCount: UInt64?
  var pairCount: UInt64?
  var pairs: [[UInt8]] = [pair("k", 4, number(UInt32(7)))]
  var tensors: [[UInt8]] = [tensor("a", [4], offset: 0), tensor("b", [4], offset: 32)]
  var data = 48

  var file: [UInt8] {
    var bytes = magic + number(version) + number(tensorCount ?? UInt64(tensors.count)) + number(pairCount ?? UInt64(pairs.count))
    bytes += pairs.flatMap { $0 } + tensors.flatMap { $0 }
    while bytes.count % 32 != 0 { bytes.append(0) }
    return bytes + (0..<data).map { UInt8(truncatingIfNeeded: $0) }
  }

  static func with(_ change: (inout Pieces) -> Void) -> [UInt8] {
    var pieces = Pieces()
    change(&pieces)
    return pieces.file
  }
}

private func number<Number: FixedWidthInteger>(_ value: Number) -> [UInt8] {
  (0..<Number.bitWidth / 8).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
}

private func text(_ bytes: [UInt8]) -> [UInt8] { number(UInt64(bytes.count)) + bytes }

private func pair(_ key: String, _ type: UInt32, _ value: [UInt8]) -> [UInt8] { text(Array(key.utf8)) + number(type) + value }

/// `dimensions` in the order of the file.
private func tensor(_ name: String, _ dimensions: [UInt64], type: UInt32 = 0, offset: UInt64, count: UInt32? = nil) -> [UInt8] {
  text(Array(name.utf8)) + number(count ?? UInt32(dimensions.count)) + dimensions.flatMap { number($0) } + number(type) + number(offset)
}

/// The fault of a file with these bytes, or nil when it is accepted.
private func ggufFault(_ file: [UInt8]) -> GGUFFault? {
  do throws(CheckpointError) {
    _ = try GGUFFile(bytes(file), file: "f")
    return nil
  } catch {
    guard case .gguf("f", let fault) = error else {
      Issue.record("\(error)")
      return nil
    }
    return fault
  }
}

private struct BadGGUF: CustomTestStringConvertible, Sendable {
  let testDescription: String
  let file: [UInt8]
  let expected: GGUFFault

  init(_ description: String, _ expected: GGUFFault, _ change: (inout Pieces) -> Void) {
    (testDescription, file, self.expected) = (description, Pieces.with(change), expected)
  }
}

/// Where the tensor "b" is described.
private let nameOffsets = (a: 41, b: 41 + 33)

private let bad: [BadGGUF] = [
  BadGGUF("other magic", .magic(found: Array("GGML".utf8))) { $0.magic = Array("GGML".utf8) },
  BadGGUF("version 0", .version(found: 0)) { $0.version = 0 },
  BadGGUF("version 1", .version(found: 1)) { $0.version = 1 },
  BadGGUF("version 4", .version(found: 4)) { $0.version = 4 },
  BadGGUF("big-endian", .bigEndian(version: 3)) { $0.version = 0x0300_0000 },
  BadGGUF("2^61 tensors", .count(what: "number of tensors", offset: 8, found: 1 << 61, foundBytes: 160)) { $0.tensorCount = 1 << 61 },
  BadGGUF("-1 tensors", .count(what: "number of tensors", offset: 8, found: .max, foundBytes: 160)) { $0.tensorCount = .max },
  BadGGUF("2^61 keys", .count(what: "number of keys", offset: 16, found: 1 << 61, foundBytes: 152)) { $0.pairCount = 1 << 61 },
  BadGGUF("an empty key", .keyLength(offset: 24, found: 0, limit: 65_535)) { $0.pairs = [pair("", 4, number(UInt32(7)))] },
  BadGGUF("key of 2^64 - 1 bytes", .keyLength(offset: 24, found: .max, limit: 65_535)) {
    $0.pairs = [number(UInt64.max) + [0, 0, 0, 0, 0, 0]]
  },
  BadGGUF("key that is not UTF-8", .notText(what: "key", offset: 32)) { $0.pairs = [text([0xFF]) + number(UInt32(0)) + [1]] },
  BadGGUF("the same key twice", .duplicateKey("k", offset: 41)) { $0.pairs.append($0.pairs[0]) },
  BadGGUF("value type 13", .valueType(key: "k", offset: 33, found: 13)) { $0.pairs = [pair("k", 13, [0])] },
  BadGGUF("bool 2", .boolean(key: "k", offset: 37, found: 2)) { $0.pairs = [pair("k", 7, [2])] },
  BadGGUF("bool 3 in an array", .boolean(key: "k", offset: 50, found: 3)) {
    $0.pairs = [pair("k", 9, number(UInt32(7)) + number(UInt64(2)) + [1, 3])]
  },
  BadGGUF("string of 2^64 - 1 bytes", .count(what: "length of value of key 'k'", offset: 37, found: .max, foundBytes: 131)) {
    $0.pairs = [pair("k", 8, number(UInt64.max))]
  },
  BadGGUF("array of 2^61", .count(what: "elements of key 'k'", offset: 41, found: 1 << 61, foundBytes: 127)) {
    $0.pairs = [pair("k", 9, number(UInt32(4)) + number(UInt64(1) << 61))]
  },
  BadGGUF("2^61 strings", .count(what: "elements of key 'k'", offset: 41, found: 1 << 61, foundBytes: 127)) {
    $0.pairs = [pair("k", 9, number(UInt32(8)) + number(UInt64(1) << 61))]
  },
  BadGGUF("array of type 13", .valueType(key: "k", offset: 37, found: 13)) {
    $0.pairs = [pair("k", 9, number(UInt32(13)) + number(UInt64(0)))]
  },
  BadGGUF("deep arrays", .depth(key: "k", offset: 133, limit: 8)) {
    $0.pairs = [pair("k", 9, (0..<5000).flatMap { _ in number(UInt32(9)) + number(UInt64(1)) })]
  },
  BadGGUF("alignment 13", .alignment(found: 13, limit: 1 << 20)) { $0.pairs = [pair("general.alignment", 4, number(UInt32(13)))] },
  BadGGUF("alignment 0", .alignment(found: 0, limit: 1 << 20)) { $0.pairs = [pair("general.alignment", 4, number(UInt32(0)))] },
  BadGGUF("alignment 2^31", .alignment(found: 1 << 31, limit: 1 << 20)) {
    $0.pairs = [pair("general.alignment", 4, number(UInt32(1) << 31))]
  },
  BadGGUF("alignment as text", .alignmentType(found: "a string")) { $0.pairs = [pair("general.alignment", 8, text([0x33, 0x32]))] },
  BadGGUF("alignment as int32", .alignmentType(found: "an integer")) { $0.pairs = [pair("general.alignment", 5, number(Int32(32)))] },
  BadGGUF("a name of 65 bytes", .nameLength(offset: nameOffsets.a, found: 65, limit: 64)) {
    $0.tensors = [tensor(String(repeating: "n", count: 65), [4], offset: 0)]
  },
  BadGGUF("no name", .nameLength(offset: nameOffsets.a, found: 0, limit: 64)) { $0.tensors = [tensor("", [4], offset: 0)] },
  BadGGUF("five dimensions", .dimensions(tensor: "a", offset: 50, found: 5, limit: 4)) {
    $0.tensors = [tensor("a", [1, 1, 1, 1, 1], offset: 0)]
  },
  BadGGUF("2^32 - 1 dimensions", .dimensions(tensor: "a", offset: 50, found: .max, limit: 4)) {
    $0.tensors = [tensor("a", [4], offset: 0, count: .max)]
  },
  BadGGUF("a dimension of 0", .dimension(tensor: "a", offset: 62, index: 1, found: 0)) { $0.tensors = [tensor("a", [4, 0], offset: 0)] },
  BadGGUF("a negative dimension", .dimension(tensor: "a", offset: 54, index: 0, found: .max - 3)) {
    $0.tensors = [tensor("a", [.max - 3], offset: 0)]
  },
  BadGGUF("product wraps to 0", .shapeOverflow(tensor: "a", shape: [1 << 32, 1 << 32])) {
    $0.tensors = [tensor("a", [1 << 32, 1 << 32], offset: 0)]
  },
  BadGGUF("product wraps to 64", .shapeOverflow(tensor: "a", shape: [16, 4, 1 << 62])) {
    $0.tensors = [tensor("a", [1 << 62, 4, 16], offset: 0)]
  },
  BadGGUF("bytes wrap", .shapeOverflow(tensor: "a", shape: [(1 << 62) - 1])) { $0.tensors = [tensor("a", [(1 << 62) - 1], offset: 0)] },
  BadGGUF("2^32 + 4 elements", .truncatedData(tensor: "a", expectedBytes: 96 + 17_179_869_200, foundBytes: 144)) {
    $0.tensors = [tensor("a", [4_294_967_300], offset: 0)]
  },
  BadGGUF("a removed type", .tensorType(tensor: "a", offset: 62, found: 4)) { $0.tensors = [tensor("a", [32], type: 4, offset: 0)] },
  BadGGUF("an unknown type", .tensorType(tensor: "a", offset: 62, found: 199)) { $0.tensors = [tensor("a", [32], type: 199, offset: 0)] },
  BadGGUF("part of a block", .blocks(tensor: "a", type: .q8_0, columns: 33)) { $0.tensors = [tensor("a", [33], type: 8, offset: 0)] },
  BadGGUF("a scalar of a block type", .blocks(tensor: "a", type: .q2K, columns: 1)) { $0.tensors = [tensor("a", [], type: 10, offset: 0)] },
  BadGGUF("two tensors of one name", .duplicateTensor("a", offset: nameOffsets.b)) { $0.tensors[1] = tensor("a", [4], offset: 32) },
  BadGGUF("offset 8", .unaligned(tensor: "b", begin: 8, alignment: 32)) { $0.tensors[1] = tensor("b", [4], offset: 8) },
  BadGGUF("offset past the end", .hole(tensor: "b", begin: 1 << 40, expected: 32)) { $0.tensors[1] = tensor("b", [4], offset: 1 << 40) },
  BadGGUF("offset 2^64 - 32", .hole(tensor: "b", begin: .max - 31, expected: 32)) { $0.tensors[1] = tensor("b", [4], offset: .max - 31) },
  BadGGUF("the same bytes twice", .overlap(tensor: "b", begin: 0, previous: "a", previousEnd: 16)) {
    $0.tensors[1] = tensor("b", [4], offset: 0)
  },
  BadGGUF("overlap", .overlap(tensor: "b", begin: 32, previous: "a", previousEnd: 36)) { $0.tensors[0] = tensor("a", [9], offset: 0) },
  BadGGUF("hole", .hole(tensor: "b", begin: 64, expected: 32)) { $0.tensors[1] = tensor("b", [4], offset: 64) },
  BadGGUF("not enough data", .truncatedData(tensor: "b", expectedBytes: 176, foundBytes: 175)) { $0.data = 47 },
  BadGGUF("bytes after the padding", .trailingBytes(expectedBytes: 192, foundBytes: 193)) { $0.data = 65 },
]

@Suite struct GGUFFileTests {
  @Test(arguments: bad)
  private func isRefused(_ example: BadGGUF) { #expect(ggufFault(example.file) == example.expected) }

  @Test func theUnchangedFileIsAccepted() throws {
    #expect(ggufFault(Pieces().file) == nil)
    #expect(ggufFault(Pieces.with { $0.version = 2 }) == nil)
    #expect(ggufFault(Pieces.with { $0.data = 64 }) == nil, "the last tensor may be padded")
    #expect(ggufFault(Pieces.with { $0.tensors.reverse() }) == nil, "the order of the list is free")
    let file = try GGUFFile(
      bytes(
        Pieces.with {
          $0.tensors = [tensor("a", [2, 3], offset: 0)]; $0.data = 24
        }), file: "f")
    #expect(file.tensors[0].shape == [3, 2], "the file lists the dimensions backwards")
  }

  @Test func theDocumentedFileParses() throws {
    guard let text = try? readFile("docs/formats/gguf.md", limit: 1 << 20) else {
      print("skipped: docs/formats/gguf.md is not there")
      return
    }
    let block = String(decoding: text, as: UTF8.self).split(separator: "```").dropFirst().first ?? ""
    let file = block.split(whereSeparator: \.isWhitespace).compactMap { UInt8($0, radix: 16) }
    let checkpoint = try Checkpoint.open(bytes: bytes(file), named: "doc")
    #expect(checkpoint.gguf?["k"] == .uint32(7) && checkpoint.info("a")?.shape == [3, 2])
    #expect(try checkpoint.readVector("a") == [1, 2, 3, 4, 5, 6])
  }

  @Test func messages() {
    #expect(
      CheckpointError.gguf(file: "f", .blocks(tensor: "a", type: .q4K, columns: 33)).description
        == "'f': tensor 'a': rows of whole Q4_K blocks of 256 elements expected, rows of 33 found")
    #expect(GGUFFault.tensorType(tensor: "a", offset: 9, found: 31).description.contains("rearranged for ARM"))
    #expect(CheckpointError.gguf(file: "f", .version(found: 9)).kind == .badData)
    for example in bad { #expect(!example.expected.description.contains("\n")) }
  }

  @Test func typesThatCannotBeReadSaySo() throws {
    let scratch = Scratch()
    let file = try ggufBytes([], [("a", .iq2XXS, [256])], in: scratch)
    try scratch.write(file, to: "m")
    let checkpoint = try Checkpoint.open(scratch("m"))
    #expect(throws: CheckpointError.gguf(file: scratch("m"), .unreadable(tensor: "a", type: .iq2XXS))) {
      _ = try checkpoint.readVector("a")
    }
  }

  @Test func everyTruncation() throws {
    let file = try ggufBytes(everyValue, [("a", .q4_0, [2, 32]), ("b", .f32, [3])], in: Scratch())
    // The padding after the last tensor is not needed.
    for count in 0..<file.count - 20 { #expect(ggufFault(Array(file[..<count])) != nil, "\(count) bytes") }
    #expect(ggufFault(file) == nil)
  }

  /// Four at once, so that both cores help.
  @Test(arguments: 0..<4 as Range<UInt64>)
  func randomFlipsNeverTrap(seed: UInt64) throws {
    var rng = SplitMix64(seed: seed)
    let good = try ggufBytes(everyValue, [("a", .q4K, [2, 256]), ("b", .f16, [3]), ("c", .i32, [])], in: Scratch())
    let header = good.count - 2 * 144 - 3 * 32
    var refused = 0
    for _ in 0..<5_000 {
      var file = good
      for _ in 0...rng.below(3) {
        let index = rng.below(header)
        file[index] = rng.next() & 1 == 0 ? file[index] ^ UInt8(1 << rng.below(8)) : UInt8(truncatingIfNeeded: rng.next())
      }
      do throws(CheckpointError) {
        let parsed = try GGUFFile(bytes(file), file: "f")
        for tensor in parsed.tensors {
          #expect(parsed.bytes(of: tensor).count == GGUFSize(type: tensor.type, shape: tensor.shape)?.bytes)
        }
      } catch {
        refused += 1
        #expect(error.kind == .badData)
      }
    }
    #expect(refused > 1_000)
  }
}
