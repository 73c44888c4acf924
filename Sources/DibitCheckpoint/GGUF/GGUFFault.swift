internal import DibitFailure

/// A fault inside a GGUF file. Offsets are bytes from the start of the file, except those of tensor data, which count from the
/// start of the data section, as in the file.
package enum GGUFFault: Error, Equatable, Sendable {
  case otherFormat(FileKind)
  case magic(found: [UInt8])
  case bigEndian(version: UInt32)
  case version(found: UInt32)
  /// The file ends inside the metadata or the list of tensors.
  case truncated(what: String, offset: Int, neededBytes: Int, foundBytes: Int)
  /// A count that the rest of the file cannot hold.
  case count(what: String, offset: Int, found: UInt64, foundBytes: Int)
  case keyLength(offset: Int, found: UInt64, limit: Int)
  case nameLength(offset: Int, found: UInt64, limit: Int)
  case notText(what: String, offset: Int)
  case duplicateKey(String, offset: Int)
  case valueType(key: String, offset: Int, found: UInt32)
  case boolean(key: String, offset: Int, found: UInt8)
  case depth(key: String, offset: Int, limit: Int)
  case alignmentType(found: String)
  case alignment(found: UInt32, limit: Int)
  case duplicateTensor(String, offset: Int)
  case dimensions(tensor: String, offset: Int, found: UInt32, limit: Int)
  case dimension(tensor: String, offset: Int, index: Int, found: UInt64)
  case shapeOverflow(tensor: String, shape: [Int])
  case tensorType(tensor: String, offset: Int, found: UInt32)
  case blocks(tensor: String, type: GGMLType, columns: Int)
  case unaligned(tensor: String, begin: UInt64, alignment: Int)
  case overlap(tensor: String, begin: UInt64, previous: String, previousEnd: Int)
  case hole(tensor: String, begin: UInt64, expected: Int)
  case truncatedData(tensor: String, expectedBytes: Int, foundBytes: Int)
  case trailingBytes(expectedBytes: Int, foundBytes: Int)
  /// The elements cannot be turned into floats.
  case unreadable(tensor: String, type: GGMLType)
}

extension GGUFFault: CustomStringConvertible {
  /// The fault in words, without the name of the file.
  package var description: String {
    switch self {
    case .otherFormat(let kind): "a GGUF file expected, \(kind) found"
    case .magic(let found): "byte 0: 'GGUF' expected, \(quoted(String(decoding: found, as: UTF8.self))) found; this is not a GGUF file"
    case .bigEndian(let version):
      "byte 4: the file is big-endian (version \(version)); write it again on a little-endian machine, or convert it with gguf-py's gguf_convert_endian"
    case .version(let found):
      "byte 4: GGUF version 2 or 3 expected, \(found) found; \(found == 1 ? "convert the model again with a newer llama.cpp" : "this may need a newer Dibit")"
    case .truncated(let what, let offset, let needed, let found):
      "\(what) at byte \(offset): \(needed) bytes expected, the file has \(found) more; make or download it again"
    case .count(let what, let offset, let count, let found):
      "\(what) at byte \(offset): \(count) is more than the \(found) bytes that follow can hold; the file is damaged or cut short"
    case .keyLength(let offset, let found, let limit): "key at byte \(offset): 1 to \(limit) bytes expected, \(found) found"
    case .nameLength(let offset, let found, let limit): "tensor name at byte \(offset): 1 to \(limit) bytes expected, \(found) found"
    case .notText(let what, let offset): "\(what) at byte \(offset): UTF-8 expected, other bytes found"
    case .duplicateKey(let key, let offset): "key \(quoted(key)) at byte \(offset): it is there twice"
    case .valueType(let key, let offset, let found):
      "key \(quoted(key)): type at byte \(offset): 0 to \(GGUFArray.names.count - 1) expected, \(found) found"
    case .boolean(let key, let offset, let found): "key \(quoted(key)): bool at byte \(offset): 0 or 1 expected, \(found) found"
    case .depth(let key, let offset, let limit): "key \(quoted(key)): array at byte \(offset): nested deeper than \(limit) levels"
    case .alignmentType(let found): "key 'general.alignment': a uint32 expected, \(found) found"
    case .alignment(let found, let limit): "key 'general.alignment': a power of two up to \(limit) expected, \(found) found"
    case .duplicateTensor(let name, let offset): "tensor \(quoted(name)) at byte \(offset): it is there twice"
    case .dimensions(let tensor, let offset, let found, let limit):
      "tensor \(quoted(tensor)): at byte \(offset): at most \(limit) dimensions expected, \(found) found"
    case .dimension(let tensor, let offset, let index, let found):
      "tensor \(quoted(tensor)): dimension \(index) at byte \(offset): 1 to 2^63 - 1 expected, \(found) found"
    case .shapeOverflow(let tensor, let shape): "tensor \(quoted(tensor)): shape \(shown(shape)) has more bytes than 63 bits can count"
    case .tensorType(let tensor, let offset, let found): "tensor \(quoted(tensor)): type at byte \(offset): \(Self.explain(found))"
    case .blocks(let tensor, let type, let columns):
      "tensor \(quoted(tensor)): rows of whole \(type) blocks of \(type.blockSize) elements expected, rows of \(columns) found"
    case .unaligned(let tensor, let begin, let alignment):
      "tensor \(quoted(tensor)): a multiple of \(alignment) expected as its begin, data byte \(begin) found"
    case .overlap(let tensor, let begin, let previous, let end):
      "tensor \(quoted(tensor)): begins at data byte \(begin), inside tensor \(quoted(previous)), which ends at \(end)"
    case .hole(let tensor, let begin, let expected):
      "tensor \(quoted(tensor)): data byte \(expected) expected as its begin, \(begin) found; the bytes between belong to no tensor"
    case .truncatedData(let tensor, let expected, let found):
      "tensor \(quoted(tensor)): the file is cut short: \(expected) bytes expected, \(found) found; make or download it again"
    case .trailingBytes(let expected, let found):
      "\(expected) bytes expected, \(found) found; the last \(found - expected) belong to no tensor"
    case .unreadable(let tensor, let type):
      "tensor \(quoted(tensor)): \(type) cannot be read; use a file of Q8_0, Q6_K, Q4_K, Q2_K or another type without a codebook"
    }
  }

  private static func explain(_ number: UInt32) -> String {
    if let name = GGMLType.withdrawn(number) { return "\(number) is \(name); convert the model again with a newer llama.cpp" }
    return "0 to 42 expected, \(number) found; the file is damaged, or of a fork or newer than this Dibit"
  }
}
