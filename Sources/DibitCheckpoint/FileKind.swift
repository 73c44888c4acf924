internal import DibitFiles
package import DibitTensor

/// The kind of a file, told from its bytes; suffixes are never trusted.
package enum FileKind: String, CaseIterable, Sendable {
  case safetensors = "a safetensors file"
  case gguf = "a GGUF file"
  case hdf5 = "an HDF5 file"
  case pytorch = "a PyTorch file"
  case llama2c = "a llama2.c file"
  case gitLFSPointer = "a Git LFS pointer (run 'git lfs pull', or download the file itself)"
  case html = "an HTML page (the download was answered with a web page; check the link and your access)"
  case xml = "an XML text (the download was answered with an error message; check the link and your access)"
  case refusal = "a short error message (the download was answered with it; check the link, and log in where the model asks for it)"
  case zeros = "a file of zero bytes (an interrupted download leaves these; download it again)"
  case json = "a JSON text (to open a sharded checkpoint, name its directory)"
  case pickle = "a Python pickle (it can run code when opened in Python; save the tensors with torch.save or as safetensors)"
  case numpy = "a NumPy array (save the arrays as safetensors)"
  case onnx = "an ONNX program (export the weights as safetensors)"
  case sentencePiece = "a SentencePiece tokenizer"
  case workbook = "an Excel workbook (save its table as CSV)"
  case parquet = "a Parquet file (write its table as JSONL or CSV)"
  case zip = "a ZIP archive (unpack it first)"
  case tar = "a tar archive (unpack it first)"
  case gzip = "a gzip archive (unpack it first)"
  case compressed = "a compressed archive (unpack it first)"
  case png = "a PNG picture"
  case jpeg = "a JPEG picture"
  case gif = "a GIF picture"
  case pdf = "a PDF document"
  case elf = "a program (ELF)"
  case text = "a text"
}

extension FileKind: CustomStringConvertible {
  /// The kind with its article, and what to do where a tensor file was expected.
  package var description: String { rawValue }

  /// The kind of a file with these bytes, or nil when they look like none of them.
  ///
  /// - Complexity: constant, except for ZIP archives, whose entries are looked at.
  package static func recognise(_ bytes: Bytes) -> FileKind? {
    let start = bytes.slice(0..<min(bytes.count, 4096)).array
    for (signature, kind) in signatures where start.starts(with: signature) { return kind }
    if start.starts(with: [0x50, 0x4B, 0x03, 0x04]) { return archive(bytes) }
    if start.count >= 8, start.allSatisfy({ $0 == 0 }) { return .zeros }
    if start.count > 8, start[8] == UInt8(ascii: "{"), start[4..<8].allSatisfy({ $0 == 0 }) { return .safetensors }
    if start.count >= 262, start[257..<262].elementsEqual("ustar".utf8) { return .tar }
    return pickle(start) ?? text(start, isWhole: start.count == bytes.count) ?? message(start)
      ?? (Llama2CContainer.recognises(bytes) ? .llama2c : nil) ?? (isPlainText(start, isWhole: start.count == bytes.count) ? .text : nil)
  }

  /// The kind of a regular file; nil where it cannot be read too.
  package static func ofFile(_ path: String) -> FileKind? { (try? MappedFile(path: path)).flatMap { recognise($0.bytes) } }

  /// True for a file that a person reads as it is.
  package var isReadable: Bool { [.text, .json, .html, .xml, .refusal, .gitLFSPointer].contains(self) }

  private static let signatures: [(bytes: [UInt8], kind: FileKind)] = [
    (Array("version https://git-lfs.github.com/".utf8), .gitLFSPointer),
    (Array("GGUF".utf8), .gguf),
    ([0x89, 0x48, 0x44, 0x46, 0x0D, 0x0A, 0x1A, 0x0A], .hdf5),
    // The number 0x1950A86A20F9469CFC6C, with which torch.save began before it wrote archives.
    ([0x80, 0x02, 0x8A, 0x0A, 0x6C, 0xFC, 0x9C, 0x46, 0xF9, 0x20, 0x6A, 0xA8, 0x50, 0x19], .pytorch),
    ([0x32, 0x34, 0x6B, 0x61, 0x01, 0x00, 0x00, 0x00], .llama2c),
    ([0x32, 0x34, 0x6B, 0x61, 0x02, 0x00, 0x00, 0x00], .llama2c),
    ([0x93] + Array("NUMPY".utf8), .numpy),
    (Array("PAR1".utf8), .parquet),
    ([0x1F, 0x8B, 0x08], .gzip),
    ([0x28, 0xB5, 0x2F, 0xFD], .compressed),
    ([0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00], .compressed),
    ([0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C], .compressed),
    (Array("BZh91AY&SY".utf8), .compressed),
    ([0x89] + Array("PNG\r\n".utf8), .png),
    ([0xFF, 0xD8, 0xFF], .jpeg),
    (Array("GIF8".utf8), .gif),
    (Array("%PDF-".utf8), .pdf),
    ([0x7F] + Array("ELF".utf8), .elf),
  ]

  /// Returns the kind of a ZIP archive's content, from the names of its entries; from the first one alone when the directory is damaged or
  /// cut off.
  private static func archive(_ bytes: Bytes) -> FileKind {
    var names: [String] = []
    if let directory = try? ZipDirectory(bytes) {
      names = directory.records.map(\.name)
    } else if bytes.count >= 30 {
      let length = Int(bytes.zipNumber(26, UInt16.self))
      names = [String(decoding: bytes.slice(30..<min(30 + length, bytes.count)).array, as: UTF8.self)]
    }
    if names.contains(where: { $0.hasSuffix("/data.pkl") || $0 == "data.pkl" }) { return .pytorch }
    if names.contains("xl/workbook.xml") { return .workbook }
    return !names.isEmpty && names.allSatisfy { $0.hasSuffix(".npy") } ? .numpy : .zip
  }

  /// Protocol 2 to 5, and an instruction that can begin a value.
  private static func pickle(_ start: [UInt8]) -> FileKind? {
    guard start.count >= 4, start[0] == 0x80, (2...5).contains(start[1]) else { return nil }
    return Array("(])}cKMJGNXUTCBi".utf8).contains(start[2]) || (0x85...0x9A).contains(start[2]) ? .pickle : nil
  }

  private static func text(_ start: [UInt8], isWhole: Bool) -> FileKind? {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let unmarked = start.starts(with: mark) ? start.dropFirst(mark.count) : start[...]
    let words = unmarked.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }.prefix(48).map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    func begins(_ texts: [String]) -> Bool { texts.contains { words.starts(with: $0.utf8) } }
    if begins(["<!doctype html", "<html", "<head"]) { return .html }
    if begins(["<?xml"]) { return .xml }
    if isWhole, start.count <= 1024, start.allSatisfy({ $0 >= 0x20 || (0x09...0x0D).contains($0) }), begins(refusals) { return .refusal }
    // The only brace that can begin a safetensors file is the low byte of its header length.
    return words.first == UInt8(ascii: "{") && !start.prefix(8).contains(0) ? .json : nil
  }

  /// Checks that all bytes are UTF-8 without control characters, and not so few that they could be the start of anything; the last
  /// character may be cut where that is not all of the file.
  private static func isPlainText(_ start: [UInt8], isWhole: Bool) -> Bool {
    guard start.count >= 8, start.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || (0x09...0x0D).contains($0) }) else { return false }
    return (0...(isWhole ? 0 : 3)).contains { String(validating: start.dropLast($0), as: UTF8.self) != nil }
  }

  /// The beginnings of the refusals of hubs and web servers, in lower case.
  private static let refusals = [
    "not found", "404", "403", "401", "entry not found", "repository not found", "revision not found", "file not found", "forbidden",
    "unauthorized", "access denied", "access to ", "invalid username or password", "invalid credentials", "{\"error\"", "{\"message\"",
    "{\"detail\"", "error", "too many requests", "rate limit", "internal server error", "service unavailable", "bad gateway",
  ]

  /// Messages of Protocol Buffers that begin in a way that little else does.
  private static func message(_ start: [UInt8]) -> FileKind? {
    guard start.count >= 16 else { return nil }
    // A first piece, field 1, with a text, field 1, and a score, field 2 of four bytes.
    let length = Int(start[3])
    if start[0] == 0x0A, start[2] == 0x0A, Int(start[1]) >= length + 7, 4 + length < start.count, start[4 + length] == 0x15 {
      return .sentencePiece
    }
    // A version, field 1, and the name of the program that wrote it, field 2.
    if start[0] == 0x08, (1...32).contains(start[1]), start[2] == 0x12, 4 + length <= start.count {
      let producer = String(decoding: start[4..<4 + length], as: UTF8.self).lowercased()
      if producer == "pytorch" || producer.contains("onnx") { return .onnx }
    }
    return nil
  }
}
