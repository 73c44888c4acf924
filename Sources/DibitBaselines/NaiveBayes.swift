internal import DibitTensor
internal import RealModule

/// Multinomial naive Bayes on words: each word of a text votes for the labels whose training texts have it often.
///
/// `log p(l | text) = log p(l) + Σ log((count(w, l) + α) / (words(l) + α V))`, normalised; words that no training text has do not count.
/// Source: McCallum and Nigam, "A comparison of event models for naive Bayes text classification" (1998).
public struct NaiveBayes: TextBaseline {
  private let vocabulary: [String: Int]
  /// `weights[w * labels + l]`.
  private let weights: [Double]
  private let priors: [Double]

  /// Learns from `texts` and their `labels`, indices below `count`. `smoothing` is α, added to each word's count.
  ///
  /// A label without texts keeps the probability zero.
  /// - Complexity: O(words + vocabulary · labels).
  public init(texts: [String], labels: [Int], count: Int, smoothing: Double = 1) {
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
    priors = support.map {
      texts.isEmpty ? -.log(Double(count)) : .log(Double($0) / Double(texts.count))
    }
    let denominators = totals.map { Double.log($0 + smoothing * Double(vocabulary.count)) }
    for place in counts.indices {
      counts[place] = .log(counts[place] + smoothing) - denominators[place % count]
    }
    self.vocabulary = vocabulary
    weights = counts
  }

  /// Values of α that ``tuned(texts:labels:count:)`` tries.
  static let smoothings = [1, 0.3, 0.1, 0.03, 0.01]

  /// Learns with the α under which four fifths of the texts have the fewest mistakes on the last fifth, every fifth text; the largest of equals. A
  /// baseline that nobody tuned is no baseline.
  public static func tuned(texts: [String], labels: [Int], count: Int) -> NaiveBayes {
    let (asked, learnt) = (texts.indices.filter { $0 % 5 == 0 }, texts.indices.filter { $0 % 5 != 0 })
    var best = (smoothing: 1.0, hits: -1)
    for smoothing in smoothings where !learnt.isEmpty {
      let classifier = NaiveBayes(texts: learnt.map { texts[$0] }, labels: learnt.map { labels[$0] }, count: count, smoothing: smoothing)
      let hits = asked.count { index in
        let row = classifier.logProbabilities(texts[index])
        return row.indices.max { row[$0] < row[$1] } == labels[index]
      }
      if hits > best.hits { best = (smoothing, hits) }
    }
    return NaiveBayes(texts: texts, labels: labels, count: count, smoothing: best.smoothing)
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
