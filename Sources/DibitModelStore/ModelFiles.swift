internal import DibitCheckpoint
package import DibitFiles
package import DibitJSON
package import DibitQuantization

/// The small files of a model directory, written beside its weights.
package struct ModelFiles: Sendable {
  static let format = "dibit-model"
  /// The mark that an existing directory must bear for a converted model to replace it.
  package static let mark = DirectoryMark(
    format: format,
    files: [
      StoreFile.configuration, StoreFile.weights, StoreFile.tokenizer, StoreFile.tokenizerConfiguration, StoreFile.manifest, StoreFile.card,
      StoreFile.eventLog, StoreFile.lossChart,
    ])
  private static let version = 1

  /// The source's config.json.
  package let configuration: JSONValue
  /// The storage scheme of the tensors.
  package let scheme: QuantizationScheme
  /// The bytes of tokenizer.json.
  package let tokenizer: [UInt8]
  /// The chat settings of the source, kept as tokenizer_config.json; nil where it has none.
  package let chat: JSONValue?
  /// SHA-256 of model.safetensors.
  package let weightsDigest: String
  /// The origin of the weights, for the manifest, which keeps the training of them under it.
  package let source: JSONValue

  /// The languages that the makers of the source name, as BCP 47 tags.
  package var languages: [String] = []

  /// The files beside finished weights.
  package init(
    configuration: JSONValue, scheme: QuantizationScheme, tokenizer: [UInt8], chat: JSONValue? = nil, weightsDigest: String,
    source: JSONValue
  ) {
    self.configuration = configuration
    self.scheme = scheme
    self.tokenizer = tokenizer
    self.chat = chat
    self.weightsDigest = weightsDigest
    self.source = source
  }

  /// The tensor that holds the scales of a packed tensor.
  package static func scalesName(_ tensor: String) -> String { tensor + ".scales" }

  /// Writes config.json, tokenizer.json and manifest.json; returns the model's digest, which covers all that changes its output.
  package func write(into directory: borrowing StagedDirectory) throws(ModelStoreError) -> String {
    var configuration = configuration.object ?? JSONObject()
    configuration[QuantizationScheme.key] = scheme.json
    let text = JSONValue.object(configuration).serialized(pretty: true) + "\n"
    let chatText = chat.map { $0.serialized(pretty: true) + "\n" }
    let digest = Self.digest(
      weights: weightsDigest, configuration: Array(text.utf8), tokenizer: tokenizer, chat: chatText.map { Array($0.utf8) })
    var members: [(key: String, value: JSONValue)] = [
      ("format", .string(Self.format)), ("version", .integer(Self.version)), ("digest", .string(digest)),
      ("weights_sha256", .string(weightsDigest)), ("source", source),
    ]
    if !languages.isEmpty { members.append(("languages", .array(languages.map { .string($0) }))) }
    let manifest = JSONValue.object(JSONObject(members))
    do throws(FileError) {
      try directory.write(text, to: StoreFile.configuration)
      try directory.write(tokenizer, to: StoreFile.tokenizer)
      if let chatText { try directory.write(chatText, to: StoreFile.tokenizerConfiguration) }
      try directory.write(manifest.serialized(pretty: true) + "\n", to: StoreFile.manifest)
    } catch { throw .file(error) }
    return digest
  }

  /// The digest over all that changes a model's output.
  private static func digest(weights: String, configuration: [UInt8], tokenizer: [UInt8], chat: [UInt8]?) -> String {
    var parts = ["weights \(weights)", "config \(SHA256.digest(configuration))", "tokenizer \(SHA256.digest(tokenizer))"]
    if let chat { parts.append("chat \(SHA256.digest(chat))") }
    return SHA256.digest(Array(parts.joined(separator: "\n").utf8))
  }

  /// The same of the files of a directory, as they are now; `weights` is the digest of its weights.
  static func digest(of directory: String, weights: String) throws(ModelStoreError) -> String {
    let hasChat = isRegularFile(directory + "/" + StoreFile.tokenizerConfiguration)
    return digest(
      weights: weights, configuration: try readBytes(StoreFile.configuration, in: directory),
      tokenizer: try readBytes(StoreFile.tokenizer, in: directory),
      chat: hasChat ? try readBytes(StoreFile.tokenizerConfiguration, in: directory) : nil)
  }
}
