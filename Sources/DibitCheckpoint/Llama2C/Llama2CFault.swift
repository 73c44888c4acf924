/// A fault inside a file of llama2.c.
package enum Llama2CFault: Error, Equatable, Sendable {
  case tooShort(expectedBytes: Int, foundBytes: Int)
  case version(found: Int)
  /// A number of the header is out of its range or does not fit the others.
  case parameter(name: String, offset: Int, expected: String, found: Int)
  case sharedClassifier(offset: Int, found: UInt8)
  case padding(offset: Int, found: UInt8)
  /// The file is not as long as its header says.
  case size(expectedBytes: Int, foundBytes: Int)
}

extension Llama2CFault: CustomStringConvertible {
  /// The fault in words, without the name of the file.
  package var description: String {
    switch self {
    case .tooShort(let expected, let found):
      "llama2.c header of \(expected) bytes expected, a file of \(found) bytes found; download it again"
    case .version(let found): "llama2.c header at byte 4: version 1 or 2 expected, \(found) found"
    case .parameter(let name, let offset, let expected, let found):
      "llama2.c header at byte \(offset): \(name) \(expected) expected, \(found) found"
    case .sharedClassifier(let offset, let found):
      "llama2.c header at byte \(offset): 0 or 1 expected for a shared classifier, \(found) found"
    case .padding(let offset, let found): "llama2.c header at byte \(offset): zero bytes up to byte 256 expected, \(found) found"
    case .size(let expected, let found) where found < expected:
      "the file is cut short: the header promises \(expected) bytes, \(found) found; download it again"
    case .size(let expected, let found):
      "\(expected) bytes expected from the header, \(found) found; the last \(found - expected) belong to no tensor"
    }
  }
}
