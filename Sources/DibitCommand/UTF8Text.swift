internal import DibitCheckpoint
internal import DibitDataset
internal import DibitFiles

/// Texts for a model from files, pipes and the command line: UTF-8 and nothing else, because a character that was put in place of a byte
/// would be read as if it had been written.
enum UTF8Text {
  /// The most bytes of a text.
  private static let limit = 64 << 20

  /// Finds the first byte that is no UTF-8; nil where all is.
  static func fault(in bytes: some Collection<UInt8>) -> Int? {
    let bytes = Array(bytes)
    do throws(UTF8.ValidationError) { _ = try UTF8Span(validating: bytes.span) } catch { return error.byteOffsets.lowerBound }
    return nil
  }

  /// Describes the fault at such an offset.
  static func message(_ bytes: [UInt8], _ offset: Int) -> String {
    let byte = String(bytes[offset], radix: 16, uppercase: true)
    return "UTF-8 expected, byte 0x\(byte.count < 2 ? "0" : "")\(byte) found at offset \(offset)"
  }

  /// The text of bytes; `name` says where they are from.
  static func decode(_ bytes: [UInt8], name: String) throws -> String {
    if let offset = fault(in: bytes) { throw Failure(.badData, "\(name): \(message(bytes, offset))") }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The text of a file, or of standard input for "-", without a byte order mark and, but for a text to be kept as it is, without the line
  /// end at its end.
  static func read(_ path: String, keepsLineEnd: Bool = false) throws -> String {
    let isInput = path == TextLocation.standardInput
    var bytes = try isInput ? standardInput() : readFile(path, limit: limit)
    removeMark(from: &bytes)
    if !keepsLineEnd, bytes.last == UInt8(ascii: "\n") {
      bytes.removeLast()
      if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
    }
    return try decode(bytes, name: isInput ? "standard input" : "'\(path)'")
  }

  /// Removes a byte order mark, which is no part of the text.
  static func removeMark(from bytes: inout [UInt8]) { if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) } }

  /// All of standard input.
  static func standardInput() throws -> [UInt8] {
    var bytes: [UInt8] = []
    while true {
      let read = try StandardInput.read(upTo: 1 << 16) { Interrupt.isRequested }
      if Interrupt.isRequested { throw Failure(.interrupted, "interrupted") }
      if read.isEmpty { return bytes }
      bytes += read
      guard bytes.count <= limit else { throw FileError.tooLarge(path: "standard input", limit: limit, found: bytes.count) }
    }
  }
}
