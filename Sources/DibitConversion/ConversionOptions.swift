package import DibitQuantization

/// The settings of a conversion.
package struct ConversionOptions: Equatable, Sendable {
  /// The storage scheme of the tensors.
  package var scheme = QuantizationScheme()
  /// A tokenizer file or directory to use instead of the one beside the checkpoint.
  package var tokenizer: String?
  /// Replaces an existing output.
  package var overwrite = false

  /// The defaults of `dibit convert`.
  package init() {}
}

/// Progress of a conversion.
package struct ConversionProgress: Equatable, Sendable {
  /// The stages of a conversion.
  package enum Stage: Equatable, Sendable {
    /// Blocks that are rounded by their inputs, of all.
    case calibrating(layers: Int, totalLayers: Int)
    /// The tensor at work, and source bytes read so far, of all.
    case writing(tensor: String, bytes: Int, totalBytes: Int)
  }

  /// The stage that is going on, and how far it is.
  package let stage: Stage

  /// The share of the stage that is done, from 0 to 1.
  package var fraction: Double {
    switch stage {
    case .calibrating(let done, let total), .writing(_, let done, let total): Double(done) / Double(max(1, total))
    }
  }
}
