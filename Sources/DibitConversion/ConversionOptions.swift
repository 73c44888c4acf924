public import DibitQuantization

/// What a conversion should make.
public struct ConversionOptions: Equatable, Sendable {
  public var scheme = QuantizationScheme()
  /// Replaces an existing output.
  public var overwrite = false

  public init() {}
}

/// Progress of a conversion.
public struct ConversionProgress: Equatable, Sendable {
  /// The tensor at work.
  public let tensor: String
  /// Source bytes read so far, and in all.
  public let bytes: Int
  public let totalBytes: Int
}
