package import DibitCheckpoint
internal import DibitFailure
internal import DibitFiles
package import DibitJSON
internal import DibitModel

/// The facts that a well-formed file with tensors tells where it is no model that Dibit knows.
package enum TensorFile {
  /// The most keys that are shown, and the most characters of a text.
  private static let (keyLimit, textLimit) = (1024, 160)

  /// The reason for which what lies at `path` is no model; nil where the error is about something else, such as a damaged file.
  ///
  /// A file that describes itself may be anything. Of a directory only the architecture can be unknown: the rest of its config.json is
  /// meant for these tensors, and what is wrong with it is to be told.
  package static func reason(_ error: ModelStoreError, of path: String) -> String? {
    switch error {
    case .gguf(let fault, _): return fault.description
    case .model(.unknownArchitecture(let name, known: let known), _):
      return "the architecture \(quoted(name)) is not supported; supported are \(known.joined(separator: ", "))"
    case .file(.notFound(let missing)) where missing == path + "/" + StoreFile.configuration:
      return "there is no \(StoreFile.configuration)"
    default: return isDirectory(path) ? nil : reasonOfFile(error)
    }
  }

  private static func reasonOfFile(_ error: ModelStoreError) -> String? {
    switch error {
    case .model(let fault, _): fault.description
    case .checkpoint(.gguf(_, let fault)): fault.description
    case .checkpoint(.unknownTensor(let name, _)): "there is no tensor \(quoted(name))"
    case .checkpoint(.unfitView(let tensor, _, let found, let expected)),
      .checkpoint(.shapeMismatch(let tensor, _, let expected, let found)):
      "tensor \(quoted(tensor)): shape \(expected) expected, \(found) found"
    case .tensor(let name, _, let expected, let found): "tensor \(quoted(name)): \(expected) expected, \(found) found"
    case .unknownTensor(let name, _, let architecture): "tensor \(quoted(name)) belongs to no part of \(architecture)"
    default: nil
    }
  }

  /// The metadata of a GGUF file, or of a safetensors file: numbers and truth values as they are, texts up to 160 characters, arrays by
  /// their kind and length. At most 1024 keys, of
  /// at most 160 characters that can be shown.
  package static func metadata(of checkpoint: Checkpoint) -> JSONObject {
    let pairs =
      checkpoint.gguf?.metadata.lazy.map { (key: $0.key, value: shown($0.value)) }.prefix(keyLimit).map(\.self)
      ?? checkpoint.metadata.prefix(keyLimit).map { (key: $0.key, value: .string(shortened($0.value))) }
    return JSONObject(pairs.filter { quoted($0.key).dropFirst().dropLast() == $0.key })
  }

  /// The number of keys of all metadata.
  package static func keyCount(of checkpoint: Checkpoint) -> Int { checkpoint.gguf?.metadata.count ?? checkpoint.metadata.count }

  private static func shown(_ value: GGUFValue) -> JSONValue {
    if let number = value.int { return .integer(number) }
    if let flag = value.bool { return .bool(flag) }
    if let number = value.double { return number.isFinite ? .number(number) : .string("\(number)") }
    if let text = value.text { return .string(shortened(text)) }
    return .string(value.bytes.map { "\($0.count) bytes that are no UTF-8" } ?? value.kind)
  }

  /// One line, with nothing that a terminal could take for a command.
  private static func shortened(_ text: String) -> String {
    let scalars = text.unicodeScalars.prefix(textLimit).map { scalar -> Character in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned: " "
      default: Character(scalar)
      }
    }
    return String(scalars) + (text.unicodeScalars.count > textLimit ? "…" : "")
  }
}
