public import DibitQuantization

/// What a conversion should make.
public struct ConversionOptions: Equatable, Sendable {
  /// How the tensors are stored.
  public var scheme = QuantizationScheme()
  /// A tokenizer file or directory to use instead of the one beside the checkpoint.
  public var tokenizer: String?
  /// Replaces an existing output.
  public var overwrite = false

  /// The defaults of `dibit convert`.
  public init() {}
}

/// Progress of a conversion.
public struct ConversionProgress: Equatable, Sendable {
  /// The tensor at work.
  public let tensor: String
  /// Source bytes read so far, and in all.
  public let bytes: Int
  /// Source bytes in all.
  public let totalBytes: Int
}
