internal import Dibit

extension LanguageModelSession {
  /// Tokens of a turn, or of a session.
  public struct Usage: Sendable {
    /// Tokens that the model had before it, all rounds of tools together.
    public struct Input: Sendable {
      /// All of them.
      public var totalTokenCount: Int
      /// The number of these that the model had read before: they cost nothing again.
      public var cachedTokenCount: Int

      /// Counts of tokens.
      ///
      /// - Parameters:
      ///   - totalTokenCount: All of them.
      ///   - cachedTokenCount: The number of these that had been read before.
      public init(totalTokenCount: Int, cachedTokenCount: Int) {
        self.totalTokenCount = totalTokenCount
        self.cachedTokenCount = cachedTokenCount
      }
    }

    /// Tokens that the model made, those of calls among them.
    public struct Output: Sendable {
      /// All of them.
      public var totalTokenCount: Int
      /// The number of these that were thoughts: 0 for models that run here, which answer at once.
      public var reasoningTokenCount: Int

      /// Counts of tokens.
      ///
      /// - Parameters:
      ///   - totalTokenCount: All of them.
      ///   - reasoningTokenCount: The number of these that were thoughts.
      public init(totalTokenCount: Int, reasoningTokenCount: Int) {
        self.totalTokenCount = totalTokenCount
        self.reasoningTokenCount = reasoningTokenCount
      }
    }

    /// Tokens that the model had before it.
    public var input: Input
    /// Tokens that the model made.
    public var output: Output
    /// Values that somebody wants to keep with the counts.
    public var metadata: [String: GeneratedContent]

    /// Counts of tokens.
    ///
    /// - Parameters:
    ///   - input: Tokens that the model had before it.
    ///   - output: Tokens that the model made.
    ///   - metadata: Values that somebody wants to keep with the counts.
    public init(input: Input, output: Output, metadata: [String: any ConvertibleToGeneratedContent] = [:]) {
      self.input = input
      self.output = output
      self.metadata = metadata.contents
    }

    /// Tokens that went in and out.
    public var totalTokenCount: Int { input.totalTokenCount + output.totalTokenCount }

    /// The counts of a step of the runtime, or nothing.
    init(_ counts: DialogueCounts = DialogueCounts()) {
      self.init(
        input: Input(totalTokenCount: counts.prompt, cachedTokenCount: max(0, counts.prompt - counts.read)),
        output: Output(totalTokenCount: counts.made, reasoningTokenCount: 0))
    }

    mutating func add(_ other: Usage) {
      input.totalTokenCount += other.input.totalTokenCount
      input.cachedTokenCount += other.input.cachedTokenCount
      output.totalTokenCount += other.output.totalTokenCount
      output.reasoningTokenCount += other.output.reasoningTokenCount
      metadata.merge(other.metadata) { _, new in new }
    }
  }
}
