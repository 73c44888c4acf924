internal import DibitTensor
internal import RealModule

/// Naive Bayes on words: each word of a text votes for the labels whose training texts have it often, or whose other texts have it seldom.
///
/// Words that no training text has do not count, and results are normalised.
package struct NaiveBayes: TextBaseline {
  /// The source of a word's vote.
  package enum Model: CaseIterable, Sendable {
    /// `log p(l | text) = log p(l) + Σ log((count(w, l) + α) / (words(l) + α V))`. Source: McCallum and Nigam, "A comparison of event models
    /// for naive Bayes text classification" (1998).
    case multinomial
    /// `log p(l | text) = -Σ log((count(w, not l) + α) / (words(not l) + α V))` but for a constant, without priors: what the texts of all other
    /// labels say, of which there are more. Source: Rennie, Shih, Teevan and Karger, "Tackling the poor assumptions of naive Bayes text
    /// classifiers" (2003), their CNB.
    case complement
  }

  private let vocabulary: [String: Int]
  /// `weights[w * labels + l]`.
  private let weights: [Double]
  private let priors: [Double]

  /// Learns from `texts` and their `labels`, indices below `count`. `smoothing` is α, added to each word's count.
  ///
  /// A label without texts keeps the probability zero.
  /// - Complexity: O(words + vocabulary · labels).
  package init(texts: [String], labels: [Int], count: Int, model: Model = .multinomial, smoothing: Double = 1) {
    self.init(WordCounts(texts.map(Words.split), labels: labels, count: count), model: model, smoothing: smoothing)
  }

  private init(_ words: WordCounts, model: Model, smoothing: Double) {
    require(smoothing > 0, "NaiveBayes: smoothing \(smoothing)")
    let (count, totals, texts) = (words.totals.count, words.totals, words.support.reduce(0, +))
    var counts = words.counts
    let added = smoothing * Double(words.vocabulary.count)
    switch model {
    case .multinomial:
      priors = words.support.map { texts == 0 ? -.log(Double(count)) : .log(Double($0) / Double(texts)) }
      let denominators = totals.map { Double.log($0 + added) }
      for index in counts.indices {
        counts[index] = .log(counts[index] + smoothing) - denominators[index % count]
      }
    case .complement:
      priors = words.support.map { $0 > 0 || texts == 0 ? 0 : -.infinity }
      let all = totals.reduce(0, +)
      let denominators = totals.map { Double.log(all - $0 + added) }
      for word in stride(from: 0, to: counts.count, by: count) {
        let inAll = counts[word..<word + count].reduce(0, +)
        for label in 0..<count { counts[word + label] = denominators[label] - .log(inAll - counts[word + label] + smoothing) }
      }
    }
    vocabulary = words.vocabulary
    weights = counts
  }

  /// Values of α that ``tuned(texts:labels:count:)`` tries.
  static let smoothings = [1, 0.3, 0.1, 0.03, 0.01]

  /// Learns with the model and the α that make the fewest mistakes in ``CrossValidation``; the first of equals, multinomial and the largest α.
  package static func tuned(texts: [String], labels: [Int], count: Int) -> NaiveBayes {
    let words = texts.map(Words.split)
    let settings = Model.allCases.flatMap { model in smoothings.map { (model, $0) } }
    let validation = CrossValidation(texts: texts, labels: labels)
    let best = settings[
      validation.best(of: settings.count) { learnt, asked in
        let counts = WordCounts(learnt.map { words[$0] }, labels: learnt.map { labels[$0] }, count: count)
        return settings.map { model, smoothing in
          let classifier = NaiveBayes(counts, model: model, smoothing: smoothing)
          return validation.mistakes(asked) { classifier.logProbabilities(words[$0]) }
        }
      }]
    return NaiveBayes(WordCounts(words, labels: labels, count: count), model: best.0, smoothing: best.1)
  }

  /// The number of different words of the training texts.
  package var vocabularyCount: Int { vocabulary.count }

  /// The logarithm of each label's probability.
  package func logProbabilities(_ text: String) -> [Double] { logProbabilities(Words.split(text)) }

  private func logProbabilities(_ words: [String]) -> [Double] {
    var scores = priors
    for word in words {
      guard let row = vocabulary[word] else { continue }
      for label in scores.indices { scores[label] += weights[row * scores.count + label] }
    }
    return normalized(scores)
  }
}

/// The counts of each word in each label's texts: the basis of every model and smoothing.
private struct WordCounts {
  private(set) var vocabulary: [String: Int] = [:]
  /// `counts[w * labels + l]`.
  private(set) var counts: [Double] = []
  /// Words of each label.
  private(set) var totals: [Double]
  /// Texts of each label.
  let support: [Int]

  /// Counts the words of texts.
  init(_ texts: [[String]], labels: [Int], count: Int) {
    require(texts.count == labels.count, "NaiveBayes: \(texts.count) texts, \(labels.count) labels")
    totals = [Double](repeating: 0, count: count)
    support = MajorityClass.support(labels, count)
    for (text, label) in zip(texts, labels) {
      for word in text {
        let row: Int
        if let known = vocabulary[word] {
          row = known
        } else {
          row = vocabulary.count
          vocabulary[word] = row
          counts.append(contentsOf: repeatElement(0, count: count))
        }
        counts[row * count + label] += 1
        totals[label] += 1
      }
    }
  }
}
