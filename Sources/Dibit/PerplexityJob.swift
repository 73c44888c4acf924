package import DibitInference
package import DibitKernels
package import DibitModel
package import DibitModelStore

/// A measurement of how well a model predicts the texts of a file or a folder, or the answers of conversations, beside another model where
/// there is one.
package struct PerplexityJob: Sendable {
  /// The texts, cut into windows.
  package var text: MeasuredText { documents.text }
  /// Notes on what was noticed while they were read.
  package var notes: [String] { documents.notes }
  /// The amount of text, in words.
  package var extent: String { documents.extent }
  /// The measured texts, and what was noticed about them.
  let documents: MeasuredDocuments
  private let model: StoredModel
  private let adapter: LoadedAdapter?
  private let reference: StoredModel?

  /// The most tokens of a window unless somebody asks for more.
  private static let usualWindow = 512

  /// The most tokens that a window of both models can have.
  package static func context(_ model: StoredModel, _ reference: StoredModel?) -> Int {
    min(model.configuration.contextLength, reference?.configuration.contextLength ?? .max)
  }

  /// Reads the texts at `path`: a text file, a folder of such, or a file of conversations.
  ///
  /// - Parameters:
  ///   - window: tokens of a window, at most as many as the models' context; nil for 512.
  ///   - limit: how many tokens of the text are used, or of answers, up to a whole conversation; nil for all.
  /// - Throws: ``DibitError`` where the reference has another tokenizer, or there is no text.
  package init(
    _ model: StoredModel, adapter: LoadedAdapter? = nil, reference: StoredModel? = nil, at path: String, window: Int? = nil,
    limit: Int? = nil
  ) throws {
    (self.model, self.adapter, self.reference) = (model, adapter, reference)
    try reference?.checkTokenizer(against: model, as: "a reference")
    let context = Self.context(model, reference)
    guard context >= 2 else { throw DibitError(.invalidData, "'\(model.path)' has a context of \(context); at least 2 are needed") }
    let size = min(window ?? Self.usualWindow, context)
    documents = try MeasuredDocuments(path, model, reference, window: size, limit: limit)
  }

  /// Runs the models; nil when `progress`, which is told how many tokens are done, stops it by returning false.
  ///
  /// - Throws: ``DibitError`` where a model's loss is no number.
  package func run(
    on compute: Compute, progress: (_ done: Int) -> Bool
  ) throws -> (model: Perplexity, comparison: PerplexityComparison?)? {
    let compute = compute.measuring
    let measured = MeasuredModel(model.configuration, weights: model.weights, adapter: adapter)
    var isStopped = false
    func report(_ done: Int) -> Bool {
      isStopped = !progress(done)
      return !isStopped
    }
    let result: (model: Perplexity, comparison: PerplexityComparison?)
    if let reference {
      let other = MeasuredModel(reference.configuration, weights: reference.weights)
      let comparison = PerplexityComparison.measure(text, model: measured, reference: other, on: compute, progress: report)
      result = (comparison.model, comparison)
    } else {
      result = (Perplexity.measure(text, model: measured, on: compute, progress: report), nil)
    }
    guard !isStopped else { return nil }
    try Self.check(result.model, of: model.path)
    if let comparison = result.comparison, let reference { try Self.check(comparison.reference, of: reference.path) }
    return result
  }

  private static func check(_ result: Perplexity, of path: String) throws(DibitError) {
    guard result.loss.isFinite else {
      throw DibitError(.invalidData, "the loss is not a number: the weights of '\(path)' are damaged")
    }
  }
}
