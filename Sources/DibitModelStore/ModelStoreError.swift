package import DibitCheckpoint
package import DibitFailure
package import DibitFiles
package import DibitJSON
package import DibitModel
package import DibitTokenizer

/// The reasons for which a model or adapter directory cannot be used.
package enum ModelStoreError: EngineError, Equatable {
  case file(FileError)
  case checkpoint(CheckpointError)
  case model(ModelError, path: String)
  case quantization(QuantizationError, path: String)
  case tokenizer(TokenizerError, path: String)
  case json(JSONError, path: String)
  case malformed(path: String, key: String, expected: String, found: String)
  case notConverted(path: String)
  case vocabulary(path: String, tokenizer: Int, model: Int)
  case tensor(String, path: String, expected: String, found: String)
  case notFinite(tensor: String, path: String, index: Int)
  case damaged(path: String, expected: String, found: String)
  case damagedFiles(path: String, expected: String, found: String)
  case otherBase(adapter: String, expected: String, found: String)
  case gguf(GGUFModelError, path: String)
  case noTokenizer(path: String)
  case unknownTensor(String, path: String, architecture: String)
  case trainedScales(tensor: String, path: String)
  case chatTemplate(String, path: String)
  case unsupportedAdapter(path: String, key: String, value: String)
  /// An adapter where a model was expected; a foreign one is that of another tool.
  case isAdapter(path: String, isForeign: Bool)
  /// The checkpoints of a training where a model was expected.
  case isNoModel(path: String)
  /// Another tool's adapter where one of Dibit was expected.
  case isForeignAdapter(path: String)
  case isNoAdapter(path: String, found: String)
  /// The weights file of an adapter, where the adapter was expected.
  case isPart(path: String, owner: String)
  case adapterSum(String, path: String)
}

extension ModelStoreError {
  /// One sentence: what, where, what was expected and found, and what to do.
  package var description: String {
    switch self {
    case .file(let error): "\(error)"
    case .checkpoint(let error): "\(error)"
    case .model(let error, let path): "'\(path)': \(error)"
    case .quantization(let error, let path): "'\(path)': \(error)"
    case .tokenizer(let error, let path): "'\(path)': \(error)"
    case .json(let error, let path): "'\(path)': \(error)"
    case .malformed(let path, let key, let expected, let found): "'\(path)': '\(key)': expected \(expected), found \(found)"
    case .notConverted(let path):
      "'\(path)' is a checkpoint, not a converted model"
    case .vocabulary(let path, let tokenizer, let model):
      "'\(path)': tokenizer.json has ids up to \(tokenizer - 1), but the model's vocabulary has \(model) entries"
    case .tensor(let name, let path, let expected, let found): "'\(path)': tensor '\(name)': expected \(expected), found \(found)"
    case .notFinite(let tensor, let path, let index):
      "'\(path)': tensor '\(tensor)': element \(index) is not a finite number; the checkpoint is damaged"
    case .damaged(let path, let expected, let found):
      "'\(path)' was damaged or changed: SHA-256 \(expected.prefix(12)) expected from the manifest, \(found.prefix(12)) found; "
        + "make it again, or restore it"
    case .damagedFiles(let path, let expected, let found):
      "'\(path)': config.json, tokenizer.json or tokenizer_config.json was damaged or changed: digest \(expected.prefix(12)) expected from "
        + "the manifest, \(found.prefix(12)) found; make it again, or restore it"
    case .otherBase(let adapter, let expected, let found):
      "adapter '\(adapter)' was trained on the base model \(expected.prefix(12)), not on this one (\(found.prefix(12))): use that model, or train again"
    case .gguf(let error, let path): "'\(path)': \(error)"
    case .noTokenizer(let path):
      "'\(path)': no tokenizer.json, tokenizer.model or tokenizer.bin there"
    case .unknownTensor(let name, let path, let architecture): "'\(path)': tensor '\(name)' belongs to no part of \(architecture)"
    case .trainedScales(let tensor, let path):
      "'\(path)': tensor '\(tensor)' holds trained scales, with which the weights must be rounded first"
    case .chatTemplate(let reason, let path): "'\(path)': chat template: \(reason)"
    case .isAdapter(let path, _): "'\(path)' is an adapter, a model expected: name the model that it belongs to"
    case .isNoModel(let path):
      "'\(path)' holds the checkpoints of a training that was stopped, a model expected: the same training with \(optionName("resume")) finishes it"
    case .isForeignAdapter(let path): "'\(path)' is an adapter of another tool"
    case .isNoAdapter(let path, let found): "'\(path)' is no adapter: the output of 'dibit train' expected, \(found) found"
    case .isPart(let path, let owner): "'\(path)' is a part of the adapter '\(owner)': name that directory"
    case .unsupportedAdapter(let path, let key, let value): "'\(path)': adapter_config.json: '\(key)' is \(value), which is not supported"
    case .adapterSum(let reason, let path): "adapter '\(path)': \(reason)"
    }
  }

  /// The kind of failure.
  package var kind: FailureKind {
    switch self {
    case .file(let error): error.kind
    case .checkpoint(let error): error.kind
    case .noTokenizer: .notFound
    default: .badData
    }
  }

  /// The failure of a file or of a checkpoint.
  package var cause: (any EngineError)? {
    switch self {
    case .file(let error): error
    case .checkpoint(let error): error
    default: nil
    }
  }
}
