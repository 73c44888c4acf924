import DibitBaselines
import DibitJSON
import DibitTensor
import Foundation
import Testing

@Suite struct BaselineTests {
  private func golden(_ key: String) throws -> JSONValue {
    let file = String(#filePath.dropLast("DibitBaselinesTests/BaselineTests.swift".count)) + "Fixtures/statistics/goldens.json"
    let document = try JSONValue(parsing: try Data(contentsOf: URL(filePath: file, directoryHint: .notDirectory)))
    return try #require(document[key])
  }

  private func rows(_ value: JSONValue, _ key: String) throws -> [[Double]] {
    try #require(value[key]?.array?.map { $0.array?.compactMap { $0.double } ?? [] })
  }

  private func floats(_ value: JSONValue, _ key: String) throws -> [[Float]] { try rows(value, key).map { $0.map(Float.init) } }
  private func labels(_ value: JSONValue) throws -> [Int] { try #require(value["labels"]?.array?.compactMap { $0.int }) }

  private func isProbable(_ values: [Double]) -> Bool { abs(values.reduce(0) { $0 + exp($1) } - 1) < 1e-12 }

  // MARK: Words

  @Test func words() {
    #expect(Words.split("Hello, World!  it's 3.5 x_1") == ["hello", "world", "it", "s", "3", "5", "x_1"])
    #expect(Words.split("Straße ÉTÉ e\u{301}tude Ωmega 日本") == ["straße", "été", "e\u{301}tude", "ωmega", "日本"])
    #expect(Words.split("").isEmpty && Words.split(" \u{0}\n—").isEmpty)
  }

  @Test func majority() {
    let majority = MajorityClass(labels: [0, 2, 2, 1, 2], count: 4)
    let values = majority.logProbabilities("anything")
    #expect(values == majority.logProbabilities(""))
    let shares = [2.0, 2, 4, 1].map { $0 / 9 }
    for (value, share) in zip(values, shares) { #expect(abs(value - log(share)) < 1e-15) }
  }

  @Test func naiveBayesAsScikitLearn() throws {
    let golden = try golden("naive_bayes")
    let texts = try #require(golden["texts"]?.array?.compactMap { $0.string })
    let probes = try #require(golden["probes"]?.array?.compactMap { $0.string })
    for (model, key) in [(NaiveBayes.Model.multinomial, "log_probabilities"), (.complement, "complement")] {
      let classifier = NaiveBayes(texts: texts, labels: try labels(golden), count: 3, model: model, smoothing: 0.5)
      for (probe, expected) in zip(probes, try rows(golden, key)) {
        let values = classifier.logProbabilities(probe)
        #expect(zip(values, expected).allSatisfy { abs($0 - $1) <= 1e-9 * max(1, abs($1)) }, "\(model), \(probe)")
        #expect(isProbable(values))
      }
    }
  }

  @Test func naiveBayesWithoutTextsOfALabel() {
    for model in NaiveBayes.Model.allCases {
      let classifier = NaiveBayes(texts: ["soup bread", "ball goal"], labels: [0, 1], count: 3, model: model)
      #expect(classifier.vocabularyCount == 4)
      let values = classifier.logProbabilities("soup")
      #expect(values[0] > values[1] && values[2] == -.infinity)
      #expect(NaiveBayes(texts: [], labels: [], count: 2, model: model).logProbabilities("x").allSatisfy { abs($0 - log(0.5)) < 1e-15 })
      // One label has no complement.
      #expect(NaiveBayes(texts: ["soup"], labels: [0], count: 1, model: model).logProbabilities("soup bread") == [0])
    }
  }

  /// What makes the fewest mistakes in five folds, of all that tuning tries.
  private func best(_ texts: [String], _ labels: [Int], fold: (Int) -> Int) -> NaiveBayes {
    var best = (classifier: NaiveBayes(texts: [], labels: [], count: 3), wrong: Int.max)
    for model in NaiveBayes.Model.allCases {
      for smoothing in [1, 0.3, 0.1, 0.03, 0.01] {
        func classifier(_ learnt: [Int]) -> NaiveBayes {
          NaiveBayes(texts: learnt.map { texts[$0] }, labels: learnt.map { labels[$0] }, count: 3, model: model, smoothing: smoothing)
        }
        var wrong = 0
        for asked in 0..<5 {
          let learnt = classifier(texts.indices.filter { fold($0) != asked })
          for index in texts.indices where fold(index) == asked {
            let row = learnt.logProbabilities(texts[index])
            if row.indices.max(by: { row[$0] < row[$1] }) != labels[index] { wrong += 1 }
          }
        }
        if wrong < best.wrong { best = (classifier(Array(texts.indices)), wrong) }
      }
    }
    return best.classifier
  }

  /// Texts of many common words and one that tells the label.
  private func rareWords(_ count: Int) -> (texts: [String], labels: [Int]) {
    var rng = SplitMix64(seed: 5)
    var (texts, labels): ([String], [Int]) = ([], [])
    for index in 0..<count {
      let common = (0..<30).map { _ in "common\(rng.below(400))" }
      texts.append((common + ["own\(index % 3)x\(rng.below(12))"]).joined(separator: " "))
      labels.append(index % 3)
    }
    return (texts, labels)
  }

  @Test("tuning takes the model and the smoothing that make the fewest mistakes on texts left out")
  func tunedSmoothing() {
    // Rare words decide here, among many common ones: a large α drowns them.
    let (texts, labels) = rareWords(300)
    let (tuned, expected) = (NaiveBayes.tuned(texts: texts, labels: labels, count: 3), best(texts, labels) { $0 % 5 })
    #expect(tuned.logProbabilities(texts[0]) == expected.logProbabilities(texts[0]))
    #expect(tuned.logProbabilities(texts[0]) != NaiveBayes(texts: texts, labels: labels, count: 3).logProbabilities(texts[0]))
    #expect(NaiveBayes.tuned(texts: ["a"], labels: [1], count: 2).logProbabilities("a")[1] == 0)
  }

  /// A text with two labels must not be learnt with one of them and asked about for the other.
  @Test func tuningKeepsTheLabelsOfATextTogether() {
    let (singles, first) = rareWords(150)
    let texts = singles.flatMap { [$0, $0] }
    let labels = first.flatMap { [$0, ($0 + 1) % 3] }
    let probe = "common1 common2 own1x3"
    let tuned = NaiveBayes.tuned(texts: texts, labels: labels, count: 3).logProbabilities(probe)
    #expect(tuned == best(texts, labels) { $0 / 2 % 5 }.logProbabilities(probe))
    #expect(tuned != best(texts, labels) { $0 % 5 }.logProbabilities(probe))
  }

  private func tempered(texts: [String], labels: [Int], count: Int) -> NaiveBayes {
    NaiveBayes(
      texts: texts, labels: labels, count: count, setting: NaiveBayes.temperedSetting(texts: texts, labels: labels, count: count))
  }

  @Test("scores of long texts, of which most words say the same, are divided by a temperature, and no answer changes")
  func temperedNaiveBayes() {
    var rng = SplitMix64(seed: 5)
    func text(_ label: Int, _ words: Int) -> String {
      // One of four words is of the text's own label or of any, at random, and stands there again and again.
      let word = "w\(rng.below(4) == 0 ? rng.below(3) : label)x\(rng.below(5))"
      return Array(repeating: word, count: words).joined(separator: " ")
    }
    func factor(_ words: Int) -> Double {
      let labels = (0..<300).map { $0 % 3 }
      // What is the same text is in one fold.
      let texts = labels.enumerated().map { text($1, words) + " own\($0)" }
      let plain = NaiveBayes.tuned(texts: texts, labels: labels, count: 3)
      let cooled = tempered(texts: texts, labels: labels, count: 3)
      var factors: [Double] = []
      for text in texts.prefix(30) {
        let (a, b) = (plain.logProbabilities(text), cooled.logProbabilities(text))
        #expect(isProbable(b))
        #expect(a.indices.max { a[$0] < a[$1] } == b.indices.max { b[$0] < b[$1] })
        if abs(b[0] - b[1]) > 1e-3 { factors.append((a[0] - a[1]) / (b[0] - b[1])) }
      }
      let (least, most) = (factors.min() ?? 0, factors.max() ?? 0)
      #expect(most - least < 1e-6 && NaiveBayes.temperatures.contains { abs($0 - most) < 1e-6 }, "\(least), \(most)")
      return most
    }
    let (short, long) = (factor(1), factor(10))
    #expect(short < 2 && long > 3, "\(short), \(long)")
    // Nothing to go by.
    #expect(tempered(texts: ["a"], labels: [1], count: 2).logProbabilities("a")[1] == 0)
    #expect(tempered(texts: [], labels: [], count: 2).logProbabilities("a").allSatisfy { abs($0 - log(0.5)) < 1e-12 })
  }

  @Test("a fit of naive Bayes that was kept answers as before, and parts that no fit has are none")
  func partsOfNaiveBayes() throws {
    let (texts, labels) = rareWords(90)
    let fit = tempered(texts: texts, labels: labels, count: 3)
    let kept = try #require(NaiveBayes(fit.parts, labels: 3))
    #expect(kept.parts == fit.parts && kept.vocabularyCount == fit.vocabularyCount)
    for text in texts.prefix(9) + ["", "nothing known"] {
      let (before, after) = (fit.logProbabilities(text), kept.logProbabilities(text))
      #expect(zip(before, after).allSatisfy { abs($0 - $1) < 1e-4 } && isProbable(after))
    }
    func isRefused(_ labels: Int = 3, _ change: (inout NaiveBayes.Parts) -> Void = { _ in }) -> Bool {
      var parts = fit.parts
      change(&parts)
      return NaiveBayes(parts, labels: labels) == nil
    }
    #expect(!isRefused() && isRefused(0) && isRefused(2) && isRefused(-3))
    #expect(isRefused { $0.hashes[0] = $0.hashes[1] } && isRefused { $0.hashes.removeLast() } && isRefused { $0.weights[0] = .infinity })
    // A label without texts is impossible for it.
    #expect(NaiveBayes(NaiveBayes.tuned(texts: ["a"], labels: [0], count: 2).parts, labels: 2) == nil)
  }

  @Test("naive Bayes takes part where probabilities are better with it, and not where a label has no texts or there are too many words")
  func termPool() throws {
    var rng = SplitMix64(seed: 9)
    // A word tells the label by how often it is there: what the regression, which takes logarithms, knows less well.
    let labels = (0..<120).map { $0 % 2 }
    let texts = labels.map { label in
      (0..<30).map { _ in Int(rng.below(100)) < (label == 0 ? 55 : 45) ? "a" : "b" }.joined(separator: " ")
    }
    let pool = TermPool.tuned(texts: texts, labels: labels, count: 2)
    let bayes = try #require(pool.bayes)
    for text in texts.prefix(9) {
      let found = pool.logProbabilities(text)
      let sums = zip(pool.regression.logProbabilities(text), bayes.logProbabilities(text)).map { ($0 + $1) / 2 }
      let total = log(sums.reduce(0) { $0 + exp($1) })
      #expect(zip(found, sums).allSatisfy { abs($0 - ($1 - total)) < 1e-12 })
      #expect(TermPool.tuned(texts: texts, labels: labels, count: 2, threads: 3).logProbabilities(text) == found)
    }
    // Only endings of words tell: naive Bayes has nothing to say.
    let endings = labels.indices.map { index in
      "\((0..<6).map { _ in String("abcdefghiklmnoprstuvz".randomElement(using: &rng) ?? "a") }.joined())\(["ing", "ness"][labels[index]])"
    }
    let alone = TermPool.tuned(texts: endings, labels: labels, count: 2)
    #expect(alone.bayes == nil && alone.logProbabilities(endings[0]) == alone.regression.logProbabilities(endings[0]))
    let three = TermPool.tuned(texts: texts, labels: labels, count: 3).logProbabilities(texts[0])
    #expect(three.allSatisfy { $0.isFinite })
    let many = (0..<300).map { text in "a" + (0..<1_000).map { " w\(text * 1_000 + $0)" }.joined() }
    #expect(TermPool.tuned(texts: many, labels: many.indices.map { $0 % 2 }, count: 2).bayes == nil)
  }

  // MARK: Features

  @Test(arguments: [0, 1])
  func logisticRegressionAsScikitLearn(index: Int) throws {
    let both = try golden("logistic")
    let golden = try #require(both.array?[index])
    var options = LogisticRegression.Options()
    options.penalty = try #require(golden["penalty"]?.double)
    options.standardizes = golden["standardize"] == .bool(true)
    options.tolerance = 1e-13
    let model = LogisticRegression(features: try floats(golden, "rows"), labels: try labels(golden), count: 3, options: options)
    for (probe, expected) in zip(try floats(golden, "probes"), try rows(golden, "log_probabilities")) {
      let values = model.logProbabilities(probe)
      #expect(zip(values, expected).allSatisfy { abs($0 - $1) <= 1e-9 * max(1, abs($1)) }, "\(values) \(expected)")
      #expect(isProbable(values))
    }
    #expect(model == LogisticRegression(features: try floats(golden, "rows"), labels: try labels(golden), count: 3, options: options))
  }

  @Test func logisticRegressionConvergesAtItsUsualTolerance() throws {
    var generator = SplitMix64(seed: 2)
    let labels = (0..<120).map { $0 % 5 }
    let rows = labels.map { label in (0..<40).map { column in generator.normal() + (column % 5 == label ? 1.5 : 0) } }
    let model = LogisticRegression(features: rows, labels: labels, count: 5)
    #expect(model.converged && model.steps > 3 && model.steps < 100, "\(model.steps)")
    let hits = zip(rows, labels).count { row, label in
      let values = model.logProbabilities(row)
      return values.indices.max { values[$0] < values[$1] } == label
    }
    #expect(hits > 110)
    var options = LogisticRegression.Options()
    options.steps = 2
    #expect(!LogisticRegression(features: rows, labels: labels, count: 5, options: options).converged)
  }

  @Test func logisticRegressionOfNothingAndOfConstants() {
    let nothing = LogisticRegression(features: [], labels: [], count: 3)
    #expect(nothing.logProbabilities([]).allSatisfy { abs($0 - log(1.0 / 3)) < 1e-15 })
    // A column that never changes tells nothing; the intercepts are the labels' frequencies.
    let constant = LogisticRegression(features: [[7], [7], [7], [7]], labels: [0, 0, 0, 1], count: 2)
    #expect(abs(constant.logProbabilities([7])[0] - log(0.75)) < 1e-5)
  }

  @Test func nearestCentroid() throws {
    let golden = try golden("centroid")
    let (features, labels) = (try floats(golden, "rows"), try labels(golden))
    let model = NearestCentroid(features: features, labels: labels, count: 4)
    for (probe, expected) in zip(try floats(golden, "probes"), try rows(golden, "cosines")) {
      #expect(zip(model.cosines(probe), expected).allSatisfy { abs($0 - $1) < 1e-9 })
      let values = model.logProbabilities(probe)
      #expect(isProbable(values))
      #expect(values.indices.max { values[$0] < values[$1] } == expected.indices.max { expected[$0] < expected[$1] })
    }
    #expect(model.sharpness > 0.2 && model.sharpness < 2000)
    #expect(model == NearestCentroid(features: features, labels: labels, count: 4))
  }

  @Test func nearestCentroidIsSureWhereRowsAreFarApart() {
    let rows = (0..<20).map { index -> [Float] in
      let small = 0.01 * Float(index)
      return index % 2 == 0 ? [1, small] : [small, 1]
    }
    let sure = NearestCentroid(features: rows, labels: (0..<20).map { $0 % 2 }, count: 2)
    #expect(exp(sure.logProbabilities([1, 0])[0]) > 0.99)
    // Labels that have nothing to do with the rows: no confidence is warranted.
    let unsure = NearestCentroid(features: rows, labels: (0..<20).map { $0 / 2 % 2 }, count: 2)
    #expect(abs(exp(unsure.logProbabilities([1, 0])[0]) - 0.5) < 0.1)
    #expect(NearestCentroid(features: [[0, 0]], labels: [0], count: 2).logProbabilities([0, 0]).allSatisfy { abs($0 - log(0.5)) < 1e-15 })
  }
}
