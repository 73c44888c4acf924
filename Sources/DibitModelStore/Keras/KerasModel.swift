package import DibitCheckpoint
package import DibitJSON

/// Models as KerasHub keeps them: `config.json` with a backbone's class and arguments, `model.weights.h5` with its variables.
///
/// Rotary embeddings need no change: KerasHub rotates halves of a head as Hugging Face does (Gemma then interleaves them, but queries and
/// keys alike, which no dot product sees). Norms of Gemma are stored as `w` of `1 + w` in both.
package enum KerasModel {
  /// Checks that `configuration` is a KerasHub config.json, and not one of Hugging Face.
  package static func recognises(_ configuration: JSONValue) -> Bool {
    configuration["model_type"] == nil && configuration["class_name"]?.string != nil && configuration["config"]?.object != nil
  }

  /// The model of a KerasHub preset in Hugging Face terms.
  ///
  /// Known are the backbones of Llama (also Llama 3), Mistral and Gemma (1 and 2), by themselves or within a causal language model.
  /// `tensors` are the datasets of the preset's HDF5 files; each of them must belong to a variable of the model, and each variable have a dataset of
  /// the right shape. Keras knows no longest context; `max_position_embeddings` becomes what such models are trained with.
  ///
  /// - Parameter path: the directory, for messages.
  /// - Throws: ``ModelStoreError`` for another architecture, an argument that would change the numbers in a way that Hugging Face's
  ///   models cannot express, and for missing, unknown or misshapen tensors.
  package static func translate(_ configuration: JSONValue, tensors: [StoredTensor], path: String) throws(ModelStoreError)
    -> ModelTranslation
  {
    let backbone = try KerasBackbone(configuration, path: path)
    guard backbone.sizes.layers <= tensors.count else {
      throw .malformed(
        path: path, key: "num_layers", expected: "layers for the \(tensors.count) tensors", found: "\(backbone.sizes.layers)")
    }
    var table = try KerasTensors(tensors, family: backbone.family, path: path)
    let model = try backbone.configuration(tied: !table.hasReverseEmbedding)
    let views =
      switch backbone.family {
      case .llama, .mistral: try table.llama(backbone.sizes, tied: !table.hasReverseEmbedding)
      case .gemma: try table.gemma(backbone.sizes, postNorms: backbone.hasPostNorms)
      }
    try table.requireAllTaken()
    return ModelTranslation(configuration: model, views: views)
  }
}

/// The families of backbones.
enum KerasFamily: String {
  case llama, mistral, gemma

  /// The family of a backbone's class.
  init?(backbone: String) {
    switch backbone {
    case "LlamaBackbone", "Llama3Backbone": self = .llama
    case "MistralBackbone": self = .mistral
    case "GemmaBackbone": self = .gemma
    default: return nil
    }
  }
}

/// The sizes of a backbone.
struct KerasSizes: Equatable {
  let vocabulary: Int
  let hidden: Int
  /// The width of the feed-forward network between its two matrices.
  let feedForward: Int
  let layers: Int
  let heads: Int
  let keyValueHeads: Int
  let head: Int
}
