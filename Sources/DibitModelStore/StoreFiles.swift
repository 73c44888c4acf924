internal import DibitCheckpoint
public import DibitJSON

/// The names of the files in a model or adapter directory.
public enum StoreFile {
  /// Shape of the model and quantisation block.
  public static let configuration = "config.json"
  /// Weights of a model in one file.
  public static let weights = "model.safetensors"
  /// The tokenizer.
  public static let tokenizer = "tokenizer.json"
  /// What identifies a model or an adapter and where it comes from.
  public static let manifest = "manifest.json"
  /// PEFT's description of an adapter.
  public static let adapterConfiguration = "adapter_config.json"
  /// PEFT's weights of an adapter.
  public static let adapterWeights = "adapter_model.safetensors"
  /// Sketches of the texts that an adapter learnt from.
  public static let trainingTexts = "training_texts.json"
  /// What a model or an adapter is, for people.
  public static let card = "README.md"
  /// What transformers generates with where nothing else is said.
  public static let generationConfiguration = "generation_config.json"
  /// The same as older versions of PEFT wrote it.
  static let adapterPickle = "adapter_model.bin"
  /// What Hugging Face keeps beside a tokenizer: special tokens, chat template.
  public static let tokenizerConfiguration = "tokenizer_config.json"
  /// A chat template in a file of its own.
  public static let chatTemplate = "chat_template.jinja"

  /// Far above any published tokenizer.json, so that a wrong file cannot fill the memory.
  static let largest = 256 << 20
}

/// Reads `name` in `directory` as JSON.
public func readJSON(_ name: String, in directory: String) throws(ModelStoreError) -> JSONValue {
  let path = directory + "/" + name
  let bytes = try readBytes(name, in: directory)
  do throws(JSONError) { return try JSONValue(parsing: bytes) } catch { throw .json(error, path: path) }
}

/// Reads `name` in `directory` whole.
public func readBytes(_ name: String, in directory: String) throws(ModelStoreError) -> [UInt8] {
  do throws(CheckpointError) { return try readFile(directory + "/" + name, limit: StoreFile.largest) } catch { throw .checkpoint(error) }
}
