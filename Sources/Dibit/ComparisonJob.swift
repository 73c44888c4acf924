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
    words = "\(jobs[0].extent) from '\(path)', in windows of \(jobs[0].text.window)"
  }

  /// Compares; nil when `progress` stops it by returning false.
  package func run(on compute: Compute, progress: (Progress) -> Bool) throws -> ModelComparison? {
    // What matrices read is that of the float model, in the precision that is fast.
    let floats = Compute(isa: compute.isa, threads: compute.threads, floats: .bfloat16)
    let losses = WeightedErrors(
      reference.model.configuration, reference.model.weights, windows: jobs[0].text.windows.map(\.tokens), on: floats)
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

  /// Beginnings evenly spaced over the text, or what conversations ask first, continued by each model with the most likely tokens.
  private func spoken(on compute: Compute) throws -> [ModelComparison.Continuation] {
    let documents = jobs[0].documents
    let beginnings: [(words: String, tokens: [Int32])]
    if let questions = documents.questions {
      let asked = Self.spread(Array(zip(questions, documents.text.windows)))
      beginnings = asked.map { ($0, Array($1.tokens[..<$1.predicted[0].lowerBound])) }
    } else {
      let windows = Self.spread(documents.text.windows.map(\.tokens).filter { $0.count > Self.beginning })
      beginnings = windows.map { (reference.model.tokenizer.decode($0.prefix(Self.beginning)), Array($0.prefix(Self.beginning))) }
    }
    // An answer ends where the model that asks says so; text goes on.
    let endTokens = documents.questions == nil ? [] : try models[0].model.chatFormat().endTokens
    let all = try ([reference] + models).map { try continuations(of: $0.model, beginnings.map(\.tokens), endTokens, on: compute) }
    return beginnings.indices.map { index in
      ModelComparison.Continuation(
        beginning: beginnings[index].words, reference: all[0][index], models: all.dropFirst().map { $0[index] })
    }
  }

  /// As many of some values as are continued, evenly spaced over them.
  private static func spread<Value>(_ all: [Value]) -> [Value] {
    let count = min(continuations, all.count)
    return (0..<count).map { all[$0 * all.count / count] }
  }

  private func continuations(
    of model: StoredModel, _ beginnings: [[Int32]], _ endTokens: Set<Int32>, on compute: Compute
  ) throws -> [String] {
    let context = min((beginnings.map(\.count).max() ?? 0) + Self.continuation, model.configuration.contextLength)
    var session = Session(model.configuration, weights: model.weights, context: context, on: compute)
    var options = GenerationOptions()
    (options.sampling.temperature, options.stopTokens) = (0, endTokens)
    return try beginnings.map { beginning in
      session.rewind()
      options.maximumTokens = min(Self.continuation, context - beginning.count)
      return try session.generate(beginning, tokenizer: model.tokenizer, options: options) { _ in true }.text
    }
  }
}
