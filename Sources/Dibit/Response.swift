package import DibitInference

/// A text that a model made.
public struct Response: Equatable, Sendable {
  /// The reason for which a text ended.
  public enum End: String, Equatable, Sendable, CaseIterable {
    /// The model ended it, a stop string did, or the form that was asked for is complete.
    case stop
    /// The most tokens were made, or the model's context is full.
    case length
  }

  /// The text, without the prompt.
  public let text: String
  /// Its tokens. If the text ends at a stop string, they reach to its end and may go a little beyond.
  public let tokens: [Int32]
  /// Tokens of the prompt; in a ``Chat`` those of all that was said before.
  public let promptTokens: Int
  /// Tokens of the prompt that went through the model for this text: all of them, but for those that a ``Chat`` held already.
  public let readTokens: Int
  /// Tokens of the prompt's text that were cut off to fit what an adapter learnt with; 0 otherwise.
  public let truncatedTokens: Int
  /// The reason for which the text ended.
  public let end: End
  /// The stop string at which it ended, if it was one.
  public let stopString: String?

  /// The form of an answer.
  public enum Format: Equatable, Sendable {
    /// Any text that the model says.
    case text
    /// One JSON value, without spaces, that satisfies a JSON Schema: the schema as JSON. No keyword is ignored; one that Dibit does not know
    /// is an error.
    case schema(String)
    /// One of these texts.
    case choices([String])
  }

  /// Options for making a text. The defaults are those of the command line.
  ///
  /// ```swift
  /// var options = Response.Options()
  /// options.temperature = 0.7
  /// options.stopStrings = ["\n\n"]
  /// ```
  public struct Options: Equatable, Sendable {
    private static let generation = GenerationOptions()

    /// The most tokens to make.
    public var maximumTokens = generation.maximumTokens
    /// The number that logits are divided by, from 0 to 100; 0 takes the most likely token each time.
    public var temperature = Double(generation.sampling.temperature)
    /// Chooses among the k most likely tokens; 0 for all.
    public var topK = generation.sampling.topK
    /// Chooses among the most likely tokens that reach this probability together, above 0 and up to 1.
    public var topP = Double(generation.sampling.topP)
    /// Chooses among tokens that are at least this likely compared with the most likely one, from 0 to 1.
    public var minP = Double(generation.sampling.minP)
    /// Divides the logits of recent tokens, and multiplies negative ones, from 0.01 to 100; 1 changes nothing.
    public var repetitionPenalty = Double(generation.sampling.repetitionPenalty)
    /// The number of the last tokens that are recent.
    public var repetitionWindow = generation.sampling.repetitionWindow
    /// The seed of every draw: the same seed gives the same text.
    public var seed = generation.sampling.seed
    /// Texts that end the answer and are not part of it. Only for the format ``Response/Format/text``, which does not end by itself.
    public var stopStrings: [String] = []
    /// The form of the answer. An adapter that tags answers in its own form where this is ``Response/Format/text``.
    public var format = Format.text

    /// The most likely tokens, up to 256 of them.
    ///
    /// ```swift
    /// let options = Response.Options(maximumTokens: 40, format: .choices(["yes", "no"]))
    /// ```
    ///
    /// - Parameters:
    ///   - maximumTokens: The most tokens to make; nil for the default.
    ///   - format: The form of the answer.
    public init(maximumTokens: Int? = nil, format: Format = .text) {
      if let maximumTokens { self.maximumTokens = maximumTokens }
      self.format = format
    }
  }
}

extension Response.Options {
  /// Refuses what no text can be made with.
  package func check() throws(DibitError) {
    func check<Number: Comparable>(_ name: String, _ value: Number, _ isAllowed: Bool, _ expected: String) throws(DibitError) {
      if !isAllowed { throw DibitError(.invalidArgument, option: name, "expected \(expected), found \(value)") }
    }
    try check("maximumTokens", maximumTokens, maximumTokens >= 1, "at least 1")
    try check("temperature", temperature, (0...100).contains(temperature), "a number from 0 to 100")
    try check("topK", topK, topK >= 0, "0 or more")
    try check("topP", topP, topP > 0 && topP <= 1, "a number above 0 and up to 1")
    try check("minP", minP, (0...1).contains(minP), "a number from 0 to 1")
    try check("repetitionPenalty", repetitionPenalty, (0.01...100).contains(repetitionPenalty), "a number from 0.01 to 100")
    try check("repetitionWindow", repetitionWindow, repetitionWindow >= 0, "0 or more")
    guard stopStrings.isEmpty || format == .text else {
      throw DibitError(.invalidArgument, option: "stopStrings", "expected none beside a format, which ends the answer itself")
    }
    guard !stopStrings.contains("") else { throw DibitError(.invalidArgument, option: "stopStrings", "expected some text, found none") }
  }

  /// Returns the options that an engine takes.
  package func engineOptions(stopTokens: Set<Int32>) throws(DibitError) -> GenerationOptions {
    try check()
    var options = GenerationOptions()
    (options.maximumTokens, options.stopStrings, options.stopTokens) = (maximumTokens, stopStrings, stopTokens)
    options.sampling.temperature = Float(temperature)
    (options.sampling.topK, options.sampling.topP, options.sampling.minP) = (topK, Float(topP), Float(minP))
    options.sampling.repetitionPenalty = Float(repetitionPenalty)
    (options.sampling.repetitionWindow, options.sampling.seed) = (repetitionWindow, seed)
    return options
  }
}
