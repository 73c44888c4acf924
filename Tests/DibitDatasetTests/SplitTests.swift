import DibitDataset
import Testing

@Suite struct SplitTests {
  /// A dataset in memory with so many examples of each label.
  private func dataset(_ counts: KeyValuePairs<String, Int>, path: (String, Int) -> String = { "\($0)/\($1)" }) -> Dataset {
    Dataset(
      train: counts.flatMap { label, count in
        (0..<count).map { LabelledExample(path: path(label, $0), text: "\(label) \($0)", labels: [label]) }
      })
  }

  private func counts(_ examples: [DatasetExample]) -> [String: Int] {
    examples.reduce(into: [:]) { $0[$1.labels[0], default: 0] += 1 }
  }

  @Test(arguments: [
    (0, 0), (1, 0), (49, 0), (50, 5), (54, 5), (55, 6), (199, 20), (200, 10), (209, 10), (210, 11), (1992, 100), (2000, 100),
  ])
  func sizes(training: Int, validation: Int) {
    #expect(Dataset.automaticValidationSize(trainingCount: training) == validation)
    var data = dataset(["a": training / 2, "b": training - training / 2])
    let summary = data.splitAutomatically(seed: 1)
    #expect(
      summary
        == SplitSummary(
          train: training - validation, validation: validation, test: 0, automatic: validation > 0 ? [.validation] : []))
    #expect(data.splitSummary == summary)
  }

  @Test func labelsKeepTheirProportions() {
    var data = dataset(["a": 100, "b": 60, "c": 37, "d": 2, "e": 1])  // 200 in all, 10 to draw; shares 5.03, 3.02, 1.86, 0.10, none
    data.splitAutomatically(seed: 3)
    #expect(counts(data.validation) == ["a": 5, "b": 3, "c": 2])
    #expect(counts(data.train) == ["a": 95, "b": 57, "c": 35, "d": 2, "e": 1])
  }

  @Test func everyLabelKeepsATrainingExample() {
    var singles = Dataset(train: (0..<60).map { LabelledExample(path: "\($0)", text: "\($0)", labels: ["l\($0)"]) })
    #expect(singles.splitAutomatically(seed: 1).validation == 0)
    #expect(singles.evaluationSplit.name == .train)
    var pairs = dataset(["a": 2, "b": 2])
    #expect(pairs.splitAutomatically(seed: 1).validation == 0)
    // 58 labels of one example, one of two: six are asked for, one can be given.
    var mixed = Dataset(
      train: (0..<58).map { LabelledExample(path: "\($0)", text: "\($0)", labels: ["l\($0)"]) }
        + (0..<2).map { LabelledExample(path: "p\($0)", text: "p\($0)", labels: ["pair"]) })
    #expect(mixed.splitAutomatically(seed: 1).validation == 1)
    #expect(counts(mixed.train)["pair"] == 1)
    // 25 labels of two: each has the same share, five of them give one.
    var many = Dataset(
      train: (0..<50).map { LabelledExample(path: "\($0)", text: "\($0)", labels: ["l\($0 / 2)"]) })
    #expect(many.splitAutomatically(seed: 1).validation == 5)
    #expect(counts(many.validation).values.allSatisfy { $0 == 1 })
  }

  @Test func seedsDecide() {
    func paths(_ seed: UInt64) -> [String] {
      var data = dataset(["a": 70, "b": 50])
      data.splitAutomatically(seed: seed)
      return data.validation.map(\.path)
    }
    #expect(paths(0) == paths(0))
    #expect(paths(42) == paths(42))
    #expect(Set((0..<20).map(paths)).count == 20)
    // Every example is drawn about equally often: 12 of 120 in each of 1,000 draws makes 100, with a deviation of about 9.5.
    var often: [String: Int] = [:]
    for seed in 0..<1000 { for path in paths(UInt64(seed)) { often[path, default: 0] += 1 } }
    #expect(often.count == 120)
    #expect(often.values.allSatisfy { abs($0 - 100) < 50 })
  }

  /// Pinned, so that an adapter trained by one release is evaluated on its held-out examples by the next.
  @Test func drawIsPinned() {
    var data = dataset(["a": 30, "b": 30])
    data.splitAutomatically(seed: 42)
    #expect(data.validation.map(\.path) == ["a/13", "a/2", "a/28", "b/23", "b/25", "b/8"])
  }

  @Test func namesDoNotMatterAndOldDrawsStay() {
    var (plain, renamed) = (dataset(["a": 80, "b": 60]), dataset(["a": 80, "b": 60]) { "\($0)/z\(1000 - $1)" })
    plain.splitAutomatically(seed: 5)
    renamed.splitAutomatically(seed: 5)
    #expect(Set(plain.validation.map(\.text)) == Set(renamed.validation.map(\.text)))
    var grown = dataset(["a": 81, "b": 60])
    grown.splitAutomatically(seed: 5)
    #expect(Set(plain.validation.map(\.text)).subtracting(grown.validation.map(\.text)).count <= 1)
  }

  @Test func splitsAreDisjointSortedAndDigestStays() {
    var data = dataset(["b": 130, "a": 130])
    let (digest, all) = (data.digest, Set(data.train.map(\.path)))
    let trainDigest = data.digest(of: .train)
    data.splitAutomatically(seed: 9)
    let (train, validation) = (data.train.map(\.path), data.validation.map(\.path))
    #expect(Set(train).isDisjoint(with: validation))
    #expect(Set(train).union(validation) == all)
    #expect(train == train.sorted() && validation == validation.sorted())
    #expect(data.digest == digest)
    #expect(data.digest(of: .train) != trainDigest)
    let before = data
    #expect(data.splitAutomatically(seed: 10) == before.splitSummary)
    #expect(data == before, "a second call changes nothing")
  }

  @Test func givenValidationStays() throws {
    let folder = try TemporaryFolder()
    for number in 0..<60 { try folder.write("train/\(number % 3)/\(number)", "text \(number)") }
    try folder.write("dev/1/x", "held out")
    var data = try Dataset.scan(folder: folder.path)
    #expect(data.splitAutomatically(seed: 1) == SplitSummary(train: 60, validation: 1, test: 0, automatic: []))
    #expect(data.evaluationSplit.name == .validation)
  }

  @Test func testSplitIsPreferredForEvaluationAndValidationIsStillDrawn() {
    var data = Dataset(
      train: (0..<50).map { LabelledExample(path: "train/\($0)", text: "\($0)", labels: ["\($0 % 2)"]) },
      test: [LabelledExample(path: "test/t", text: "t", labels: ["0"])])
    #expect(data.splitForEvaluation(seed: 1).name == .test)
    #expect(data.splitSummary == SplitSummary(train: 45, validation: 5, test: 1, automatic: [.validation]))
    #expect(data.evaluationSplit.examples.map(\.path) == ["test/t"])
  }

  @Test func evaluationOfAFlatFolderUsesWhatTrainingHeldOut() {
    var (training, evaluating) = (dataset(["a": 100, "b": 100]), dataset(["a": 100, "b": 100]))
    training.splitAutomatically(seed: 11)
    let held = evaluating.splitForEvaluation(seed: 11)
    #expect(held.name == .validation)
    #expect(held.examples == training.validation)
    #expect(Set(held.examples.map(\.digest)).isDisjoint(with: training.train.map(\.digest)))
    var small = dataset(["a": 20, "b": 20])
    let seen = small.splitForEvaluation(seed: 11)
    #expect(seen.name == .train && seen.examples.count == 40)
  }

  @Test func severalLabelsCountForTheFirst() {
    var data = Dataset(
      train: (0..<100).map { LabelledExample(path: "\($0)", text: "\($0)", labels: $0 < 50 ? ["z", "a"] : ["z"]) })
    data.splitAutomatically(seed: 2)
    #expect(counts(data.validation) == ["a": 5, "z": 5])
  }
}
