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
  /// The tensor at work.
  package let tensor: String
  /// Source bytes read so far, and in all.
  package let bytes: Int
  /// Source bytes in all.
  package let totalBytes: Int
}
