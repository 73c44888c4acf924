internal import DibitReport

/// A comparison of models with the one that they come from. See ``Model/compare(_:with:on:window:limit:)``.
public struct Comparison: Equatable, Sendable {
  /// A model's size, and how well it predicts the text.
  public struct Size: Equatable, Sendable {
    /// Bytes of the weights.
    public let bytes: Int
    /// Bits for each weight over the whole model.
    public let bitsPerWeight: Double
    /// The perplexity of the text.
    public let perplexity: Double
  }

  /// A matrix, and what its rounding lost.
  public struct Tensor: Equatable, Sendable {
    /// The tensor's name.
    public let name: String
    /// The form in which it is stored, in words.
    public let storage: String
    /// Signal over noise in dB, each input counted by its energy on the text.
    public let signalToNoise: Double
  }

  /// The distance of a model from the reference.
  public struct Distance: Equatable, Sendable {
    /// The model's size and perplexity.
    public let size: Size
    /// The mean divergence of its predictions from the reference's, in nats for each token.
    public let divergence: Double
    /// The standard error of ``divergence``, tokens taken as independent.
    public let standardError: Double
    /// The share of tokens for which both have the same most likely token, from 0 to 1.
    public let agreement: Double
    /// Signal over noise in dB over all matrices, each input counted by its energy; nil where the model has other matrices than the reference,
    /// infinite where nothing was lost.
    public let signalToNoise: Double?
    /// The matrices that lost something, the worst first.
    public let tensors: [Tensor]
  }

  /// The beginning of a text, and what the models say next.
  public struct Continuation: Equatable, Sendable {
    /// The beginning.
    public let beginning: String
    /// The reference's continuation.
    public let reference: String
    /// Those of the models, in their order.
    public let models: [String]
  }

  /// The reference's size and perplexity.
  public let reference: Size
  /// The distances of the models, in their order.
  public let distances: [Distance]
  /// Up to ten beginnings from the text, continued by all.
  public let continuations: [Continuation]
  /// A page for a browser that shows everything and loads nothing.
  public let html: String
}

extension Comparison.Size {
  fileprivate init(_ form: ModelComparison.Form) {
    self.init(bytes: form.bytes, bitsPerWeight: form.bitsPerWeight, perplexity: form.perplexity)
  }
}

extension Comparison {
  fileprivate init(_ comparison: ModelComparison) {
    reference = Size(comparison.reference)
    distances = comparison.entries.map { entry in
      Distance(
        size: Size(entry.form), divergence: entry.divergence, standardError: entry.standardError, agreement: entry.agreement,
        signalToNoise: entry.decibels,
        tensors: entry.tensors.map { Tensor(name: $0.name, storage: $0.storage, signalToNoise: $0.decibels) })
    }
    continuations = comparison.continuations.map {
      Continuation(beginning: $0.beginning, reference: $0.reference, models: $0.models)
    }
    html = ModelComparisonPage(comparison).html
  }
}

extension Model {
  /// Compares models with the one that they come from, on the texts of a file or a folder: size, predictions, what the rounding of each matrix
  /// lost, and what they say. The job tells the share that is done.
  ///
  /// ```swift
  /// let comparison = try await Model.compare([small, smaller], with: floats, on: "texts").value
  /// print(comparison.distances.map(\.divergence))
  /// ```
  ///
  /// - Parameters:
  ///   - models: One model or more, with the tokenizer of the reference.
  ///   - reference: The model that they come from, such as the float checkpoint.
  ///   - path: A text file, a folder of text files, or a `.jsonl` file of conversations, of which the answers are measured.
  ///   - window: Tokens of a window; nil for the models' context, 512 at most.
  ///   - limit: Tokens of the text that are used, or of answers; nil for all.
  /// - Returns: The job. It fails with ``DibitError`` where there is no model or no text, and where a model has another tokenizer.
  public static func compare(
    _ models: [Model], with reference: Model, on path: String, window: Int? = nil, limit: Int? = 8192
  ) -> Job<Double, Comparison> {
    Job(on: Worker("comparison"), buffered: 64) { report in
      guard !models.isEmpty else {
        throw DibitError(.invalidArgument, option: "models", "expected at least one model to compare, found none")
      }
      let job = try ComparisonJob(
        models.map { ($0.path, $0.stored) }, reference: (reference.path, reference.stored), at: path, window: window, limit: limit)
      let made = try job.run(on: reference.runtime.compute(for: .writing)) { progress in
        report((Double(progress.index) + progress.fraction) / Double(models.count))
      }
      guard let made else { throw DibitError.cancelled }
      return Comparison(made)
    }
  }
}
