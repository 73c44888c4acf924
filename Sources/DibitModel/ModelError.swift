/// The reasons for which a configuration or a set of tensors is not a model that Dibit can run.
package enum ModelError: Error, Equatable, Sendable {
  case missingKey(String)
  case invalidValue(key: String, expected: String, found: String)
  case unknownArchitecture(String, known: [String])
  case unsupported(key: String, value: String, supported: String)
  case missingTensor(String)
  case shapeMismatch(tensor: String, expected: [Int], found: [Int])
  case adapterTargetUnknown(String)
}

extension ModelError: CustomStringConvertible {
  /// One sentence: which key or tensor, what was expected and found.
  package var description: String {
    switch self {
    case .missingKey(let key): "config.json: the key '\(key)' is missing"
    case .invalidValue(let key, let expected, let found): "config.json: '\(key)': expected \(expected), found \(found)"
    case .unknownArchitecture(let name, let known):
      "config.json: the architecture '\(name)' is not supported; supported are \(known.joined(separator: ", "))"
    case .unsupported(let key, let value, let supported):
      "config.json: '\(key)' is \(value), which is not supported; supported is \(supported)"
    case .missingTensor(let name): "tensor '\(name)' is missing"
    case .shapeMismatch(let tensor, let expected, let found): "tensor '\(tensor)': shape \(expected) expected, \(found) found"
    case .adapterTargetUnknown(let name): "adapter tensor '\(name)' belongs to no linear layer of this model"
    }
  }
}
