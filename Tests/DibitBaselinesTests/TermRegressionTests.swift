import DibitBaselines
import DibitJSON
import DibitTensor
import Foundation
import Testing

@Suite struct TermRegressionTests {
  private func golden() throws -> JSONValue {
    let file = String(#filePath.dropLast("DibitBaselinesTests/TermRegressionTests.swift".count)) + "Fixtures/statistics/goldens.json"
    let document = try JSONValue(parsing: try Data(contentsOf: URL(filePath: file, directoryHint: .notDirectory)))
    return try #require(document["terms"])
  }

  private func fit(_ texts: [String], _ labels: [Int], _ kinds: [TermKind], count: Int = 2) -> TermRegression {
    TermRegression(texts: texts, labels: labels, count: count, setting: .init(kinds, penalty: 0.1))
  }

  private func isProbable(_ values: [Double]) -> Bool { abs(values.reduce(0) { $0 + exp($1) } - 1) < 1e-12 }
  private func answer(_ values: [Double]) -> Int? { values.indices.max { values[$0] < values[$1] } }

  @Test(arguments: 0..<5)
  func asScikitLearn(index: Int) throws {
    let golden = try golden()
    let texts = try #require(golden["texts"]?.array?.compactMap { $0.string })
    let labels = try #require(golden["labels"]?.array?.compactMap { $0.int })
    let probes = try #require(golden["probes"]?.array?.compactMap { $0.string })
    let expected = try #require(golden["fits"]?.array?[index])
    let names: [String: TermKind] = ["words": .words, "pairs": .pairs, "letters": .letters]
    let kinds = try #require(expected["kinds"]?.array?.compactMap { $0.string.flatMap { names[$0] } })
    let columns = try #require(expected["columns"]?.int)
    let rows = try #require(expected["log_probabilities"]?.array?.map { $0.array?.compactMap { $0.double } ?? [] })
    // Where the other side leaves rare terms out, so does a limit of as many columns as it keeps.
    let limit = kinds.count > 1 ? TermRegression.weightLimit : columns * 3
    let model = TermRegression(
      texts: texts, labels: labels, count: 3, setting: .init(kinds, penalty: try #require(expected["penalty"]?.double)), tolerance: 1e-13,
      weightLimit: limit)
    #expect(model.columns == columns)
    for (probe, expected) in zip(probes, rows) {
      let values = model.logProbabilities(probe)
      #expect(zip(values, expected).allSatisfy { abs($0 - $1) <= 1e-9 * max(1, abs($1)) }, "\(kinds), \(probe): \(values) \(expected)")
      #expect(isProbable(values))
    }
  }

  @Test func termsOfEachKind() {
    func columns(_ text: String, _ kind: TermKind) -> Int { fit([text], [0], [kind]).columns }
    #expect(columns("To be, or not to be", .words) == 4)
    // "to be", "be or", "or not", "not to".
    #expect(columns("To be, or not to be", .pairs) == 8)
    // " ab", "ab ", " ab "; a word of one letter is a run with its blanks.
    #expect(columns("ab", .letters) == 3 && columns(" a\n\ta ", .letters) == 1)
    // A clause without spaces: four runs of three, three of four, two of five.
    #expect(columns("日本語の", .letters) == 9 && columns("日本語の", .words) == 1)
    #expect(columns("", .letters) == 0 && columns(" \n", .pairs) == 0 && columns("?!", .words) == 0)
  }

  @Test("a word between two that is not known keeps them apart")
  func unknownWords() {
    let model = fit(["hot soup", "soup hot", "cold tea", "tea cold"], [0, 1, 0, 1], [.pairs])
    let (pair, apart) = (model.logProbabilities("hot soup"), model.logProbabilities("hot zzz soup"))
    #expect(answer(pair) == 0 && pair[0] > apart[0])
    #expect(model.logProbabilities("zzz zzz") == model.logProbabilities(""))
  }

  @Test("the rarest terms are left out where there are too many")
  func limit() {
    let texts = (0..<40).map { "common half\($0 % 2) own\($0)" }
    func columns(_ limit: Int) -> Int {
      TermRegression(
        texts: texts, labels: (0..<40).map { $0 % 2 }, count: 2, setting: .init([.words], penalty: 1), weightLimit: limit * 2
      ).columns
    }
    #expect(columns(43) == 43 && columns(42) == 3 && columns(3) == 3 && columns(2) == 1 && columns(0) == 0)
  }

  @Test("texts that nothing can be learnt from give the labels' frequencies", arguments: TermRegression.kinds)
  func nothingToLearn(kinds: [TermKind]) {
    for texts in [["", "", "", ""], ["?!", " ", "\n", "\u{0}"]] where !kinds.contains(.letters) || texts[0].isEmpty {
      let values = fit(texts, [0, 0, 0, 1], kinds).logProbabilities("anything")
      #expect(abs(exp(values[0]) - 0.75) <= 1e-5 && isProbable(values))
    }
    #expect(fit([], [], kinds).logProbabilities("x").allSatisfy { abs($0 - log(0.5)) < 1e-15 })
    // One label, and one text.
    #expect(fit(["a b", "c"], [0, 0], kinds, count: 1).logProbabilities("a") == [0])
    #expect(answer(fit(["one text"], [1], kinds).logProbabilities("one text")) == 1)
  }

  @Test func tuningOfDegenerateTexts() {
    for (texts, labels) in [([], []), (["a"], [1]), (["", ""], [0, 1]), (["same", "same", "same"], [0, 1, 1]), (["?!", "a"], [1, 1])] {
      let model = TermRegression.tuned(texts: texts, labels: labels, count: 3)
      #expect(isProbable(model.logProbabilities("a same text")) && isProbable(model.logProbabilities("")))
    }
    // A label without texts.
    let values = TermRegression.tuned(texts: ["soup bread", "ball goal"], labels: [0, 1], count: 3).logProbabilities("soup")
    #expect(values[0] > values[1] && values[2] < values[0] && values.allSatisfy(\.isFinite))
  }

  @Test("tuning takes letters where they tell, words where these do, and its result does not depend on threads")
  func tunedTerms() {
    var rng = SplitMix64(seed: 11)
    // Words that occur once each, of which only the ending tells.
    let endings = ["ing", "ness", "ful"]
    let texts = (0..<120).map { index in
      (0..<4).map { _ in "\((0..<5).map { _ in String("abcdefghiklmnoprstuvz".randomElement(using: &rng) ?? "a") }.joined())" }
        .joined(separator: " ") + "\(endings[index % 3])"
    }
    let labels = texts.indices.map { $0 % 3 }
    let model = TermRegression.tuned(texts: texts, labels: labels, count: 3)
    #expect(model.setting.kinds == [.letters] && TermRegression.penalties.contains(model.setting.penalty))
    for ending in endings.indices { #expect(answer(model.logProbabilities("qqqq" + endings[ending])) == ending) }
    for threads in [2, 5] {
      let other = TermRegression.tuned(texts: texts, labels: labels, count: 3, threads: threads)
      #expect(other.setting == model.setting && other.logProbabilities(texts[0]) == model.logProbabilities(texts[0]))
    }
    let topics = ["soup", "goal", "moon"]
    let words = (0..<90).map { "\(topics[$0 % 3]) a\($0 % 7) b\($0 % 11)" }
    #expect(TermRegression.tuned(texts: words, labels: words.indices.map { $0 % 3 }, count: 3).setting.kinds == [.words])
  }

  @Test("order decides where only pairs of words can tell")
  func tunedPairs() {
    let texts = (0..<60).map { index in
      let (first, second) = index % 2 == 0 ? ("north", "south") : ("south", "north")
      return "w\(index % 5) \(first) \(second) w\(index % 3)"
    }
    let model = TermRegression.tuned(texts: texts, labels: texts.indices.map { $0 % 2 }, count: 2)
    #expect(model.setting.kinds == [.pairs] && answer(model.logProbabilities("north south")) == 0)
  }

  @Test("a fit that was kept answers as before, and parts that no fit has are none", arguments: TermRegression.kinds)
  func parts(kinds: [TermKind]) throws {
    let texts = (0..<60).map { "common half\($0 % 2) third\($0 % 3) own\($0)" }
    // Some terms are left out, so that numbers and columns differ.
    let model = TermRegression(
      texts: texts, labels: texts.indices.map { $0 % 3 }, count: 3, setting: .init(kinds, penalty: 0.125), weightLimit: 360)
    #expect(model.columns < 120)
    let parts = model.parts
    let kept = try #require(TermRegression(parts, labels: 3))
    #expect(kept.columns == model.columns && kept.setting == model.setting && kept.parts == parts)
    for text in texts.prefix(9) + ["", "nothing known", "third2 half1"] {
      let (before, after) = (model.logProbabilities(text), kept.logProbabilities(text))
      #expect(zip(before, after).allSatisfy { abs($0 - $1) < 1e-5 } && isProbable(after))
    }
    #expect(TermRegression(parts, labels: 4) == nil && TermRegression(parts, labels: 0) == nil)
    func isRefused(_ change: (inout TermRegression.Parts) -> Void) -> Bool {
      var parts = parts
      change(&parts)
      return TermRegression(parts, labels: 3) == nil
    }
    #expect(isRefused { $0.weights[0] = .nan } && isRefused { $0.weights.removeLast(3) } && isRefused { $0.penalty = .infinity })
    #expect(isRefused { $0.blocks[0].hashes[0] = $0.blocks[0].hashes[1] } && isRefused { $0.blocks[0].rarities[0] = 0 })
    #expect(
      isRefused { $0.blocks[0].rarities.removeLast() } && isRefused { $0.blocks.append(.init($0.blocks[0].kind, hashes: [], rarities: [])) }
    )
  }

  @Test("a huge text among others costs time in proportion")
  func hugeText() {
    let huge = (0..<60_000).map { "word\($0 % 30_000)" }.joined(separator: " ")
    let model = fit([huge, "soup", "ball"], [0, 1, 0], [.pairs])
    #expect(model.columns == 60_002)
    #expect(answer(model.logProbabilities("soup")) == 1)
    #expect(isProbable(model.logProbabilities(String(repeating: "a", count: 1_000_000))))
  }
}
