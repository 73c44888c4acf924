internal import DibitFailure
internal import DibitCheckpoint
internal import DibitFiles
package import DibitJSON

/// The names of the files in a model or adapter directory.
package enum StoreFile {
  /// Shape of the model and quantisation block.
  package static let configuration = "config.json"
  /// Weights of a model in one file.
  package static let weights = "model.safetensors"
  /// The tokenizer.
  package static let tokenizer = "tokenizer.json"
  /// The identity of a model or an adapter and its origin.
  package static let manifest = "manifest.json"
  /// PEFT's description of an adapter.
  package static let adapterConfiguration = "adapter_config.json"
  /// PEFT's weights of an adapter.
  package static let adapterWeights = "adapter_model.safetensors"
  /// Sketches of the texts that an adapter learnt from.
  package static let trainingTexts = "training_texts.json"
  /// The classifier of words that has a share in an adapter's answers.
  package static let words = "words.safetensors"
  /// The description of a model or an adapter, for people.
  package static let card = "README.md"
  /// The description of an adapter that is a package for apps.
  package static let packageMetadata = "metadata.json"
  /// The events of the training that made a model or an adapter.
  package static let eventLog = "events.jsonl"
  /// The whole recipe that an adapter was trained with.
  package static let recipe = "recipe.yaml"
  /// The chart of the losses of a training.
  package static let lossChart = "loss.svg"
  /// The settings with which transformers generates where nothing else is said.
  package static let generationConfiguration = "generation_config.json"
  /// The same as older versions of PEFT wrote it.
  static let adapterPickle = "adapter_model.bin"
  /// The settings that Hugging Face keeps beside a tokenizer: special tokens, chat template.
  package static let tokenizerConfiguration = "tokenizer_config.json"
  /// A chat template in a file of its own.
  package static let chatTemplate = "chat_template.jinja"

  /// Far above any published tokenizer.json, so that a wrong file cannot fill the memory.
  static let largest = 256 << 20
}

/// Reads `name` in `directory` as JSON.
package func readJSON(_ name: String, in directory: String) throws(ModelStoreError) -> JSONValue {
  let path = directory + "/" + name
  let bytes = try readBytes(name, in: directory)
  return try rethrow(as: ModelStoreError.json, at: path, JSONValue(parsing: bytes))
}

/// Reads `name` in `directory` whole.
package func readBytes(_ name: String, in directory: String) throws(ModelStoreError) -> [UInt8] {
  try rethrow(as: ModelStoreError.file, readFile(directory + "/" + name, limit: StoreFile.largest))
}

/// Opens a GGUF file.
func ggufFile(_ path: String) throws(ModelStoreError) -> GGUFFile {
  let file = try rethrow(as: ModelStoreError.file, MappedFile(path: path))
  return try rethrow(as: ModelStoreError.checkpoint, GGUFFile(file.bytes, file: path))
}
