internal import DibitDataset
public import DibitInference
public import DibitKernels
public import DibitTokenizer

/// The vectors that a frozen model makes of texts, for baselines that learn from them: a row of ``TextEmbedder/size`` floats for each.
public struct TextFeatures: ~Copyable {
  /// What the texts are cut to, and what of them.
  public let cut: TextShortening
  private let tokenizer: Tokenizer
  private let beginning: [Int32]
  private var embedder: TextEmbedder

  /// Features of texts without any prompt, of up to `maximumTokens` tokens each; by default as many as the model allows.
  public init(
    _ model: MeasuredModel, tokenizer: Tokenizer, pooling: Pooling = .mean, maximumTokens: Int? = nil, cut: TextShortening = .tail,
    rows: Int = 512,
    on compute: Compute
  ) {
    self.cut = cut
    self.tokenizer = tokenizer
    beginning = ChatTemplate(tokenizer).prompt([], tokenizer: tokenizer).tokens
    embedder = TextEmbedder(model, pooling: pooling, context: maximumTokens, rows: rows, on: compute)
  }

  /// Elements of a row.
  public var size: Int { embedder.size }

  /// A row for each text, in order. An empty text of a tokenizer that begins no text with a token of its own has an error.
  public mutating func rows(_ texts: [String]) -> [Result<[Float], EvaluationError>] {
    let tokens = texts.map { text in
      let own = tokenizer.encode(String(text.withoutLineEnds), addingSpecialTokens: false, parsingSpecialTokens: false)
      return beginning + cut.kept(embedder.context - beginning.count, of: own[...])
    }
    return embedder.embed(tokens).map { $0.mapError { .inference($0) } }
  }
}
