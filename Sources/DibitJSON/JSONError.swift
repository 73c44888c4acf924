/// The reasons for which bytes are not the JSON document that was expected. Offsets are in bytes from the start of the text.
package enum JSONError: Error, Equatable, Sendable {
  case unexpected(offset: Int, expected: String, found: String)
  case invalidUTF8(offset: Int)
  case nestedTooDeeply(offset: Int, limit: Int)
  case duplicateKey(String, offset: Int)
}

extension JSONError: CustomStringConvertible {
  /// One sentence: what is wrong, and at which byte.
  package var description: String {
    switch self {
    case .unexpected(let offset, let expected, let found): "JSON at byte \(offset): expected \(expected), found \(found)"
    case .invalidUTF8(let offset): "JSON at byte \(offset): the text is not valid UTF-8"
    case .nestedTooDeeply(let offset, let limit): "JSON at byte \(offset): nested deeper than \(limit) levels"
    case .duplicateKey(let key, let offset): "JSON at byte \(offset): the key '\(key)' appears twice"
    }
  }
}
