internal import DibitDataset
internal import DibitFailure
package import DibitInference
package import DibitKernels
package import DibitModel
package import DibitModelStore
internal import DibitTokenizer

/// A measurement of how well a model predicts the texts of a file or a folder, beside another model where there is one.
package struct PerplexityJob: Sendable {
  /// The texts, cut into windows.
  package let text: MeasuredText
  /// Notes on what was noticed while they were read.
  package let notes: [String]
  private let model: StoredModel
  private let adapter: LoadedAdapter?
  private let reference: StoredModel?

  /// The most tokens of a window unless somebody asks for more.
  private static let usualWindow = 512

  /// The most tokens that a window of both models can have.
  package static func context(_ model: StoredModel, _ reference: StoredModel?) -> Int {
    min(model.configuration.contextLength, reference?.configuration.contextLength ?? .max)
  }

  /// Reads the texts at `path`.
  ///
  /// - Parameters:
  ///   - window: tokens of a window, at most as many as the models' context; nil for 512.
  ///   - limit: how many tokens of the text are used; nil for all.
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
    (text, notes) = try Self.read(path, model, reference, window: size, limit: limit)
  }

  /// Runs the models; nil when `progress`, which is told how many tokens are done, stops it by returning false.
  ///
  /// - Throws: ``DibitError`` where a model's loss is no number.
  package func run(
    on compute: Compute, progress: (_ done: Int) -> Bool
  ) throws -> (model: Perplexity, comparison: PerplexityComparison?)? {
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

  /// The documents, cut into windows.
  private static func read(
    _ path: String, _ model: StoredModel, _ reference: StoredModel?, window: Int, limit: Int?
  ) throws -> (text: MeasuredText, notes: [String]) {
    let tokenizer = model.tokenizer
    var text = MeasuredText(window: window, tokenizer: tokenizer)
    var (tokens, bytes, total): ([Int32], Int, Int) = ([], 0, 0)
    var reader = try TextFolder.open(path: path).makeIterator()
    while total < limit ?? .max, let piece = reader.next() {
      var ids = tokenizer.encode(piece.text, addingSpecialTokens: false, parsingSpecialTokens: false)
      if let reference, reference.tokenizer.encode(piece.text, addingSpecialTokens: false, parsingSpecialTokens: false) != ids {
        throw DibitError(
          .invalidData,
          "'\(reference.path)' and '\(model.path)' cut '\(piece.path)' into different tokens: a reference needs the same tokenizer")
      }
      bytes += piece.text.utf8.count
      if let limit, total + ids.count > limit {
        ids = Array(ids.prefix(limit - total))
        bytes = tokenizer.decode(tokens + ids).utf8.count
      }
      tokens += ids
      total += ids.count
      guard piece.endsDocument || total == limit else { continue }
      text.append(tokens, bytes: bytes, tokenizer: tokenizer)
      (tokens, bytes) = ([], 0)
    }
    guard text.tokens > 0 else {
      throw DibitError(.invalidData, "'\(path)' has \(counted(total, "token")); at least 2 are needed")
    }
    return (text, reader.report.summary)
  }
}
