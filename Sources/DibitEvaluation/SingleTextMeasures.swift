package import DibitDataset
package import DibitKernels
internal import DibitInference
internal import DibitModel

/// Measures of some texts that go through a model one at a time while nothing guides it: whether its answers can be read, and how likely
/// the true labels are among all that it could write.
package struct SingleTextMeasures: Equatable, Sendable {
  /// The share of answers that are no object with a list of strings under the task's key.
  package let unparsableShare: Double
  /// The mean negative log-probability of the true labels' tokens, each behind the text and the true answer so far, in nats per token.
  package let contentLoss: Double
  /// Texts that were measured.
  package let texts: Int

  /// Measures up to `count` texts from all over `examples`; nil where none could be run. `progress` stops by returning false.
  ///
  /// - Throws: ``EvaluationError/interrupted``.
  package static func measure(
    _ subject: EvaluationSubject, labels: [String], examples: [LabelledExample], count: Int, on compute: Compute,
    progress: (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws(EvaluationError) -> SingleTextMeasures? {
    let some = Evaluator.spread(examples, count)
    guard !some.isEmpty else { return nil }
    let longest = some.map { subject.task.answerCount($0.labels) }.max() ?? 0
    var options = OpenTagger.Options()
    options.isGuided = false
    // A model that knows the form ends by itself; one that does not shall not write for long.
    options.maximumTokens = 2 * max(longest, subject.task.reserve(for: labels)) + 8
    func session() -> Session {
      var session = Session(
        subject.model.configuration, weights: subject.model.weights, adapter: .none(for: subject.model.weights),
        context: subject.task.task.maximumTokens + longest + options.maximumTokens, on: compute)
      session.use(subject.model.adapter)
      return session
    }
    var free = try OpenTagger(task: subject.task, session: session(), options: options)
    var given = session()
    var answers: [OpenAnswer] = []
    var (loss, tokens) = (0.0, 0)
    for (index, example) in some.enumerated() {
      let encoded = subject.task.encode(example, reserving: longest)
      let answer = encoded.roles.firstIndex { $0 != .given } ?? encoded.tokens.count
      given.rewind()
      // A text that cannot be run has been told of by the evaluation itself.
      if let scored = try? score(encoded, from: answer, &given), let written = try? free.predict(example.text) {
        answers.append(written)
        for (offset, token) in scored.enumerated() where encoded.roles[answer + offset] == .content {
          loss -= Double(token?.logProbability ?? 0)
          tokens += 1
        }
      }
      guard progress(index + 1, some.count) else { throw .interrupted }
    }
    guard !answers.isEmpty, tokens > 0 else { return nil }
    return SingleTextMeasures(unparsableShare: answers.unparsableShare, contentLoss: loss / Double(tokens), texts: answers.count)
  }

  private static func score(
    _ encoded: TokenizedExample, from answer: Int, _ session: inout Session
  ) throws(InferenceError) -> [ScoredToken?] {
    try session.append(Array(encoded.tokens[..<answer]))
    return try session.logProbabilities(of: Array(encoded.tokens[answer...]))
  }
}
