public import DibitTensor

/// What a file is, told from its first bytes; suffixes are never trusted.
public enum FileKind: String, CaseIterable, Sendable {
  case safetensors = "a safetensors file"
  case gitLFSPointer = "a Git LFS pointer (run 'git lfs pull', or download the file itself)"
  case html = "an HTML page (the download was answered with a web page; check the link and your access)"
  case xml = "an XML text (the download was answered with an error message; check the link and your access)"
  case zeros = "a file of zero bytes (an interrupted download leaves these; download it again)"
  case json = "a JSON text (to open a sharded checkpoint, name its directory)"
  case gguf = "a GGUF file"
  case hdf5 = "an HDF5 file"
  case zip = "a ZIP archive (PyTorch saves these; convert it to safetensors first)"
  case pickle = "a Python pickle (it can run code when opened; convert it to safetensors first)"
  case gzip = "a gzip archive (unpack it first)"
}

extension FileKind: CustomStringConvertible {
  /// The kind with its article, and what to do where a tensor file was expected.
  public var description: String { rawValue }

  /// The kind of a file with these bytes, or nil when they look like none of them.
  public static func recognise(_ bytes: Bytes) -> FileKind? {
    let start = bytes.slice(0..<min(bytes.count, 4096)).array
    for (signature, kind) in signatures where start.starts(with: signature) { return kind }
    if start.count >= 8, start.allSatisfy({ $0 == 0 }) { return .zeros }
    if start.count > 8, start[8] == UInt8(ascii: "{"), start[4..<8].allSatisfy({ $0 == 0 }) { return .safetensors }
    return text(start)
  }

  private static let signatures: [(bytes: [UInt8], kind: FileKind)] = [
    (Array("version https://git-lfs.github.com/".utf8), .gitLFSPointer),
    (Array("GGUF".utf8), .gguf),
    ([0x89, 0x48, 0x44, 0x46, 0x0D, 0x0A, 0x1A, 0x0A], .hdf5),
    ([0x50, 0x4B, 0x03, 0x04], .zip),
    ([0x80, 0x02, 0x8A, 0x0A], .pickle),
    ([0x1F, 0x8B, 0x08], .gzip),
  ]

  private static func text(_ start: [UInt8]) -> FileKind? {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let unmarked = start.starts(with: mark) ? start.dropFirst(mark.count) : start[...]
    let word = unmarked.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }.prefix(16).map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    if ["<!doctype html", "<html", "<head"].contains(where: { word.starts(with: $0.utf8) }) { return .html }
    if word.starts(with: "<?xml".utf8) { return .xml }
    // The only brace that can begin a safetensors file is the low byte of its header length.
    return word.first == UInt8(ascii: "{") && !start.prefix(8).contains(0) ? .json : nil
  }
}
