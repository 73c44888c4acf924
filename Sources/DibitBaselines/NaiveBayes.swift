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

  /// The settings of a fit.
  package struct Setting: Sendable {
    /// The source of votes.
    package let model: Model
    /// α, added to each word's count.
    package let smoothing: Double
    /// The divisor of scores.
    package fileprivate(set) var temperature = 1.0
  }

  private let numbers: TermNumbers
  /// `weights[w * labels + l]`; zeros for a word that no text has.
  private let weights: [Double]
  private var priors: [Double]

  /// Learns from `texts` and their `labels`, indices below `count`. `smoothing` is α, added to each word's count.
  ///
  /// A label without texts keeps the probability zero.
  /// - Complexity: O(words + vocabulary · labels).
  package init(texts: [String], labels: [Int], count: Int, model: Model = .multinomial, smoothing: Double = 1) {
    self.init(texts: texts, labels: labels, count: count, setting: Setting(model: model, smoothing: smoothing))
  }

  /// Learns with these settings.
  package init(texts: [String], labels: [Int], count: Int, setting: Setting) {
    let words = NumberedWords(texts)
    self.init(WordCounts(words, Array(texts.indices), labels, count), words.numbers, setting)
  }

  private init(_ words: WordCounts, _ numbers: TermNumbers, _ setting: Setting) {
    let smoothing = setting.smoothing
    require(smoothing > 0, "NaiveBayes: smoothing \(smoothing)")
    let (count, totals, texts) = (words.totals.count, words.totals, words.support.reduce(0, +))
    var counts = words.counts
    let seen = stride(from: 0, to: counts.count, by: max(count, 1)).filter { counts[$0..<$0 + count].contains { $0 > 0 } }
    let added = smoothing * Double(seen.count)
    switch setting.model {
    case .multinomial:
      priors = words.support.map { texts == 0 ? -.log(Double(count)) : .log(Double($0) / Double(texts)) }
      let denominators = totals.map { Double.log($0 + added) }
      for word in seen {
        for label in 0..<count { counts[word + label] = .log(counts[word + label] + smoothing) - denominators[label] }
      }
    case .complement:
      priors = words.support.map { $0 > 0 || texts == 0 ? 0 : -.infinity }
      let all = totals.reduce(0, +)
      let denominators = totals.map { Double.log(all - $0 + added) }
      for word in seen {
        let inAll = counts[word..<word + count].reduce(0, +)
        for label in 0..<count { counts[word + label] = denominators[label] - .log(inAll - counts[word + label] + smoothing) }
      }
    }
    self.numbers = numbers
    weights = counts.map { $0 / setting.temperature }
    for label in priors.indices { priors[label] /= setting.temperature }
  }

  /// Values of α that ``tuned(texts:labels:count:)`` tries.
  static let smoothings = [1, 0.3, 0.1, 0.03, 0.01]

  /// Temperatures that ``temperedSetting(texts:labels:count:)`` tries: what most words of a text say counts for too much when texts are long.
  package static let temperatures = [0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 8, 12]

  /// Learns with the model and the α that make the fewest mistakes in ``CrossValidation``; the first of equals, multinomial and the largest α.
  package static func tuned(texts: [String], labels: [Int], count: Int) -> NaiveBayes {
    NaiveBayes(texts: texts, labels: labels, count: count, setting: Search(texts, labels, count).setting)
  }

  /// The settings of ``tuned(texts:labels:count:)``, and the temperature at which the probabilities of texts in ``CrossValidation`` are best, by their
  /// logarithms: what is likeliest stays so, and how likely it is can be believed.
  package static func temperedSetting(texts: [String], labels: [Int], count: Int) -> Setting {
    let search = Search(texts, labels, count)
    var setting = search.setting
    setting.temperature = temperatures[search.temperature]
    return setting
  }

  /// The training texts while settings are compared on them.
  private struct Search {
    private let words: NumberedWords
    private let labels: [Int]
    private let count: Int
    private let validation: CrossValidation
    /// The model and the α.
    let setting: Setting

    init(_ texts: [String], _ labels: [Int], _ count: Int) {
      let (words, validation) = (NumberedWords(texts), CrossValidation(texts: texts, labels: labels))
      let settings = Model.allCases.flatMap { model in smoothings.map { Setting(model: model, smoothing: $0) } }
      setting =
        settings[
          validation.best(of: settings.count) { learnt, asked in
            let counts = WordCounts(words, learnt, labels, count)
            return settings.map { setting in
              let classifier = NaiveBayes(counts, words.numbers, setting)
              return Double(validation.mistakes(asked) { normalized(classifier.scores(words.texts[$0])) })
            }
          }]
      (self.words, self.validation, self.labels, self.count) = (words, validation, labels, count)
    }

    /// The number of the best temperature. Texts of a label that no other text has tell nothing.
    var temperature: Int {
      validation.best(of: temperatures.count) { learnt, asked in
        let classifier = NaiveBayes(WordCounts(words, learnt, labels, count), words.numbers, setting)
        var losses = [Double](repeating: 0, count: temperatures.count)
        for text in asked {
          let scores = classifier.scores(words.texts[text])
          guard scores[labels[text]].isFinite else { continue }
          for (index, temperature) in temperatures.enumerated() {
            losses[index] -= normalized(scores.map { $0 / temperature })[labels[text]]
          }
        }
        return losses
      }
    }
  }

  /// The number of different words of the training texts.
  package var vocabularyCount: Int { numbers.count }

  /// The logarithm of each label's probability.
  package func logProbabilities(_ text: String) -> [Double] { normalized(scores(numbers.known(text))) }

  private func scores(_ words: [Int32]) -> [Double] {
    var scores = priors
    for word in words {
      for label in scores.indices { scores[label] += weights[Int(word) * scores.count + label] }
    }
    return scores
  }
}

extension NaiveBayes {
  /// A fit as numbers that can be kept in a file. No word can be read from it, only recognised.
  package struct Parts: Equatable, Sendable {
    /// The 64-bit hash of each word.
    package var hashes: [UInt64]
    /// `[words + 1, labels]`: the weights of each word, and behind the last one those of a text without any.
    package var weights: [Float]

    /// Parts of a fit.
    package init(hashes: [UInt64], weights: [Float]) { (self.hashes, self.weights) = (hashes, weights) }
  }

  /// The fit as it is kept, rounded to floats.
  package var parts: Parts {
    var hashes = [UInt64](repeating: 0, count: numbers.count)
    for (hash, number) in numbers.hashes { hashes[Int(number)] = hash }
    return Parts(hashes: hashes, weights: (weights + priors).map { Float($0) })
  }

  /// The fit that was kept, of `labels` labels; nil for parts that no fit has: numbers that are not finite, a word twice, another count.
  package init?(_ parts: Parts, labels: Int) {
    guard labels > 0, parts.weights.count == (parts.hashes.count + 1) * labels, parts.weights.allSatisfy(\.isFinite),
      let numbers = TermNumbers(.words, hashes: parts.hashes)
    else { return nil }
    self.numbers = numbers
    let values = parts.weights.map { Double($0) }
    (weights, priors) = (Array(values.dropLast(labels)), Array(values.suffix(labels)))
  }

  /// True where every label has texts, so that none is impossible.
  var knowsAllLabels: Bool { priors.allSatisfy(\.isFinite) }
}

/// Texts as the numbers of their words.
private struct NumberedWords {
  private(set) var numbers = TermNumbers(.words)
  private(set) var texts: [[Int32]] = []

  init(_ texts: [String]) { for text in texts { self.texts.append(numbers.learn(text)) } }
}

/// The counts of each word in each label's texts: the basis of every model and smoothing.
private struct WordCounts {
  /// `counts[w * labels + l]`.
  private(set) var counts: [Double]
  /// Words of each label.
  private(set) var totals: [Double]
  /// Texts of each label.
  let support: [Int]

  /// Counts the words of some texts.
  init(_ words: NumberedWords, _ texts: [Int], _ labels: [Int], _ count: Int) {
    require(words.texts.count == labels.count, "NaiveBayes: \(words.texts.count) texts, \(labels.count) labels")
    counts = [Double](repeating: 0, count: words.numbers.count * count)
    totals = [Double](repeating: 0, count: count)
    support = MajorityClass.support(texts.map { labels[$0] }, count)
    for text in texts {
      for word in words.texts[text] { counts[Int(word) * count + labels[text]] += 1 }
      totals[labels[text]] += Double(words.texts[text].count)
    }
  }
}
