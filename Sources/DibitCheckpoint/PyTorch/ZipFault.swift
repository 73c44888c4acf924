internal import DibitFailure

/// A fault in a ZIP archive. Offsets are bytes from the start of the file.
package enum ZipFault: Error, Equatable, Sendable {
  /// The last 22 bytes are no end record without a comment.
  case endRecord(fileBytes: Int)
  /// A record does not begin with its signature.
  case signature(record: String, offset: Int, expected: UInt32, found: UInt32)
  /// A record does not fit before `limit`.
  case recordOutside(record: String, offset: Int, bytes: Int, limit: Int)
  /// A field has a value that this reader does not accept, or that contradicts another one.
  case field(record: String, offset: Int, field: String, expected: UInt64, found: UInt64)
  case multipleDisks(offset: Int)
  /// The central directory does not fill the space before the end records exactly.
  case directory(offset: UInt64, bytes: UInt64, expectedEnd: Int)
  case entryCount(expected: UInt64, found: Int)
  case encrypted(entry: String)
  case flags(entry: String, found: UInt16)
  case name(offset: Int, found: String)
  case duplicateName(String)
  case extraField(entry: String, reason: String)
  /// The local header says something else than the central directory.
  case localHeader(entry: String, offset: Int, field: String, expected: String, found: String)
  case descriptor(entry: String, offset: Int)
  case overlap(entry: String, begin: Int, previous: String, previousEnd: Int)
  case hole(entry: String, begin: Int, previousEnd: Int)
  /// The entry is compressed, and its bytes were asked for.
  case compressed(entry: String, method: UInt16)
  case checksum(entry: String, expected: UInt32, found: UInt32)
}

extension ZipFault: CustomStringConvertible {
  /// The fault in words, without the name of the file.
  package var description: String {
    switch self {
    case .endRecord(let bytes):
      "an end record of 22 bytes expected at the end of the file (byte \(max(0, bytes - 22))), none found; the file is cut short or has "
        + "bytes after its end; download it again"
    case .signature(let record, let offset, let expected, let found):
      "\(record) at byte \(offset): signature \(hexadecimal(expected)) expected, \(hexadecimal(found)) found"
    case .recordOutside(let record, let offset, let bytes, let limit):
      "\(record) at byte \(offset): \(bytes) bytes expected before byte \(limit), \(max(0, limit - offset)) found"
    case .field(let record, let offset, let field, let expected, let found):
      "\(record) at byte \(offset): \(field) \(expected) expected, \(found) found"
    case .multipleDisks(let offset): "the record at byte \(offset) belongs to an archive in several parts; join the parts first"
    case .directory(let offset, let bytes, let end):
      "the central directory of \(bytes) bytes at byte \(offset) should end at byte \(end); the file is damaged or has foreign bytes in it"
    case .entryCount(let expected, let found): "the central directory: \(expected) entries expected, \(found) found"
    case .encrypted(let entry): "entry \(quoted(entry)) is encrypted; unpack it and save it again without a password"
    case .flags(let entry, let found): "entry \(quoted(entry)): flags 0x\(String(found, radix: 16)) are not understood"
    case .name(let offset, let found):
      "central directory at byte \(offset): a relative name in UTF-8 expected, \(quoted(found)) found"
    case .duplicateName(let name): "two entries are called \(quoted(name))"
    case .extraField(let entry, let reason): "entry \(quoted(entry)): extra field: \(reason)"
    case .localHeader(let entry, let offset, let field, let expected, let found):
      "entry \(quoted(entry)): local header at byte \(offset): \(field) \(expected) expected as in the central directory, \(found) found"
    case .descriptor(let entry, let offset): "entry \(quoted(entry)): no data descriptor with its sizes at byte \(offset)"
    case .overlap(let entry, let begin, let previous, let end):
      "entry \(quoted(entry)) begins at byte \(begin), inside \(quoted(previous)), which ends at \(end)"
    case .hole(let entry, let begin, let end):
      "\(quoted(entry)): byte \(end) expected as its begin, \(begin) found; the bytes between belong to no entry"
    case .compressed(let entry, let method):
      "entry \(quoted(entry)): stored bytes expected, \(method == 8 ? "deflated ones" : "compression method \(method)") found; "
        + "PyTorch never compresses, so the archive was packed again: unpack it and pack it with 'zip -0'"
    case .checksum(let entry, let expected, let found):
      "entry \(quoted(entry)): CRC-32 \(hexadecimal(expected)) expected, \(hexadecimal(found)) found; the file is damaged; download it again"
    }
  }
}

private func hexadecimal(_ value: UInt32) -> String {
  let digits = String(value, radix: 16, uppercase: true)
  return "0x" + String(repeating: "0", count: 8 - digits.count) + digits
}
