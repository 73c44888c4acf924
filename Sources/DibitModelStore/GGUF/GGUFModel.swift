package import DibitCheckpoint
package import DibitFiles
internal import DibitJSON
internal import DibitTensor

/// Models in GGUF files: llama.cpp's names, hyper-parameters and layouts in Hugging Face terms.
package enum GGUFModel {
  /// The key of a translated config.json with what to add to the weights of norms; 0 where a Gemma file stores them with the one added.
  package static let normOffsetKey = "dibit_norm_offset"
  /// The key of a translated config.json with the numbers that divide the rotary frequencies: `rope_freqs.weight`.
  package static let frequencyFactorsKey = "dibit_rope_frequency_factors"

  /// The key, near the start, that tells files of Dibit from those of others, with its value.
  static let writer: (key: String, value: GGUFValue) = (key: "dibit.export", value: .text("dibit"))
  /// The mark that a GGUF file must bear for another export to replace it.
  package static let mark = OutputMark("a GGUF file", text: writer.key)

  /// The config.json and the tensors of the model that `file` holds.
  ///
  /// Weights are those of the Hugging Face checkpoint bit for bit, as far as their types kept them; only order and names change. Two things
  /// cannot be told from a file and get keys of their own: the norms of Gemma include the one that transformers adds
  /// (``normOffsetKey``), and the Llama 3 rotary scaling is a list of factors (``frequencyFactorsKey``). An `output.weight` that is the
  /// embedding byte by byte counts as tied.
  ///
  /// With `inRows`, matrices have a row for each output and fused heads lie apart, as the decoder wants them and llama.cpp stores them,
  /// also where Hugging Face's GPT-2 and GPT-NeoX do not.
  ///
  /// - Throws: ``GGUFModelError`` naming the architecture, key or tensor that is not understood.
  package static func translate(_ file: GGUFFile, inRows: Bool = false) throws(GGUFModelError) -> ModelTranslation {
    guard let value = file["general.architecture"] else { throw .missingKey("general.architecture") }
    guard let name = value.text else { throw .value(key: "general.architecture", expected: "a string", found: value.kind) }
    guard var architecture = GGUFArchitecture.all.first(where: { $0.name == name }) else {
      throw .architecture(name, known: known)
    }
    // Windows are what llama.cpp's llama has for mistral.
    if name == "llama", file["llama.attention.sliding_window"]?.int ?? 0 > 0,
      let mistral = GGUFArchitecture.all.first(where: { $0.family == "mistral" })
    {
      architecture = mistral
    }
    var reader = GGUFConfiguration(file, architecture)
    let (configuration, heads, layers) = try reader.configuration()
    let names = architecture.tensors(layers: layers) { $0.gguf }
    let tied = try isTied(file)
    var views: [TensorView] = []
    for tensor in file.tensors {
      if GGUFConfiguration.tables.contains(tensor.name) || tied && tensor.name == "output.weight" { continue }
      guard let entry = names[Array(tensor.name.utf8)] else { throw .unknownTensor(tensor.name, architecture: name) }
      let layout = inRows && (entry.layout == .transposed || entry.layout == .separateHeads) ? .same : entry.layout
      guard let view = layout.view(entry.hugging, from: tensor.name, shape: tensor.shape, heads: heads, toHugging: true) else {
        throw .shape(tensor: tensor.name, expected: "rows of whole heads", found: tensor.shape)
      }
      views.append(view)
    }
    var object = configuration.object ?? JSONObject()
    object["tie_word_embeddings"] = .bool(tied)
    return ModelTranslation(configuration: .object(object), views: views)
  }

  /// The values that `general.architecture` may have.
  static var known: [String] {
    var names: [String] = []
    for architecture in GGUFArchitecture.all where names.last != architecture.name { names.append(architecture.name) }
    return names
  }

  /// Checks that logits use the embedding: there is no `output.weight`, or it repeats the embedding.
  private static func isTied(_ file: GGUFFile) throws(GGUFModelError) -> Bool {
    guard let embedding = file.tensor("token_embd.weight") else { throw .missingTensor("token_embd.weight") }
    guard let output = file.tensor("output.weight") else { return true }
    guard output.type == embedding.type, output.shape == embedding.shape else { return false }
    let (one, other) = (file.bytes(of: output), file.bytes(of: embedding))
    let (left, right) = (one.bytes, other.bytes)
    for index in left.indices where left[index] != right[index] { return false }
    return true
  }
}
