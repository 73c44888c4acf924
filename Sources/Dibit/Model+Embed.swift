package import DibitDataset
package import DibitEvaluation
internal import DibitInference
package import DibitKernels
package import DibitModel
package import DibitModelStore

/// A text as a vector.
public struct TextVector: Equatable, Sendable {
  /// The text's number among those that were given, from 0.
  public let index: Int
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

  /// Makes vectors of texts: the hidden states of the model behind its last norm, pooled. The job tells each vector as it comes, in order; its
  /// value is all of them. Vectors do not depend on what else is embedded.
  ///
  /// ```swift
  /// let vectors = try await model.embed(["a letter", "another letter"], normalized: true).value
  /// ```
  ///
  /// - Parameters:
  ///   - texts: The texts. One that is longer than the model's context loses its end.
  ///   - pooling: What stands for a text.
  ///   - normalized: Whether every vector gets the length 1.
  ///   - adapter: An adapter of this model; nil for the model alone.
  /// - Returns: The job. It fails with ``DibitError`` for a text without tokens.
  public func embed(
    _ texts: [String], pooling: Pooling = .mean, normalized: Bool = false, adapter: Adapter? = nil
  ) -> Job<TextVector, [TextVector]> {
    Job(on: worker) { [stored, runtime] report in
      try check(adapter)
      var job = EmbeddingJob(
        stored, adapter: adapter?.opened.loaded, pooling: pooling, normalizes: normalized, on: runtime.compute(for: .scoring))
      var vectors: [TextVector] = []
      try job.run(TextInput.inMemory(texts)) { _, result in
        let embedding = try result.get()
        let vector = TextVector(
          index: vectors.count, elements: embedding.vector, tokens: embedding.tokens, truncatedTokens: embedding.truncatedTokens)
        vectors.append(vector)
        return report(vector)
      }
      guard vectors.count == texts.count, !report.isCancelled else { throw DibitError.cancelled }
      return vectors
    }
  }
}

/// Makes vectors of texts of any origin, some at a time.
package struct EmbeddingJob: ~Copyable {
  private var features: TextFeatures
  private let normalizes: Bool

  /// Texts that go through the model together.
  private static let batch = 64

  /// A job of a model; texts lose what is beyond `maximumTokens`, by default the model's context.
  package init(
    _ model: StoredModel, adapter: LoadedAdapter?, pooling: Model.Pooling, maximumTokens: Int? = nil, normalizes: Bool, on compute: Compute
  ) {
    features = TextFeatures(
      MeasuredModel(model.configuration, weights: model.weights, adapter: adapter), tokenizer: model.tokenizer,
      pooling: pooling == .mean ? .mean : .last, maximumTokens: maximumTokens, on: compute)
    self.normalizes = normalizes
  }

  /// The most tokens of a text.
  package var context: Int { features.context }

  /// Embeds inputs as they come; `receive` is told what came of each, in order, and stops by returning false or by throwing. An input that
  /// cannot be read stops no other.
  package mutating func run(
    _ inputs: some Sequence<TextInput>, receive: (TextLocation, Result<TextEmbedding, PredictionFault>) throws -> Bool
  ) throws {
    var (iterator, isOver) = (inputs.makeIterator(), false)
    while !isOver {
      var batch: [TextInput] = []
      while batch.count < Self.batch, !isOver {
        if let input = iterator.next() { batch.append(input) } else { isOver = true }
      }
      var vectors = features.embeddings(batch.compactMap { try? $0.content.get() }).makeIterator()
      for input in batch {
        let result: Result<TextEmbedding, PredictionFault> =
          switch input.content {
          case .failure(let fault): .failure(.input(fault))
          case .success: (vectors.next() ?? .failure(.inference(.emptyText))).mapError { .model($0) }
          }
        guard try receive(input.location, normalizes ? result.map(\.normalized) : result) else { return }
      }
    }
  }
}
