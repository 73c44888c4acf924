internal import DibitFailure
package import DibitTensor

/// A fault inside a safetensors file. Offsets of data are relative to the data section, as in the header.
package enum SafetensorsFault: Error, Equatable, Sendable {
  case otherFormat(FileKind)
  case tooShort(foundBytes: Int)
  case headerLength(found: UInt64, limit: Int)
  /// The file ends before the last byte that its header promises.
  case truncated(expectedBytes: Int, foundBytes: Int)
  case headerStart(found: UInt8)
  case headerSyntax(reason: String)
  case wrongType(key: String, expected: String, found: String)
  case missingKey(tensor: String, key: String)
  case unknownKey(tensor: String, key: String)
  case unknownDType(tensor: String, found: String)
  case dimension(tensor: String, index: Int, found: String)
  case shapeOverflow(tensor: String, shape: [Int])
  case offsets(tensor: String, found: String)
  case sizeMismatch(tensor: String, dtype: DType, shape: [Int], expectedBytes: Int, foundBytes: Int)
  case overlap(tensor: String, begin: Int, previous: String, previousEnd: Int)
  case hole(tensor: String, begin: Int, previousEnd: Int)
  case trailingBytes(expectedBytes: Int, foundBytes: Int)
}

extension SafetensorsFault: CustomStringConvertible {
  /// The fault in words, without the name of the file.
  package var description: String {
    switch self {
    case .otherFormat(let kind): "a file with tensors expected (safetensors, GGUF, HDF5, PyTorch or llama2.c), \(kind) found"
    case .tooShort(let found): "the 8-byte header length expected, a file of \(found) bytes found; make or download it again"
    case .headerLength(let found, let limit):
      "no file with tensors of a known kind (safetensors, GGUF, HDF5, PyTorch or llama2.c): as safetensors, header length at byte 0: "
        + "2 to \(limit) bytes expected, \(found) found"
    case .truncated(let expected, let found):
      "the file is cut short: \(expected) bytes expected, \(found) found, \(expected - found) missing; make or download it again"
    case .headerStart(let found):
      "header at byte 8: '{' expected, byte 0x\(String(found, radix: 16, uppercase: true)) found; this is not a safetensors file"
    case .headerSyntax(let reason): "header at byte 8: \(reason)"
    case .wrongType(let key, let expected, let found): "header key \(quoted(key)): \(expected) expected, \(found) found"
    case .missingKey(let tensor, let key): "tensor \(quoted(tensor)): the header gives no '\(key)'"
    case .unknownKey(let tensor, let key):
      "tensor \(quoted(tensor)): 'dtype', 'shape' and 'data_offsets' expected, key \(quoted(key)) found"
    case .unknownDType(let tensor, let found):
      "tensor \(quoted(tensor)): dtype \(quoted(found)) is unknown; known are \(DType.allCases.map(\.rawValue).joined(separator: ", "))"
    case .dimension(let tensor, let index, let found):
      "tensor \(quoted(tensor)): dimension \(index): a whole number from 0 expected, \(found) found"
    case .shapeOverflow(let tensor, let shape): "tensor \(quoted(tensor)): shape \(shown(shape)) has more bytes than 64 bits can count"
    case .offsets(let tensor, let found):
      "tensor \(quoted(tensor)): data_offsets [begin, end] with 0 <= begin <= end expected, \(found) found"
    case .sizeMismatch(let tensor, let dtype, let shape, let expected, let found):
      "tensor \(quoted(tensor)): \(dtype.rawValue) \(shown(shape)) needs \(expected) bytes, data_offsets give \(found)"
    case .overlap(let tensor, let begin, let previous, let end):
      "tensor \(quoted(tensor)): begins at data byte \(begin), inside tensor \(quoted(previous)), which ends at \(end)"
    case .hole(let tensor, let begin, let end):
      "tensor \(quoted(tensor)): data byte \(end) expected as its begin, \(begin) found; the bytes between belong to no tensor"
    case .trailingBytes(let expected, let found):
      "\(expected) bytes expected, \(found) found; the last \(found - expected) belong to no tensor"
    }
  }
}
