public import DibitDataset
internal import DibitStatistics

/// Runs a data set through taggers and counts.
public enum Evaluator {
  /// Evaluates one tagger over `examples`; `progress` is told how many are done and stops by returning false.
  ///
  /// An example with several labels counts as right when the prediction is one of them.
  public static func run(
    name: String, tagger: inout Tagger, examples: [LabelledExample], progress: (Int) -> Bool = { _ in true }
  ) throws(EvaluationError) -> (run: EvaluationRun, truncated: Int) {
    guard !examples.isEmpty else { throw .noExamples }
    let clock = ContinuousClock()
    let start = clock.now
    let labels = tagger.labels
    var pairs: [(truth: Int, prediction: Int)] = []
    var (loss, truncated) = (0.0, 0)
    for (index, example) in examples.enumerated() {
      let truths = labels.indices.filter { label in example.labels.contains { $0.utf8.elementsEqual(labels[label].utf8) } }
      guard let first = truths.first else { throw .unknownLabels(example.labels, known: labels.count) }
      let prediction = try tagger.predict(example.text)
      let best = prediction.best
      pairs.append((truth: truths.contains(best) ? best : first, prediction: best))
      loss -= truths.map { prediction.scores[$0] }.max() ?? 0
      if prediction.truncatedTokens > 0 { truncated += 1 }
      guard progress(index + 1) else { throw .interrupted }
    }
    let elapsed = (clock.now - start).components
    let run = EvaluationRun(
      name: name, metrics: ClassificationMetrics(labels: labels.count, pairs: pairs), logLoss: loss / Double(examples.count),
      seconds: Double(elapsed.seconds) + Double(elapsed.attoseconds) * 1e-18)
    return (run, truncated)
  }
}
