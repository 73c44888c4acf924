internal import DibitTensor
internal import RealModule

/// Naive Bayes on words: each word of a text votes for the labels whose training texts have it often, or whose other texts have it seldom.
///
/// Words that no training text has do not count, and results are normalised.
public struct NaiveBayes: TextBaseline {
  /// Where a word's vote comes from.
  public enum Model: CaseIterable, Sendable {
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
  public init(texts: [String], labels: [Int], count: Int, model: Model = .multinomial, smoothing: Double = 1) {
    require(
      texts.count == labels.count && smoothing > 0,
      "NaiveBayes: \(texts.count) texts, \(labels.count) labels, smoothing \(smoothing)")
    var vocabulary: [String: Int] = [:]
    var counts: [Double] = []
    var totals = [Double](repeating: 0, count: count)
    for (text, label) in zip(texts, labels) {
      for word in Words.split(text) {
        let place: Int
        if let known = vocabulary[word] {
          place = known
        } else {
          place = vocabulary.count
          vocabulary[word] = place
          counts.append(contentsOf: repeatElement(0, count: count))
        }
        counts[place * count + label] += 1
        totals[label] += 1
      }
    }
    let support = MajorityClass.support(labels, count)
    let added = smoothing * Double(vocabulary.count)
    switch model {
    case .multinomial:
      priors = support.map {
        texts.isEmpty ? -.log(Double(count)) : .log(Double($0) / Double(texts.count))
      }
      let denominators = totals.map { Double.log($0 + added) }
      for place in counts.indices {
        counts[place] = .log(counts[place] + smoothing) - denominators[place % count]
      }
    case .complement:
      priors = support.map { $0 > 0 || texts.isEmpty ? 0 : -.infinity }
      let all = totals.reduce(0, +)
      let denominators = totals.map { Double.log(all - $0 + added) }
      for word in stride(from: 0, to: counts.count, by: count) {
        let inAll = counts[word..<word + count].reduce(0, +)
        for label in 0..<count { counts[word + label] = denominators[label] - .log(inAll - counts[word + label] + smoothing) }
      }
    }
    self.vocabulary = vocabulary
    weights = counts
  }

  /// Values of α that ``tuned(texts:labels:count:)`` tries.
  static let smoothings = [1, 0.3, 0.1, 0.03, 0.01]

  /// Learns with the model and the α that make the fewest mistakes in five-fold cross-validation, every fifth text making a fold; the first
  /// of equals, multinomial and the largest α. A text that stands there several times, with a label each, is one text. A baseline that nobody
  /// tuned is no baseline.
  public static func tuned(texts: [String], labels: [Int], count: Int) -> NaiveBayes {
    var places: [String: Int] = [:]
    let folds = texts.map { text in
      let place = places[text] ?? places.count
      places[text] = place
      return place % 5
    }
    func mistakes(_ model: Model, _ smoothing: Double) -> Int {
      (0..<5).reduce(0) { sum, fold in
        let learnt = texts.indices.filter { folds[$0] != fold }
        let classifier = NaiveBayes(
          texts: learnt.map { texts[$0] }, labels: learnt.map { labels[$0] }, count: count, model: model, smoothing: smoothing)
        return sum
          + texts.indices.count { index in
            guard folds[index] == fold else { return false }
            let row = classifier.logProbabilities(texts[index])
            return row.indices.max { row[$0] < row[$1] } != labels[index]
          }
      }
    }
    var best = (model: Model.multinomial, smoothing: 1.0, mistakes: Int.max)
    for model in Model.allCases {
      for smoothing in smoothings {
        let mistakes = mistakes(model, smoothing)
        if mistakes < best.mistakes { best = (model, smoothing, mistakes) }
      }
    }
    return NaiveBayes(texts: texts, labels: labels, count: count, model: best.model, smoothing: best.smoothing)
  }

  /// How many different words the training texts have.
  public var vocabularyCount: Int { vocabulary.count }

  /// The logarithm of each label's probability.
  public func logProbabilities(_ text: String) -> [Double] {
    var scores = priors
    for word in Words.split(text) {
      guard let place = vocabulary[word] else { continue }
      for label in scores.indices { scores[label] += weights[place * scores.count + label] }
    }
    return normalized(scores)
  }
}
