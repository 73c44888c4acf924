/// Texts that a model writes after the manner of labelled ones: see ``Model/synthesize(like:options:)``.
public enum Synthesis {
  /// A text that the model wrote.
  public struct Text: Equatable, Sendable, Codable {
    /// The text, in one line.
    public let text: String
    /// The label of the texts that the model had read before it wrote this one. It may suit it, and need not.
    public let label: String
    /// The number of the attempt that brought it, from 0. One brings several texts, or none.
    public let attempt: Int

    /// A text of an attempt.
    package init(text: String, label: String, attempt: Int) { (self.text, self.label, self.attempt) = (text, label, attempt) }
  }

  /// Options for writing texts.
  ///
  /// ```swift
  /// var options = Synthesis.Options()
  /// options.limit = 500
  /// ```
  public struct Options: Equatable, Sendable {
    /// The number of texts to write.
    public var limit = 1000
    /// The divisor of logits: higher is more random.
    public var temperature = 0.9
    /// Only the most likely tokens that reach this probability together are drawn from.
    public var topP = 0.9
    /// The seed of everything random, among it the draw of the validation texts, which the model does not read: that of the training to come.
    public var seed: UInt64 = 0
    /// The column or key of the text, in rows; nil for `text` or a name like it.
    public var textColumn: String?
    /// The column or key of the label, or of a list of labels, in rows; nil for `label` or a name like it.
    public var labelColumn: String?

    /// The defaults.
    ///
    /// ```swift
    /// let options = Synthesis.Options()
    /// ```
    public init() {}

    /// Refuses what no text can be written with.
    package func check() throws(DibitError) {
      try DibitError.check("limit", limit, 1...1_000_000)
      try DibitError.check("temperature", temperature, 0.01...10)
      try DibitError.check("topP", topP, 0.01...1)
    }
  }
}
