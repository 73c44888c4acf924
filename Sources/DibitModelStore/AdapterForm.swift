internal import DibitFiles
package import DibitJSON

/// The forms in which an adapter lies on a disk, called after the tools that read them.
package enum AdapterForm: String, Sendable {
  case peft = "PEFT"
  case mlx = "mlx-lm"
  case gguf = "llama.cpp"

  /// The form of what lies at `path`; nil where that is no adapter.
  package init?(_ path: String) {
    if isRegularFile(path + "/" + MLXAdapter.weights) {
      self = .mlx
    } else if isRegularFile(path + "/" + StoreFile.adapterConfiguration) || isRegularFile(path + "/" + StoreFile.adapterWeights) {
      self = .peft
    } else if GGUFAdapter.recognises(path) {
      self = .gguf
    } else {
      return nil
    }
  }

  /// The file that holds the matrices.
  package func weights(of path: String) -> String {
    switch self {
    case .peft:
      let names = [StoreFile.adapterWeights, StoreFile.adapterPickle]
      return path + "/" + (names.first { isRegularFile(path + "/" + $0) } ?? StoreFile.adapterWeights)
    case .mlx: return path + "/" + MLXAdapter.weights
    case .gguf: return path
    }
  }

  /// Returns rank, scale, layers and base from its files, under PEFT's names and mlx-lm's `scale`.
  package func configuration(of path: String) throws(ModelStoreError) -> JSONObject {
    if self == .gguf { return try GGUFAdapter.configuration(path) }
    let json = try readJSON(StoreFile.adapterConfiguration, in: path)
    if self == .peft {
      let keys = ["r", "lora_alpha", "use_rslora", "use_dora", "target_modules", "base_model_name_or_path"]
      return JSONObject(keys.map { (key: $0, value: json[$0] ?? .null) })
    }
    let parameters = json["lora_parameters"]
    return JSONObject([
      (key: "r", value: parameters?["rank"] ?? .null), (key: "scale", value: parameters?["scale"] ?? .null),
      (key: "target_modules", value: parameters?["keys"] ?? .null),
    ])
  }
}
