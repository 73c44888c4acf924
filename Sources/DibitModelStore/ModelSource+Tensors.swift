internal import DibitCheckpoint
internal import DibitModel
internal import DibitQuantization

extension ModelSource {
  /// Buffers that some checkpoints carry and that the configuration already determines.
  private static let derivedSuffixes = [
    ".rotary_emb.inv_freq", ".attn.masked_bias", ".attn.bias", ".attention.masked_bias", ".attention.bias",
  ]

  /// The tensors of an unconverted source that its architecture has no parameter for: what they mean would be lost.
  package var unknownTensors: [String] {
    let (parameters, scales) = DecoderWeights.declarations(of: configuration)
    var known = Set(parameters.map(\.name.tensor) + scales)
    // A tied head may be written out; it repeats the embedding.
    if configuration.tiesEmbeddings {
      let head = ParameterNames(configuration).head
      known.formUnion([head.tensor] + head.alternatives)
    }
    return checkpoint.tensorNames.filter { name in
      if known.contains(name) || Self.derivedSuffixes.contains(where: { name.hasSuffix($0) }) { return false }
      return !name.hasSuffix(StretchedElastic.suffix) || !known.contains(String(name.dropLast(StretchedElastic.suffix.count)))
    }
  }

  /// Checks that running the weights as they are stored leaves nothing out.
  func checkThatNothingIsLeftOut() throws(ModelStoreError) {
    guard scheme == nil else { return }
    if let unknown = unknownTensors.first { throw .unknownTensor(unknown, path: path, architecture: configuration.family.rawValue) }
    if let trained = checkpoint.tensorNames.first(where: { $0.hasSuffix(StretchedElastic.suffix) }) {
      throw .trainedScales(tensor: trained, path: path)
    }
  }
}
