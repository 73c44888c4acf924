import DibitFailure
import DibitTensor
import Testing

@testable import DibitCheckpoint

/// The tensors "a", F32 [2], and "b", U8 [3], with some text replaced.
private func mutated(_ old: String, _ new: String, data: Int = 11) -> [UInt8] {
  let good = #"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}}"#
  guard let range = firstRange(of: old, in: good) else {
    Issue.record("'\(old)' is not in the header")
    return []
  }
  let utf8 = Array(good.utf8)
  return safetensors(Array(utf8[..<range.lowerBound]) + Array(new.utf8) + Array(utf8[range.upperBound...]), data: data)
}

private func firstRange(of part: String, in whole: String) -> Range<Int>? {
  let (part, whole) = (Array(part.utf8), Array(whole.utf8))
  return (0...max(0, whole.count - part.count)).first { whole[$0...].starts(with: part) }.map { $0..<$0 + part.count }
}

struct Malformed: CustomTestStringConvertible, Sendable {
  let bytes: [UInt8]
  let expected: SafetensorsFault
  let testDescription: String

  init(_ description: String, _ bytes: [UInt8], _ expected: SafetensorsFault) {
    (testDescription, self.bytes, self.expected) = (description, bytes, expected)
  }
}

private let limit = SafetensorsFile.headerLimit

/// Faults of the first bytes and of the kind of file.
private let beginnings: [Malformed] = [
  Malformed("no bytes", [], .tooShort(foundBytes: 0)),
  Malformed("seven bytes", [1, 2, 3, 4, 5, 6, 7], .tooShort(foundBytes: 7)),
  Malformed("header length 0", littleEndian(0) + [1], .headerLength(found: 0, limit: limit)),
  Malformed("header length 1", littleEndian(1) + [0x7B], .headerLength(found: 1, limit: limit)),
  Malformed("header beyond the file", littleEndian(3) + Array("{}".utf8), .truncated(expectedBytes: 11, foundBytes: 10)),
  Malformed("only a length", littleEndian(100), .truncated(expectedBytes: 108, foundBytes: 8)),
  Malformed("header beyond the limit", littleEndian(100_000_001) + [1], .headerLength(found: 100_000_001, limit: limit)),
  Malformed("header length 2^63", littleEndian(1 << 63) + [1], .headerLength(found: 1 << 63, limit: limit)),
  Malformed("header length 2^64-1", littleEndian(.max) + [1], .headerLength(found: .max, limit: limit)),
  Malformed("header length 2^64-8", littleEndian(.max - 7) + [1], .headerLength(found: .max - 7, limit: limit)),
  Malformed("space before the header", safetensors(" {}", data: 0), .headerStart(found: 0x20)),
  Malformed("an array as header", safetensors("[]", data: 0), .headerStart(found: 0x5B)),
  Malformed("zeros", [UInt8](repeating: 0, count: 5000), .otherFormat(.zeros)),
  Malformed("LFS pointer", Array("version https://git-lfs.github.com/spec/v1\noid sha256:00\n".utf8), .otherFormat(.gitLFSPointer)),
  Malformed("HTML", Array("\n<!DOCTYPE HTML><html>404</html>".utf8), .otherFormat(.html)),
  Malformed("HTML without doctype", Array("<html lang=en>".utf8), .otherFormat(.html)),
  Malformed("HTML with a byte order mark", [0xEF, 0xBB, 0xBF] + Array("<html>".utf8), .otherFormat(.html)),
  Malformed("XML", Array("<?xml version='1.0'?><Error/>".utf8), .otherFormat(.xml)),
  Malformed("JSON", Array(#"{"metadata":{}}"#.utf8), .otherFormat(.json)),
  Malformed("GGUF", Array("GGUF".utf8) + [3, 0, 0, 0, 0, 0, 0, 0, 0], .otherFormat(.gguf)),
  Malformed("HDF5", [0x89, 0x48, 0x44, 0x46, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0], .otherFormat(.hdf5)),
  Malformed("PyTorch archive", [0x50, 0x4B, 3, 4, 0, 0, 8, 8, 0, 0], .otherFormat(.zip)),
  Malformed("pickle", [0x80, 2, 0x8A, 0x0A, 0x6C, 0xFC, 0x9C, 0x46, 0xF9], .otherFormat(.pickle)),
  Malformed("gzip", [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3], .otherFormat(.gzip)),
]

/// Faults of the JSON.
private let syntax: [Malformed] = [
  Malformed(
    "not UTF-8", safetensors(Array("{\"".utf8) + [0xFF] + Array("\":1}".utf8), data: 0),
    .headerSyntax(reason: "JSON at byte 1: the text is not valid UTF-8")),
  Malformed(
    "open object", safetensors("{\"a\":", data: 0), .headerSyntax(reason: "JSON at byte 5: expected a value, found the end of the text")),
  Malformed(
    "text after the object", safetensors("{}x", data: 0),
    .headerSyntax(reason: "JSON at byte 2: expected the end of the document, found 'x'")),
  Malformed(
    "zero padding", safetensors("{}\0", data: 0),
    .headerSyntax(reason: "JSON at byte 2: expected the end of the document, found byte 0x0")),
  Malformed(
    "trailing comma", safetensors("{\"a\":1,}", data: 0), .headerSyntax(reason: "JSON at byte 7: expected a key in quotes, found '}'")),
  Malformed(
    "deep arrays", safetensors("{\"a\":" + String(repeating: "[", count: 100_000), data: 0),
    .headerSyntax(reason: "JSON at byte 20: nested deeper than 16 levels")),
  Malformed(
    "deep objects", safetensors(String(repeating: "{\"a\":", count: 100_000), data: 0),
    .headerSyntax(reason: "JSON at byte 80: nested deeper than 16 levels")),
  Malformed("duplicate tensor", mutated(#""b":"#, #""a":"#), .headerSyntax(reason: "JSON at byte 54: the key 'a' appears twice")),
  Malformed(
    "duplicate tensor, escaped", mutated(#""b":"#, #""\u0061":"#), .headerSyntax(reason: "JSON at byte 54: the key 'a' appears twice")),
  Malformed(
    "duplicate dtype", mutated(#""shape":[2]"#, #""dtype":"U8""#), .headerSyntax(reason: "JSON at byte 20: the key 'dtype' appears twice")),
  Malformed("tensor is a number", safetensors(#"{"a":1}"#, data: 0), .wrongType(key: "a", expected: "an object", found: "1")),
  Malformed("tensor is null", safetensors(#"{"a":null}"#, data: 0), .wrongType(key: "a", expected: "an object", found: "null")),
  Malformed(
    "metadata is an array", safetensors(#"{"__metadata__":["x"]}"#, data: 0),
    .wrongType(key: "__metadata__", expected: "an object", found: #"["x"]"#)),
  Malformed(
    "metadata value is a number", safetensors(#"{"__metadata__":{"k":3}}"#, data: 0),
    .wrongType(key: "__metadata__.k", expected: "a string", found: "3")),
  Malformed(
    "metadata value is an object", safetensors(#"{"__metadata__":{"k":{}}}"#, data: 0),
    .wrongType(key: "__metadata__.k", expected: "a string", found: "an object")),
  Malformed("no dtype", mutated(#""dtype":"F32","#, ""), .missingKey(tensor: "a", key: "dtype")),
  Malformed("no shape", mutated(#""shape":[2],"#, ""), .missingKey(tensor: "a", key: "shape")),
  Malformed("no offsets", mutated(#","data_offsets":[0,8]"#, ""), .missingKey(tensor: "a", key: "data_offsets")),
  Malformed("unknown key", mutated(#""dtype":"F32","#, #""dtype":"F32","strides":[1],"#), .unknownKey(tensor: "a", key: "strides")),
  Malformed("dtype is a number", mutated(#""F32""#, "32"), .wrongType(key: "a.dtype", expected: "a string", found: "32")),
  Malformed("unknown dtype", mutated("F32", "F4"), .unknownDType(tensor: "a", found: "F4")),
  Malformed("dtype in lower case", mutated("F32", "f32"), .unknownDType(tensor: "a", found: "f32")),
  Malformed("complex dtype", mutated("F32", "C64"), .unknownDType(tensor: "a", found: "C64")),
]

/// Faults of shapes and offsets.
private let offsets: [Malformed] = [
  Malformed("shape is a number", mutated("[2]", "2"), .wrongType(key: "a.shape", expected: "an array", found: "2")),
  Malformed("shape is an object", mutated("[2]", "{}"), .wrongType(key: "a.shape", expected: "an array", found: "an object")),
  Malformed("negative dimension", mutated("[2]", "[-2]"), .dimension(tensor: "a", index: 0, found: "-2")),
  Malformed("negative dimensions whose product fits", mutated("[2]", "[-1,-2]"), .dimension(tensor: "a", index: 0, found: "-1")),
  Malformed("fractional dimension", mutated("[2]", "[1.5]"), .dimension(tensor: "a", index: 0, found: "1.5")),
  Malformed("dimension as 2.0", mutated("[2]", "[2.0]"), .dimension(tensor: "a", index: 0, found: "2")),
  Malformed(
    "dimension beyond 64 bits", mutated("[2]", "[18446744073709551616]"), .dimension(tensor: "a", index: 0, found: "1.8446744073709552e+19")
  ),
  Malformed("dimension 2^63", mutated("[2]", "[1,9223372036854775808]"), .dimension(tensor: "a", index: 1, found: "9.223372036854776e+18")),
  Malformed("dimension is text", mutated("[2]", #"["2"]"#), .dimension(tensor: "a", index: 0, found: "'2'")),
  Malformed("dimension is a list", mutated("[2]", "[[2]]"), .dimension(tensor: "a", index: 0, found: "[2]")),
  Malformed(
    "product wraps to 4", mutated("[2]", "[4194305,4194305,211106198978564]"),
    .shapeOverflow(tensor: "a", shape: [4_194_305, 4_194_305, 211_106_198_978_564])),
  Malformed("bytes wrap, elements do not", mutated("[2]", "[4611686018427387904]"), .shapeOverflow(tensor: "a", shape: [1 << 62])),
  Malformed("zero hides an overflow", mutated("[2]", "[0,4611686018427387904,4]"), .shapeOverflow(tensor: "a", shape: [0, 1 << 62, 4])),
  Malformed(
    "product is 2^32 plus the size", mutated("[2]", "[2,2147483649]"),
    .sizeMismatch(tensor: "a", dtype: .f32, shape: [2, 2_147_483_649], expectedBytes: 17_179_869_192, foundBytes: 8)),
  Malformed("offsets are a number", mutated("[0,8]", "8"), .offsets(tensor: "a", found: "8")),
  Malformed("one offset", mutated("[0,8]", "[8]"), .offsets(tensor: "a", found: "[8]")),
  Malformed("three offsets", mutated("[0,8]", "[0,8,8]"), .offsets(tensor: "a", found: "[0,8,8]")),
  Malformed("no offsets in the list", mutated("[0,8]", "[]"), .offsets(tensor: "a", found: "[]")),
  Malformed("negative begin", mutated("[0,8]", "[-8,0]"), .offsets(tensor: "a", found: "[-8,0]")),
  Malformed("begin after end", mutated("[0,8]", "[8,0]"), .offsets(tensor: "a", found: "[8,0]")),
  Malformed("fractional offset", mutated("[0,8]", "[0,8.5]"), .offsets(tensor: "a", found: "[0,8.5]")),
  Malformed(
    "offset beyond 64 bits", mutated("[0,8]", "[0,18446744073709551624]"), .offsets(tensor: "a", found: "[0,1.8446744073709552e+19]")),
  Malformed("offset is text", mutated("[0,8]", #"[0,"8"]"#), .offsets(tensor: "a", found: #"[0,"8"]"#)),
  Malformed(
    "far offset", mutated("[8,11]", "[9223372036854775804,9223372036854775807]"), .hole(tensor: "b", begin: .max - 3, previousEnd: 8)),
  Malformed(
    "more bytes than the shape", mutated("[0,8]", "[0,9]"),
    .sizeMismatch(tensor: "a", dtype: .f32, shape: [2], expectedBytes: 8, foundBytes: 9)),
  Malformed(
    "fewer bytes than the shape", mutated("[0,8]", "[0,4]"),
    .sizeMismatch(tensor: "a", dtype: .f32, shape: [2], expectedBytes: 8, foundBytes: 4)),
  Malformed(
    "scalar without bytes", mutated(#"[2],"data_offsets":[0,8]"#, #"[],"data_offsets":[0,0]"#),
    .sizeMismatch(tensor: "a", dtype: .f32, shape: [], expectedBytes: 4, foundBytes: 0)),
  Malformed(
    "same bytes twice", mutated(#"[3],"data_offsets":[8,11]"#, #"[8],"data_offsets":[0,8]"#, data: 8),
    .overlap(tensor: "b", begin: 0, previous: "a", previousEnd: 8)),
  Malformed("overlap by a byte", mutated("[8,11]", "[7,10]", data: 10), .overlap(tensor: "b", begin: 7, previous: "a", previousEnd: 8)),
  Malformed(
    "empty tensor inside another", mutated(#"[3],"data_offsets":[8,11]"#, #"[0],"data_offsets":[4,4]"#, data: 8),
    .overlap(tensor: "b", begin: 4, previous: "a", previousEnd: 8)),
  Malformed(
    "empty tensor after the end", mutated(#"[3],"data_offsets":[8,11]"#, #"[0],"data_offsets":[9,9]"#, data: 8),
    .hole(tensor: "b", begin: 9, previousEnd: 8)),
  Malformed("hole between tensors", mutated("[8,11]", "[9,12]", data: 12), .hole(tensor: "b", begin: 9, previousEnd: 8)),
  Malformed("hole before the first", mutated("[0,8]", "[11,19]", data: 19), .hole(tensor: "b", begin: 8, previousEnd: 0)),
  Malformed("trailing byte", mutated("F32", "F32", data: 12), .trailingBytes(expectedBytes: 126, foundBytes: 127)),
  Malformed("bytes without tensors", safetensors("{}", data: 5), .trailingBytes(expectedBytes: 10, foundBytes: 15)),
  Malformed("one byte missing", mutated("F32", "F32", data: 10), .truncated(expectedBytes: 126, foundBytes: 125)),
  Malformed("no data", mutated("F32", "F32", data: 0), .truncated(expectedBytes: 126, foundBytes: 115)),
  Malformed(
    "a tensor of 8 EiB",
    safetensors(#"{"a":{"dtype":"U8","shape":[9223372036854775807],"data_offsets":[0,9223372036854775807]}}"#, data: 1),
    .truncated(expectedBytes: .max, foundBytes: 98)),
]

@Suite struct MalformedSafetensorsTests {
  @Test(arguments: beginnings + syntax + offsets)
  func isRefused(_ example: Malformed) { #expect(fault(example.bytes) == example.expected) }

  @Test func theUnchangedHeaderIsAccepted() { #expect(fault(mutated("F32", "F32")) == nil) }

  @Test func everyTruncation() {
    for file in [mutated("F32", "F32"), pythonFile] {
      for count in 0..<file.count {
        switch fault(Array(file[..<count])) {
        case .tooShort(let found): #expect(found == count && count < 8)
        case .truncated(let expected, let found): #expect(found == count && expected > count && expected <= file.count)
        case let other: Issue.record("\(count) bytes: \(String(describing: other))")
        }
      }
    }
  }

  /// Four at once, so that both cores help.
  @Test(arguments: 0..<4 as Range<UInt64>)
  func randomFlipsNeverTrap(seed: UInt64) throws {
    var rng = SplitMix64(seed: seed)
    let good = safetensors(
      #"{"a":{"dtype":"F16","shape":[2,1],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[],"data_offsets":[4,5]}}"#, data: 5)
    var refused = 0
    for _ in 0..<25_000 {
      var file = good
      for _ in 0...rng.below(3) {
        // Half of the changes are small ones: they turn digits into digits and letters into letters.
        let index = rng.below(file.count)
        file[index] = rng.next() & 1 == 0 ? file[index] ^ UInt8(1 << rng.below(8)) : UInt8(truncatingIfNeeded: rng.next())
      }
      do throws(CheckpointError) {
        let parsed = try SafetensorsFile(bytes(file), file: "f")
        for tensor in parsed.tensors {
          #expect(parsed.bytes(of: tensor).count == TensorSize(dtype: tensor.dtype, shape: tensor.shape)?.bytes)
        }
      } catch {
        refused += 1
        #expect(error.kind == .badData)
      }
    }
    #expect(refused > 20_000)
  }
}
