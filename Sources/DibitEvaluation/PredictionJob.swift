package import DibitKernels

/// The prediction for one of many texts.
package struct TextPrediction: Equatable, Sendable {
  /// The text's number, from 0.
  package let index: Int
  /// The most likely label.
  package let label: String
  /// The labels that are in the answer with at least the threshold's probability, the likeliest first; without a threshold, those of
  /// the likeliest answer. Never more than several labels may be.
  package let tags: [String]
  /// The probabilities of the labels.
  package let scores: TextScores
}

/// Tags a stream of texts in batches.
package struct PredictionJob: ~Copyable {
  /// The probability from which on a label is a tag; nil takes the likeliest answer.
  package let threshold: Double?
  private let mostTags: Int
  private var tagger: BatchTagger

  /// A job of one subject; a text gets at most `most` tags, by default as many as `options` choose, and with a threshold for one label any
  /// number.
  ///
  /// - Throws: ``EvaluationError/indistinguishableLabels`` when two labels have the same tokens.
  package init(
    labels: [String], subject: EvaluationSubject, options: TaggingOptions = TaggingOptions(), threshold: Double? = nil, most: Int? = nil,
    on compute: Compute
  ) throws(EvaluationError) {
    self.threshold = threshold
    mostTags = most ?? (options.selection == .one ? .max : options.selection.most)
    tagger = try BatchTagger(labels: labels, subject: subject, options: options, on: compute)
  }

  /// The labels, in the order of every index.
  package var labels: [String] { tagger.labels }

  /// Predicts texts as they come, in any number; `receive` is told each one's result, in any order, and stops by returning false.
  package mutating func run(
    _ texts: some Sequence<String>, receive: (_ index: Int, _ result: Result<TextPrediction, EvaluationError>) -> Bool
  ) {
    let (labels, threshold, most) = (tagger.labels, threshold, mostTags)
    tagger.predict(texts) { index, result in
      receive(index, result.map { Self.prediction(index, $0, labels, threshold, most) })
    }
  }

  /// The predictions of all texts, in order.
  package mutating func run(_ texts: [String]) -> [Result<TextPrediction, EvaluationError>] {
    let (labels, threshold, most) = (tagger.labels, threshold, mostTags)
    return tagger.predict(texts).enumerated().map { index, result in
      result.map { Self.prediction(index, $0, labels, threshold, most) }
    }
  }

  private static func prediction(
    _ index: Int, _ scores: TextScores, _ labels: [String], _ threshold: Double?, _ most: Int
  ) -> TextPrediction {
    let tags = threshold.map { Array(scores.labels(atLeast: $0).prefix(most)) } ?? scores.chosen
    return TextPrediction(index: index, label: labels[scores.best], tags: tags.map { labels[$0] }, scores: scores)
  }
}
