internal import DibitFiles
package import DibitJSON
package import DibitModel
package import DibitQuantization
package import DibitTokenizer

/// A model directory: `config.json`, safetensors weights and `tokenizer.json`; after conversion also `manifest.json`.
///
/// Packed and 16-bit weights stay in the mapped file; norms are small and become F32.
package struct StoredModel: Sendable {
  /// The directory.
  package let path: String
  /// The content of config.json, actual or translated.
  package let json: JSONValue
  /// The model's shape.
  package let configuration: ModelConfiguration
  /// Its parameters, over the mapped file.
  package let weights: DecoderWeights
  /// Its tokenizer.
  package let tokenizer: Tokenizer
  /// The storage scheme of the tensors; nil for a checkpoint that was not converted.
  package let scheme: QuantizationScheme?
  /// The digest that identifies the converted weights: adapters name it. Nil for a checkpoint that was not converted.
  package let digest: String?
  /// The comparison of the weights with their digest, which goes on; nil where there is none to compare with, or none was asked for.
  package let check: WeightsCheck?

  /// Opens a converted model or a float checkpoint, and begins to compare its weights with the digest in its manifest.
  ///
  /// - Parameter checksWeights: False for measurements, which nothing should run beside.
  package static func open(_ path: String, checksWeights: Bool = true) throws(ModelStoreError) -> StoredModel {
    let source = try ModelSource.open(path)
    let path = source.path
    let check = checksWeights ? WeightsCheck.begin(path) : nil
    let (configuration, weights) = (source.configuration, try source.weights())
    let tokenizer = try TokenizerSource.open(path, vocabularySize: configuration.vocabularySize).tokenizer
    guard tokenizer.vocabularyCount <= configuration.vocabularySize else {
      throw .vocabulary(path: path, tokenizer: tokenizer.vocabularyCount, model: configuration.vocabularySize)
    }
    return StoredModel(
      path: path, json: source.json, configuration: configuration, weights: weights, tokenizer: tokenizer, scheme: source.scheme,
      digest: try digest(in: path, source.scheme), check: check)
  }

  /// Opens a converted model; a plain checkpoint is ``ModelStoreError/notConverted(path:)``.
  package static func openConverted(_ path: String) throws(ModelStoreError) -> StoredModel {
    let model = try open(path)
    guard model.digest != nil else { throw .notConverted(path: path) }
    return model
  }

  /// The name of the model: that of its directory, or "model" where the path ends in none.
  package var name: String { fileName(of: path) ?? "model" }

  /// The decoder that runs these weights.
  package func makeDecoder() -> Decoder { Decoder(configuration, weights: weights) }

  private static func digest(in path: String, _ scheme: QuantizationScheme?) throws(ModelStoreError) -> String? {
    guard scheme != nil else { return nil }
    let manifest = try readJSON(StoreFile.manifest, in: path)
    guard let digest = manifest["digest"]?.string, !digest.isEmpty else {
      throw .malformed(
        path: path + "/" + StoreFile.manifest, key: "digest", expected: "a string", found: manifest["digest"]?.kind ?? "nothing")
    }
    return digest
  }
}
