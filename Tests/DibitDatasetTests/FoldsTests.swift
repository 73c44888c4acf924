import DibitDataset
import Testing

@Suite struct FoldsTests {
  /// Texts of different words, so many of each label.
  private func texts(_ counts: KeyValuePairs<String, Int>) -> [LabelledExample] {
    counts.flatMap { label, count in
      (0..<count).map { LabelledExample(path: "\(label)/\($0)", text: "\(label)\($0) a\($0) of \(label)", labels: [label]) }
    }
  }

  private func counts(_ folds: Folds, _ texts: [LabelledExample], _ fold: Int) -> [String: Int] {
    folds.indices(in: fold).reduce(into: [:]) { $0[texts[$1].labels[0], default: 0] += 1 }
  }

  @Test(arguments: [2, 3, 5, 10])
  func everyTextLiesInOneFold(count: Int) throws {
    let texts = texts(["a": 31, "b": 17, "c": 12])
    let folds = try Folds(texts, count: count, seed: 4)
    #expect(folds.count == count && folds.groups.isEmpty)
    #expect((0..<count).flatMap { folds.indices(in: $0) }.sorted() == Array(texts.indices))
    for fold in 0..<count {
      #expect(Set(folds.indices(in: fold)).isDisjoint(with: folds.indices(outside: fold)))
      #expect(folds.indices(in: fold).count + folds.indices(outside: fold).count == texts.count)
    }
  }

  @Test(arguments: [2, 5, 7])
  func sizesAndLabelsDifferByOneAtMost(count: Int) throws {
    let texts = texts(["a": 41, "b": 23, "c": 9, "d": 3, "e": 1])
    let folds = try Folds(texts, count: count, seed: 1)
    let sizes = (0..<count).map { folds.indices(in: $0).count }
    #expect((sizes.max() ?? 0) - (sizes.min() ?? 0) <= 1, "\(sizes)")
    for label in ["a", "b", "c", "d", "e"] {
      let found = (0..<count).map { counts(folds, texts, $0)[label] ?? 0 }
      #expect((found.max() ?? 0) - (found.min() ?? 0) <= 1, "\(label) \(found)")
    }
  }

  @Test func textsThatSayNearlyTheSameStayTogether() throws {
    let words = (0..<60).map { "w\($0)" }
    func long(_ group: Int, _ change: Int) -> String {
      (words.map { "\($0)g\(group)" } + ["end\(change)"]).joined(separator: " ")
    }
    // Five groups of three, one of them across labels, and texts without words, of which two are the same.
    let close = (0..<15).map {
      LabelledExample(path: "n\($0)", text: long($0 / 3, $0 % 3), labels: [$0 == 4 ? "b" : $0 < 9 ? "a" : "b"])
    }
    let wordless = ["...", "...", "!!"].enumerated().map { LabelledExample(path: "p\($0)", text: $1, labels: [$0 == 0 ? "a" : "b"]) }
    let all = close + wordless + texts(["a": 20, "b": 20])
    for seed: UInt64 in 0..<5 {
      let folds = try Folds(all, count: 4, seed: seed)
      for group in 0..<5 { #expect(Set(folds.assignments[3 * group..<3 * group + 3]).count == 1) }
      #expect(folds.assignments[15] == folds.assignments[16])
      #expect(folds.groups == (0..<5).map { [3 * $0, 3 * $0 + 1, 3 * $0 + 2] } + [[15, 16]])
      let sizes = (0..<4).map { folds.indices(in: $0).count }
      #expect((sizes.max() ?? 0) - (sizes.min() ?? 0) <= 3, "\(sizes)")
    }
  }

  @Test func neitherPathsNorOrderMatter() throws {
    let first = texts(["a": 30, "b": 20, "c": 2])
    let renamed = first.enumerated().map { LabelledExample(path: "\(100 - $0)", text: $1.text, labels: $1.labels) }
    let reversed = Array(renamed.reversed())
    let folds = try Folds(first, count: 5, seed: 8)
    #expect(try Folds(renamed, count: 5, seed: 8).assignments == folds.assignments)
    #expect(try Folds(reversed, count: 5, seed: 8).assignments == folds.assignments.reversed())
    #expect(try Folds(first, count: 5, seed: 9) != folds)
    #expect(first.digestOfTexts == reversed.digestOfTexts)
    #expect(first.digestOfTexts != Array(first.dropLast()).digestOfTexts)
    #expect(first.orderOfTexts.map { first[$0].text } == reversed.orderOfTexts.map { reversed[$0].text })
    let order = StratifiedOrder.indices(of: first, seed: 8)
    #expect(StratifiedOrder.indices(of: reversed, seed: 8).map { reversed[$0].text } == order.map { first[$0].text })
    #expect(StratifiedOrder.indices(of: first, seed: 9) != order)
  }

  @Test func aFoldIsNeverEmpty() throws {
    let few = texts(["a": 2, "b": 1])
    #expect(throws: DatasetError.tooFewTexts(texts: 3, groups: 3, folds: 4)) { try Folds(few, count: 4, seed: 0) }
    let folds = try Folds(few, count: 3, seed: 0)
    #expect((0..<3).allSatisfy { folds.indices(in: $0).count == 1 })
    let same = (0..<4).map { LabelledExample(path: "\($0)", text: "the very same words", labels: [$0 < 2 ? "a" : "b"]) }
    #expect(throws: DatasetError.tooFewTexts(texts: 4, groups: 1, folds: 2)) { try Folds(same, count: 2, seed: 0) }
    #expect(
      "\(DatasetError.tooFewTexts(texts: 4, groups: 1, folds: 2))"
        == "2 folds need 2 different texts at least, found 4 texts in 1 group of nearly the same words; ask for fewer folds or add texts")
  }

  @Test func everyBeginningHasTheLabelsShares() {
    let all = texts(["a": 80, "b": 40, "c": 8])
    let order = StratifiedOrder.indices(of: all, seed: 3)
    #expect(order.sorted() == Array(all.indices))
    for size in [16, 32, 64, 100] {
      let found = order.prefix(size).reduce(into: [String: Int]()) { $0[all[$1].labels[0], default: 0] += 1 }
      for (label, count) in [("a", 80), ("b", 40), ("c", 8)] {
        let share = Double(count * size) / 128
        #expect(abs(Double(found[label] ?? 0) - share) <= 1, "\(label) of \(size): \(found[label] ?? 0), \(share)")
      }
    }
  }

  @Test func trainingPartsAreThoseOfTraining() {
    for count in [20, 90, 240] {
      let texts = texts(["a": count / 2, "b": count / 2])
      var dataset = Dataset(train: texts)
      dataset.splitAutomatically(seed: 5)
      let parts = texts.splitForTraining(seed: 5)
      #expect(Set(parts.training.map(\.path)) == Set(dataset.train.map(\.path)))
      #expect(Set(parts.validation.map(\.path)) == Set(dataset.validation.map(\.path)))
      #expect(parts.validation.count == Dataset.automaticValidationSize(trainingCount: count))
    }
  }
}
