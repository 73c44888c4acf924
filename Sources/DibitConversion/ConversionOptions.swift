package import DibitQuantization

/// The settings of a conversion.
package struct ConversionOptions: Equatable, Sendable {
  /// The storage scheme of the tensors.
  package var scheme = QuantizationScheme()
  /// The size that the model may have, where single tensors get more bits than the scheme gives them.
  package var budget: SizeBudget?
  /// True to halve the number of scales and to spend their bytes on matrices that bear rounding least, where the source does not lie on the
  /// grid already and is small enough to be measured.
  package var spreads = false
  /// True when the embedding and the output head may get more bits, too.
  package var budgetsTables = true
  /// True when calibration trains the matrices of each layer, once they are rounded, towards what the float layer computes.
  package var trainsLayers = false
  /// A tokenizer file or directory to use instead of the one beside the checkpoint.
  package var tokenizer: String?
  /// Replaces an existing output.
  package var overwrite = false

  /// The defaults of `dibit convert`.
  package init() {}
}

/// The size of a model that is to be used as well as it can.
package enum SizeBudget: Equatable, Sendable {
  /// Bytes of the file of weights.
  case bytes(Int)
  /// Bits for each weight over the whole model, scales and norms included.
  case bitsPerWeight(Double)
  /// As many bytes as the model has where so many weights share a scale.
  case groups(Int)
}

/// Progress of a conversion.
package struct ConversionProgress: Equatable, Sendable {
  /// The stages of a conversion.
  package enum Stage: Equatable, Sendable {
    /// The cost of the rounding of each matrix is measured; the share of the work that is done.
    case measuring(fraction: Double)
    /// Blocks that are rounded by their inputs, of all, and the share of the work that is done.
    case calibrating(layers: Int, totalLayers: Int, fraction: Double)
    /// The tensor at work, and source bytes read so far, of all.
    case writing(tensor: String, bytes: Int, totalBytes: Int)
  }

  /// The stage that is going on, and how far it is.
  package let stage: Stage

  /// The share of the stage that is done, from 0 to 1.
  package var fraction: Double {
    switch stage {
    case .measuring(let fraction), .calibrating(_, _, let fraction): fraction
    case .writing(_, let done, let total): Double(done) / Double(max(1, total))
    }
  }
}
