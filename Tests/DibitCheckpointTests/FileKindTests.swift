@testable import DibitCheckpoint
@testable import DibitFiles
import DibitTensor
import DibitTestSupport
import Testing

@Suite struct FileKindTests {
  private func kind(_ array: [UInt8]) -> FileKind? { FileKind.recognise(bytes(array)) }
  private func kind(_ text: String) -> FileKind? { kind(Array(text.utf8)) }

  @Test func archives() {
    let torch = ZipMaker.torch(.dict([("t", .tensor(count: 2, shape: [2], strides: [1]))]), ramp(2)).make()
    #expect(kind(torch.bytes) == .pytorch)
    // Cut off anywhere after the first name, it is still a PyTorch file: its reader says what is missing.
    for count in torch.locals[0] + 46..<torch.bytes.count { #expect(kind(Array(torch.bytes[..<count])) == .pytorch) }
    func zip(_ names: [String]) -> FileKind? { kind(ZipMaker(entries: names.map { ZipMaker.Entry(name: $0, data: [1]) }).make().bytes) }
    #expect(zip(["m/version", "m/data/0", "m/data.pkl"]) == .pytorch)
    #expect(zip(["arr_0.npy", "b.npy"]) == .numpy)
    #expect(zip(["[Content_Types].xml", "xl/workbook.xml"]) == .workbook && kind("PAR1\u{15}\u{4}") == .parquet)
    #expect(zip(["a.npy", "readme.txt"]) == .zip && zip(["model.safetensors"]) == .zip)
    for count in 4..<30 { #expect(kind(Array(torch.bytes[..<count])) == .zip) }
    #expect(kind([UInt8](repeating: 0x61, count: 257) + Array("ustar\0".utf8) + [UInt8](repeating: 0, count: 250)) == .tar)
    #expect(kind([0x28, 0xB5, 0x2F, 0xFD, 0, 0]) == .compressed && kind([0xFD, 0x37, 0x7A, 0x58, 0x5A, 0, 0]) == .compressed)
    #expect(kind("BZh91AY&SY....") == .compressed && kind([0x1F, 0x8B, 8, 0]) == .gzip)
    #expect(kind([0x93] + Array("NUMPY".utf8) + [1, 0]) == .numpy)
  }

  @Test func pickles() {
    let value = Python.dict([("t", .tensor(count: 2, shape: [2], strides: [1]))])
    for version in UInt8(2)...5 { #expect(kind(value.pickle(version: version)) == .pickle) }
    #expect(kind([0x80, 4, 0x95] + littleEndian(9) + [0x5D, 0x2E]) == .pickle)
    #expect(kind(legacy(value.pickle(), ramp(2))) == .pytorch)
    #expect(kind([0x80, 1, 0x5D, 0x2E]) == nil && kind([0x80, 6, 0x5D, 0x2E]) == nil)
    // Header lengths of 640 and 4194946 bytes begin like pickles.
    #expect(kind([0x80, 2, 0, 0, 0, 0, 0, 0, 0x7B, 0x7D]) == .safetensors)
    #expect(kind([0x80, 2, 0x5D, 0, 0, 0, 0, 0, 0x7B, 0x7D]) == .safetensors)
  }

  @Test func answersOfServers() {
    for text in [
      "Not Found", "404: Not Found", "Entry not found", "Repository not found\n", "Invalid username or password.", "Forbidden",
      "Access to model x/y is restricted. You must have access to it and be authenticated to access it. Please log in.",
      #"{"error":"Invalid username or password."}"#, "Unauthorized", "\u{FEFF}not found",
    ] { #expect(kind(text) == .refusal, "\(text)") }
    // Long texts and texts with other bytes are no answers.
    #expect(kind("Not Found" + String(repeating: " ", count: 5000)) == .text)
    #expect(kind(Array("error".utf8) + [0, 1, 2]) == nil)
    #expect(kind(#"{"metadata":{}}"#) == .json && kind("<html>") == .html && kind("<?xml version='1.0'?>") == .xml)
  }

  @Test func messages() {
    let piece: [UInt8] = [0x0A, 14, 0x0A, 5] + Array("<unk>".utf8) + [0x15, 0, 0, 0, 0, 0x18, 2]
    #expect(kind(piece) == .sentencePiece)
    #expect(kind([0x0A, 3] + piece.dropFirst(2)) == nil)
    let producer: [UInt8] = [0x08, 8, 0x12, 7] + Array("pytorch".utf8) + [0x1A, 5] + Array("2.1.0".utf8)
    #expect(kind(producer) == .onnx)
    #expect(kind([0x08, 8, 0x12, 7] + Array("tensors".utf8) + [0x1A, 5] + Array("2.1.0".utf8)) == nil)
  }

  @Test func otherFiles() {
    #expect(kind("root:x:0:0:root:/root:/bin/sh\n") == .text && kind("Grüße\r\n\t\u{1F40D}") == .text)
    // A character may be cut where the look ends.
    #expect(kind(String(repeating: "x", count: 4095) + "é and more") == .text)
    #expect(kind([]) == nil && kind("seven b") == nil && kind(Array("some text".utf8) + [0]) == nil)
    #expect(kind(Array("fünf Wörter".utf16.map { UInt8($0) })) == nil)
    #expect(kind([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0]) == .png && kind([0xFF, 0xD8, 0xFF, 0xE0, 0]) == .jpeg)
    #expect(kind("GIF89a") == .gif && kind("%PDF-1.7\n") == .pdf && kind([0x7F, 0x45, 0x4C, 0x46, 2, 1]) == .elf)
  }

  @Test func llama2c() {
    #expect(kind([0x32, 0x34, 0x6B, 0x61, 1, 0, 0, 0, 9]) == .llama2c && kind([0x32, 0x34, 0x6B, 0x61, 3, 0, 0, 0, 9]) == .llama2c)
    #expect(kind([UInt8](repeating: 7, count: 28)) == nil)
    let stories = "../shared/data/stories260k/stories260K.bin"
    guard exists(stories), let mapped = try? MappedFile(path: stories) else {
      print("skipped: \(stories) is not there")
      return
    }
    #expect(FileKind.recognise(mapped.bytes) == .llama2c)
    #expect(FileKind.recognise(mapped.bytes.slice(0..<mapped.bytes.count - 1)) == nil)
  }

  @Test func anyBytesHaveAKindOrNone() {
    var random = SplitMix64(seed: 1)
    let starts: [[UInt8]] = [[], [0x50, 0x4B, 3, 4], [0x80, 2], [0x0A], [0x08], Array("GGUF".utf8), [0x32, 0x34, 0x6B, 0x61]]
    var found = 0
    for round in 0..<5_000 {
      let tail = (0..<Int(random.next() % 80)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      if kind(starts[round % starts.count] + tail) != nil { found += 1 }
    }
    #expect(found > 1_000)
  }
}
