package import DibitDataset
internal import DibitInference
package import DibitKernels

/// The progress of an evaluation.
package struct EvaluationProgress: Equatable, Sendable {
  /// The subject that is running.
  package let name: String
  /// Its index, from 0, and the number of subjects.
  package let run: Int
  /// The number of subjects.
  package let runs: Int
  /// Texts of this subject that are done.
  package let done: Int
  /// Texts of a subject.
  package let total: Int
  /// Texts per second of this subject so far.
  package let textsPerSecond: Double

  /// Seconds until all subjects are done at this speed; nil before the first text.
  package var secondsLeft: Double? {
    textsPerSecond > 0 ? Double(total - done + (runs - run - 1) * total) / textsPerSecond : nil
  }
}

/// Runs a data set through models and adapters.
package enum Evaluator {
  /// Scores the examples under each subject, one subject after the other, and keeps what each said about every example.
  ///
  /// Subjects of one model that are asked in the same way share working memory and differ in their adapters only. An example that cannot be
  /// scored is a failure in its record and stops nothing.
  ///
  /// - Parameters:
  ///   - latencyTexts: of how many texts the time that each takes alone is measured too.
  ///   - progress: stops the evaluation by returning false.
  /// - Throws: ``EvaluationError/noExamples``, ``EvaluationError/unknownLabels``, ``EvaluationError/indistinguishableLabels`` or
  ///   ``EvaluationError/interrupted``.
  package static func run(
    _ subjects: [EvaluationSubject], labels: [String], examples: [LabelledExample], options: TaggingOptions = TaggingOptions(),
    latencyTexts: Int = 0, on compute: Compute, progress: (EvaluationProgress) -> Bool = { _ in true }
  ) throws(EvaluationError) -> [RunRecords] {
    guard !examples.isEmpty else { throw .noExamples }
    let truths = try Truths(labels).indices(of: examples)
    var runs: [RunRecords] = []
    for (number, subject) in subjects.enumerated() {
      var tagger = try BatchTagger(labels: labels, subject: subject, options: options, on: compute)
      let clock = ContinuousClock()
      let start = clock.now
      var outcomes = [Result<TextScores, EvaluationError>](repeating: .failure(.interrupted), count: examples.count)
      var (done, continues) = (0, true)
      tagger.predict(examples.lazy.map(\.text)) { index, result in
        outcomes[index] = result
        done += 1
        let seconds = start.duration(to: clock.now) / .seconds(1)
        continues = progress(
          EvaluationProgress(
            name: subject.name, run: number, runs: subjects.count, done: done, total: examples.count,
            textsPerSecond: Double(done) / max(seconds, 1e-9)))
        return continues
      }
      guard continues else { throw .interrupted }
      let seconds = start.duration(to: clock.now) / .seconds(1)
      let statistics = tagger.statistics
      runs.append(
        RunRecords(
          name: subject.name, labels: labels,
          records: examples.indices.map { ExampleRecord(example: $0, truths: truths[$0], outcome: outcomes[$0]) }, prior: tagger.prior,
          seconds: seconds, promptTokens: statistics.promptTokens, rows: statistics.promptRows + statistics.choiceRows,
          latencies: tagger.latencies(spread(examples, latencyTexts).map(\.text))))
    }
    return runs
  }

  /// Up to `count` examples from all over the data.
  static func spread(_ examples: [LabelledExample], _ count: Int) -> [LabelledExample] {
    let count = min(count, examples.count)
    return (0..<max(0, count)).map { examples[$0 * examples.count / count] }
  }
}

extension BatchTagger {
  /// Seconds that each text takes when nothing is batched with it; one more runs before, unmeasured.
  package mutating func latencies(_ texts: [String]) -> [Double] { secondsAlone(texts) { text in _ = predict([text]) } }
}

extension OpenTagger {
  /// Seconds that each text takes when nothing is batched with it; one more runs before, unmeasured.
  mutating func latencies(_ texts: [String]) -> [Double] { secondsAlone(texts) { text in _ = try? predict(text) } }
}

/// Seconds that `run` takes for each text, behind one that is not measured.
private func secondsAlone(_ texts: [String], _ run: (String) -> Void) -> [Double] {
  guard let first = texts.first else { return [] }
  run(first)
  let clock = ContinuousClock()
  return texts.map { text in clock.measure { run(text) } / .seconds(1) }
}
