/// Options for making an answer. What is nil is left to the model.
///
/// ```swift
/// let options = GenerationOptions(sampling: .random(top: 40, seed: 7), temperature: 0.7, maximumResponseTokens: 200)
/// ```
public struct GenerationOptions: Sendable, Equatable {
  /// The way in which tokens are chosen; nil for the model's own.
  public var sampling: SamplingMode?
  /// The number that logits are divided by: small ones make likely tokens likelier; nil for the model's own.
  public var temperature: Double?
  /// The most tokens that an answer may have. Text is cut there; nil for as many as the context takes.
  public var maximumResponseTokens: Int?
  /// The permission to call tools; nil for the session's own, which allows them.
  public var toolCallingMode: ToolCallingMode?

  /// Options for an answer.
  ///
  /// - Parameters:
  ///   - sampling: The way in which tokens are chosen.
  ///   - temperature: The number that logits are divided by.
  ///   - maximumResponseTokens: The most tokens that an answer may have.
  public init(sampling: SamplingMode? = nil, temperature: Double? = nil, maximumResponseTokens: Int? = nil) {
    self.sampling = sampling
    self.temperature = temperature
    self.maximumResponseTokens = maximumResponseTokens
  }
}

extension GenerationOptions {
  /// The way in which tokens are chosen: another name of ``sampling``.
  public var samplingMode: SamplingMode? {
    get { sampling }
    set { sampling = newValue }
  }

  // Disfavoured, so that calls which name no sampling at all have one meaning.
  /// Options for an answer, by their newer names.
  ///
  /// - Parameters:
  ///   - samplingMode: The way in which tokens are chosen.
  ///   - temperature: The number that logits are divided by.
  ///   - maximumResponseTokens: The most tokens that an answer may have.
  ///   - toolCallingMode: The permission to call tools.
  @_disfavoredOverload
  public init(
    samplingMode: SamplingMode? = nil, temperature: Double? = nil, maximumResponseTokens: Int? = nil,
    toolCallingMode: ToolCallingMode? = nil
  ) {
    self.init(sampling: samplingMode, temperature: temperature, maximumResponseTokens: maximumResponseTokens)
    self.toolCallingMode = toolCallingMode
  }
}
