package import DibitCheckpoint
package import DibitJSON

/// The content with which a model is written as a GGUF file that llama.cpp loads; the tokenizer's keys are added by others.
package struct GGUFExport: Equatable, Sendable {
  /// A key with its value.
  package struct Pair: Equatable, Sendable {
    /// The key, with the name of the architecture.
    package let key: String
    /// Its value.
    package let value: GGUFValue
  }

  /// A tensor that Hugging Face checkpoints do not have.
  package struct Table: Equatable, Sendable {
    /// The name in the GGUF file.
    package let name: String
    /// The elements, to be written as F32.
    package let values: [Float]
  }

  /// The hyper-parameters, `general.architecture` first.
  package let metadata: [Pair]
  /// Every tensor: ``TensorView/name`` is llama.cpp's, ``TensorView/source`` Hugging Face's, the order is llama.cpp's.
  package let views: [TensorView]
  /// llama.cpp's names of norms whose elements must be stored as one more than they are.
  package let normsToRaise: [String]
  /// Tables of the rotary embedding.
  package let tables: [Table]
}

extension GGUFModel {
  /// Checks that llama.cpp has an architecture for models of this `model_type`.
  package static func knows(_ family: String) -> Bool { GGUFArchitecture.all.contains { $0.family == family } }

  /// Returns the content to write for a model with this config.json and these tensors: the inverse of ``translate(_:)``.
  ///
  /// With `inRows`, the tensors have a row for each output and fused heads lie apart, as ``ModelSource`` gives them.
  ///
  /// - Throws: ``GGUFModelError`` when llama.cpp has no such architecture (afm7), or a key or tensor has no equivalent in the format.
  package static func export(configuration: JSONValue, tensors: [(name: String, shape: [Int])], inRows: Bool = false) throws(GGUFModelError)
    -> GGUFExport
  {
    guard let family = configuration["model_type"]?.string else { throw .missingKey("model_type") }
    guard let architecture = GGUFArchitecture.all.first(where: { $0.family == family }) else {
      throw .notExportable("llama.cpp has no architecture for model_type '\(family)': write it as safetensors, which mlx-lm reads")
    }
    var writer = GGUFParameters(configuration, architecture)
    let (metadata, tables, heads, layers) = try writer.parameters()
    let names = architecture.tensors(layers: layers) { $0.hugging }
    var (views, norms): ([TensorView], [String]) = ([], [])
    for (name, shape) in tensors {
      guard let entry = names[Array(name.utf8)] else { throw .unknownTensor(name, architecture: architecture.name) }
      let layout = inRows && (entry.layout == .transposed || entry.layout == .separateHeads) ? .same : entry.layout
      guard let view = layout.view(entry.gguf, from: name, shape: shape, heads: heads, toHugging: false) else {
        throw .shape(tensor: name, expected: "rows of whole heads", found: shape)
      }
      views.append(view)
      if architecture.addsOneToNorms, entry.gguf.hasSuffix("norm.weight"), configuration[normOffsetKey]?.double != 0 {
        norms.append(entry.gguf)
      }
    }
    return GGUFExport(metadata: metadata, views: views, normsToRaise: norms, tables: tables)
  }
}
