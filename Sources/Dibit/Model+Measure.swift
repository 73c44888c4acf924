internal import DibitDataset
internal import DibitEvaluation
internal import DibitInference
internal import DibitModelStore

/// A measurement of how well a model predicts texts.
public struct PerplexityReport: Equatable, Sendable {
  /// Mean loss in nats per predicted token.
  public let loss: Double
  /// The exponential of ``loss``.
  public let perplexity: Double
  /// The loss of all predicted tokens in bits over the bytes of their text: comparable between tokenizers.
  public let bitsPerByte: Double
  /// Predicted tokens.
  public let tokens: Int
  /// Documents.
  public let documents: Int
}

/// A text as a vector.
public struct TextVector: Equatable, Sendable {
  /// The elements, as many as ``Model/Facts/hiddenSize``.
  public let elements: [Float]
  /// Tokens that went through the model.
  public let tokens: Int
  /// Tokens that were cut off to fit.
  public let truncatedTokens: Int
}

extension Model {
  /// The part of the hidden states of a text's tokens that stands for the text.
  public enum Pooling: String, Equatable, Sendable, CaseIterable {
    /// Their mean.
    case mean
    /// That of the last token, which has seen all others.
    case last
  }

  /// Texts as vectors: the hidden states of the model behind its last norm, pooled. Vectors do not depend on what else is embedded.
  ///
  /// ```swift
  /// let vectors = try await model.embed(["a letter", "another letter"], normalized: true)
  /// ```
  ///
  /// - Parameters:
  ///   - texts: The texts. One that is longer than the model's context loses its end.
  ///   - pooling: What stands for a text.
  ///   - normalized: Whether every vector gets the length 1.
  ///   - adapter: An adapter of this model; nil for the model alone.
  /// - Returns: A vector for each text, in order.
  /// - Throws: ``DibitError`` for a text without tokens, and where the task is cancelled.
  public func embed(
    _ texts: [String], pooling: Pooling = .mean, normalized: Bool = false, adapter: Adapter? = nil
  ) async throws(DibitError) -> [TextVector] {
    try await worker.run { [stored, runtime] isCancelled in
      try check(adapter)
      var features = TextFeatures(
        measured(adapter), tokenizer: stored.tokenizer, pooling: pooling == .mean ? .mean : .last, on: runtime.compute(for: .scoring))
      var vectors: [TextVector] = []
      for start in stride(from: 0, to: texts.count, by: 64) {
        guard !isCancelled() else { throw DibitError.cancelled }
        for result in features.embeddings(Array(texts[start..<min(start + 64, texts.count)])) {
          let embedding = normalized ? try result.get().normalized : try result.get()
          vectors.append(
            TextVector(elements: embedding.vector, tokens: embedding.tokens, truncatedTokens: embedding.truncatedTokens))
        }
      }
      return vectors
    }
  }

  /// Measures how well the model predicts the texts of a file, or of all files of a folder. The job tells the share that is done.
  ///
  /// Every file is a document of its own and goes through in windows that do not overlap.
  ///
  /// ```swift
  /// let report = try await model.perplexity(of: "texts").value
  /// print(report.bitsPerByte)
  /// ```
  ///
  /// - Parameters:
  ///   - path: A text file, or a folder of text files.
  ///   - adapter: An adapter of this model; nil for the model alone.
  ///   - window: Tokens of a window; nil for the model's context, 512 at most.
  /// - Returns: The job. It fails with ``DibitError`` where there is no text.
  public func perplexity(of path: String, adapter: Adapter? = nil, window: Int? = nil) -> Job<Double, PerplexityReport> {
    Job(on: worker, buffered: 64) { [stored, runtime] report in
      try check(adapter)
      let job = try PerplexityJob(stored, adapter: adapter?.opened.loaded, at: path, window: window)
      let text = job.text
      guard let found = try job.run(on: runtime.compute(for: .writing), progress: { report(Double($0) / Double(text.tokens)) })?.model
      else {
        throw DibitError.cancelled
      }
      return PerplexityReport(
        loss: found.loss, perplexity: found.value, bitsPerByte: found.bitsPerByte(bytes: text.bytes), tokens: text.tokens,
        documents: text.documents)
    }
  }
}
