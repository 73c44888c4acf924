/// The reasons for which a GGUF file is no model that Dibit knows, or a model cannot be written as one.
package enum GGUFModelError: Error, Equatable, Sendable {
  case missingKey(String)
  case value(key: String, expected: String, found: String)
  case architecture(String, known: [String])
  case unknownKey(String, found: String)
  case unknownTensor(String, architecture: String)
  case shape(tensor: String, expected: String, found: [Int])
  case missingTensor(String)
  /// The family has no architecture in llama.cpp, or none with this setting.
  case notExportable(String)
}

extension GGUFModelError: CustomStringConvertible {
  /// The fault in words, without the name of the file.
  package var description: String {
    switch self {
    case .missingKey(let key): "the key '\(shortened(key))' is missing"
    case .value(let key, let expected, let found): "key '\(shortened(key))': \(expected) expected, \(found) found"
    case .architecture(let name, let known):
      "general.architecture '\(shortened(name))' is not supported; supported are \(known.joined(separator: ", "))"
    case .unknownKey(let key, let found): "key '\(shortened(key))' is \(found): models with this setting are not supported"
    case .unknownTensor(let name, let architecture): "tensor '\(shortened(name))' is not known in '\(architecture)' models"
    case .shape(let tensor, let expected, let found): "tensor '\(shortened(tensor))': \(expected) expected, shape \(found) found"
    case .missingTensor(let name): "there is no tensor '\(shortened(name))'"
    case .notExportable(let reason): "cannot be written as GGUF: \(reason)"
    }
  }
}

/// At most 160 characters, without control characters.
private func shortened(_ text: String) -> String {
  let visible = text.unicodeScalars.prefix(160).map { $0.properties.generalCategory == .control ? "?" : Character($0) }
  return String(visible) + (text.unicodeScalars.count > 160 ? "…" : "")
}
