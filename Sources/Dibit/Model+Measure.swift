internal import DibitEvaluation
internal import DibitInference

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

extension Model {
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
  ///   - path: A text file, a folder of text files, or a `.jsonl` file of conversations, of which the answers are measured.
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
