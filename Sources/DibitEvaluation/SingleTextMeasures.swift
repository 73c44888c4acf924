package import DibitDataset
package import DibitKernels
internal import DibitInference
internal import DibitModel

/// Measures of some texts behind which nothing guides the model: whether its answers can be read, and how likely the true labels are among
/// all that it could write.
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
    var answers: [OpenAnswer?] = Array(repeating: nil, count: some.count)
    var (done, continues) = (0, true)
    func step() -> Bool {
      done += 1
      continues = progress(done, 2 * some.count)
      return continues
    }
    var tagger = try OpenTagger(subject, options: options, on: compute)
    tagger.predict(some.lazy.map(\.text)) { index, answer in
      answers[index] = try? answer.get()
      return step()
    }
    var session = Session(
      subject.model.configuration, weights: subject.model.weights, adapter: .none(for: subject.model.weights),
      context: subject.task.task.maximumTokens + longest, on: compute)
    session.use(subject.model.adapter)
    var (loss, tokens) = (0.0, 0)
    for (index, example) in some.enumerated() where continues {
      let encoded = subject.task.encode(example, reserving: longest)
      let answer = encoded.roles.firstIndex { $0 != .given } ?? encoded.tokens.count
      session.rewind()
      // A text that cannot be run has been told of by the evaluation itself.
      if answers[index] != nil, let scored = try? score(encoded, from: answer, &session) {
        for (offset, token) in scored.enumerated() where encoded.roles[answer + offset] == .content {
          loss -= Double(token?.logProbability ?? 0)
          tokens += 1
        }
      } else {
        answers[index] = nil
      }
      _ = step()
    }
    guard continues else { throw .interrupted }
    let written = answers.compactMap(\.self)
    guard !written.isEmpty, tokens > 0 else { return nil }
    return SingleTextMeasures(unparsableShare: written.unparsableShare, contentLoss: loss / Double(tokens), texts: written.count)
  }

  private static func score(
    _ encoded: TokenizedExample, from answer: Int, _ session: inout Session
  ) throws(InferenceError) -> [ScoredToken?] {
    try session.append(Array(encoded.tokens[..<answer]))
    return try session.logProbabilities(of: Array(encoded.tokens[answer...]))
  }
}
