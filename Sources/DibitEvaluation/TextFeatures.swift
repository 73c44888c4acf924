internal import DibitDataset
package import DibitInference
package import DibitKernels
package import DibitTokenizer

/// The vectors that a frozen model makes of texts, for baselines that learn from them: a row of ``TextEmbedder/size`` floats for each.
package struct TextFeatures: ~Copyable {
  /// The length that the texts are cut to, and the part of them that is cut.
  package let cut: TextShortening
  private let tokenizer: Tokenizer
  private let beginning: [Int32]
  private var embedder: TextEmbedder

  /// Features of texts without any prompt, of up to `maximumTokens` tokens each; by default as many as the model allows.
  package init(
    _ model: MeasuredModel, tokenizer: Tokenizer, pooling: Pooling = .mean, maximumTokens: Int? = nil, cut: TextShortening = .tail,
    rows: Int = 512,
    on compute: Compute
  ) {
    self.cut = cut
    self.tokenizer = tokenizer
    beginning = ChatTemplate(tokenizer).prompt([], tokenizer: tokenizer).tokens
    embedder = TextEmbedder(model, pooling: pooling, context: maximumTokens, rows: rows, on: compute)
  }

  /// The most tokens of a text.
  package var context: Int { embedder.context }

  /// Elements of a row.
  package var size: Int { embedder.size }

  /// A row for each text, in order. An empty text of a tokenizer that begins no text with a token of its own has an error.
  package mutating func rows(_ texts: [String]) -> [Result<[Float], EvaluationError>] { embeddings(texts).map { $0.map(\.vector) } }

  /// The same with what became of the text.
  package mutating func embeddings(_ texts: [String]) -> [Result<TextEmbedding, EvaluationError>] {
    let own = texts.map { tokenizer.encode(String($0.withoutLineEnds), addingSpecialTokens: false, parsingSpecialTokens: false) }
    let tokens = own.map { beginning + cut.kept(embedder.context - beginning.count, of: $0[...]) }
    return zip(zip(own, tokens), embedder.embed(tokens)).map { tokens, result in
      result.mapError { .inference($0) }.map { vector in
        TextEmbedding(vector: vector, tokens: tokens.1.count, truncatedTokens: tokens.0.count + beginning.count - tokens.1.count)
      }
    }
  }
}

/// A text as a vector.
package struct TextEmbedding: Equatable, Sendable {
  /// The vector.
  package var vector: [Float]
  /// Tokens that went through the model, with what the tokenizer begins a text with.
  package let tokens: Int
  /// Tokens that were cut off to fit.
  package let truncatedTokens: Int

  /// The same with a vector of length 1; a vector of zeros has no direction and stays.
  package var normalized: TextEmbedding {
    let length = vector.reduce(0.0) { $0 + Double($1) * Double($1) }.squareRoot()
    guard length > 0 else { return self }
    var embedding = self
    embedding.vector = vector.map { Float(Double($0) / length) }
    return embedding
  }
}
