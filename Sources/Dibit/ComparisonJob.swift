internal import DibitCalibration
internal import DibitFailure
internal import DibitInference
package import DibitKernels
internal import DibitModel
package import DibitModelStore
internal import DibitQuantization
package import DibitReport
internal import DibitTensor
internal import DibitTokenizer

/// A comparison of models with the one that they come from, on a text: how well they predict it, what the rounding of each matrix lost, and what
/// they say.
package struct ComparisonJob {
  /// The progress of a comparison.
  package struct Progress: Equatable, Sendable {
    /// The index of the model at work.
    package let index: Int
    /// The share of its tokens that is done, from 0 to 1.
    package let fraction: Double
  }

  private let models: [(name: String, model: StoredModel)]
  private let reference: (name: String, model: StoredModel)
  private let jobs: [PerplexityJob]
  private let words: String
  /// Notes on what was noticed while the text was read.
  package var notes: [String] { jobs[0].notes }

  /// Beginnings of texts that are continued, their tokens, and those of a continuation.
  private static let continuations = 10
  private static let beginning = 24
  private static let continuation = 32

  /// A comparison on the texts at `path`; see ``PerplexityJob``.
  ///
  /// - Parameter models: at least one, by the names that a report calls them.
  package init(
    _ models: [(name: String, model: StoredModel)], reference: (name: String, model: StoredModel), at path: String, window: Int? = nil,
    limit: Int? = nil
  ) throws {
    (self.models, self.reference) = (models, reference)
    jobs = try models.map { try PerplexityJob($0.model, reference: reference.model, at: path, window: window, limit: limit) }
    let text = jobs[0].text
    words = "\(counted(text.tokens, "token")) of \(counted(text.documents, "document")) from '\(path)', in windows of \(text.window)"
  }

  /// Compares; nil when `progress` stops it by returning false.
  package func run(on compute: Compute, progress: (Progress) -> Bool) throws -> ModelComparison? {
    // What matrices read is that of the float model, in the precision that is fast.
    let floats = Compute(isa: compute.isa, threads: compute.threads, floats: .bfloat16)
    let losses = WeightedErrors(
      reference.model.configuration, reference.model.weights, windows: jobs[0].text.windows, on: floats)
    var entries: [ModelComparison.Entry] = []
    var expected = 0.0
    for (index, (name, model)) in models.enumerated() {
      let total = jobs[index].text.tokens
      guard
        let found = try jobs[index].run(
          on: compute, progress: { progress(Progress(index: index, fraction: Double($0) / Double(max(total, 1)))) })?.comparison
      else { return nil }
      expected = found.reference.value
      let tensors = tensors(model, losses.errors(of: model.weights, on: floats))
      entries.append(
        ModelComparison.Entry(
          Self.form(name, model, perplexity: found.model.value), divergence: found.divergence, standardError: found.standardError,
          percentile99: found.percentile99, agreement: found.agreement, decibels: tensors?.decibels, tensors: tensors?.worst ?? []))
    }
    return ModelComparison(
      text: words, tokens: jobs[0].text.tokens, reference: Self.form(reference.name, reference.model, perplexity: expected),
      entries: entries,
      continuations: try spoken(on: compute))
  }

  private static func form(_ name: String, _ model: StoredModel, perplexity: Double) -> ModelComparison.Form {
    let weights = model.weights
    return ModelComparison.Form(
      name: name, bytes: weights.byteCount, bitsPerWeight: Double(weights.byteCount) * 8 / Double(max(weights.elementCount, 1)),
      perplexity: perplexity)
  }

  /// The loss over all matrices, and of those that lost something, the worst first.
  private func tensors(
    _ model: StoredModel, _ errors: [Int: GridQuantization.Error]?
  ) -> (decibels: Double, worst: [ModelComparison.Tensor])? {
    guard let errors else { return nil }
    var total = GridQuantization.Error()
    var tensors: [ModelComparison.Tensor] = []
    for (index, error) in errors.sorted(by: { $0.key < $1.key }) {
      total += error
      guard error.noise > 0 else { continue }
      let parameter = model.weights.parameters[index]
      tensors.append(
        ModelComparison.Tensor(
          name: parameter.name.tensor, storage: parameter.weight.format.grid?.description ?? "\(parameter.weight.format.bits)-bit floats",
          decibels: error.decibels))
    }
    return (total.decibels, tensors.sorted { ($0.decibels, $0.name) < ($1.decibels, $1.name) })
  }

  /// Beginnings evenly spaced over the text, continued by each model with the most likely tokens.
  private func spoken(on compute: Compute) throws -> [ModelComparison.Continuation] {
    let windows = jobs[0].text.windows.filter { $0.count > Self.beginning }
    let count = min(Self.continuations, windows.count)
    let beginnings = (0..<count).map { Array(windows[$0 * windows.count / count].prefix(Self.beginning)) }
    let all = try ([reference] + models).map { try continuations(of: $0.model, beginnings, on: compute) }
    return beginnings.indices.map { index in
      ModelComparison.Continuation(
        beginning: reference.model.tokenizer.decode(beginnings[index]), reference: all[0][index], models: all.dropFirst().map { $0[index] })
    }
  }

  private func continuations(of model: StoredModel, _ beginnings: [[Int32]], on compute: Compute) throws -> [String] {
    var session = Session(
      model.configuration, weights: model.weights, context: min(Self.beginning + Self.continuation, model.configuration.contextLength),
      on: compute)
    var options = GenerationOptions()
    (options.maximumTokens, options.sampling.temperature) = (session.context - Self.beginning, 0)
    return try beginnings.map { beginning in
      session.rewind()
      return try session.generate(beginning, tokenizer: model.tokenizer, options: options) { _ in true }.text
    }
  }
}
