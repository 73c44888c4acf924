import Testing

@testable import DibitDataset

/// What `dibit dataset` is built on.
@Suite struct SurveyTests {
  private func example(_ number: Int, _ text: String, _ label: String = "a") -> LabelledExample {
    LabelledExample(path: "d.csv", line: number, text: text, labels: [label])
  }

  /// Different words in every text.
  private func words(_ count: Int, from first: Int) -> [String] { (first..<first + count).map { "word\($0)" } }

  @Test func similarityIsTheShareOfCommonRuns() {
    let (left, right) = ("The cat, sat on the MAT.", "the cat sat on the rug")
    #expect(WordShingles.set(of: left).count == 4)
    #expect(WordShingles.similarity(left, right) == 3.0 / 5)
    #expect(WordShingles.similarity("a b", "A-B!") == 1)
    #expect(WordShingles.similarity("a b", "a c") == 0)
    #expect(WordShingles.similarity("", "...") == 0)
    #expect(WordShingles.similarity("für dich", "fur dich") == 0)
    #expect(WordShingles.similarity("a b c d", "b c d a") == 1.0 / 3)
  }

  @Test func nearDuplicatesAreFoundAndOthersAreNot() {
    var texts = (0..<400).map { words(40, from: 40 * $0).joined(separator: " ") }
    texts[17] = "\"" + texts[3].uppercased() + "!\""
    // Two of 42 runs are new, and none is lost.
    texts[300] = texts[3] + " and more"
    var changed = words(40, from: 40 * 5)
    // A changed word in the middle changes three of 38 runs: 35 of 41 are common.
    changed[20] = "other"
    texts[200] = changed.joined(separator: " ")
    // Half of the words are common: not near.
    texts[100] = (words(20, from: 40 * 7) + words(20, from: 100_000)).joined(separator: " ")
    let found = NearDuplicates(count: texts.count) { texts[$0] }
    #expect(found.groups == [[3, 17, 300], [5, 200]])
    #expect(found.count == 5)
    #expect(NearDuplicates(count: 0) { _ in nil }.groups.isEmpty)
    #expect(NearDuplicates(count: 5) { _ in "!" }.groups.isEmpty, "texts without words say nothing")
    #expect(NearDuplicates(count: 3) { $0 == 1 ? nil : "hello there" }.groups == [[0, 2]])
  }

  @Test("texts that share 85 % of their runs are found in more than 95 of 100 cases")
  func recall() {
    var hits = 0
    for trial in 0..<200 {
      let text = words(100, from: 1000 * trial)
      var other = text
      other[30] = "x\(trial)"
      other[70] = "y\(trial)"
      let pair = [text.joined(separator: " "), other.joined(separator: " ")]
      #expect(abs(WordShingles.similarity(pair[0], pair[1]) - 92.0 / 104) < 1e-9)
      hits += NearDuplicates(count: 2) { pair[$0] }.groups.count
    }
    #expect(hits > 190)
  }

  @Test func survey() {
    let long = "when will my new card come to my house in the north"
    let data = Dataset(
      train: [
        example(1, "one two three", "a b"), example(2, "four five six", "A-b"), example(3, long, "c"),
        LabelledExample(path: "d.csv", line: 4, text: "ääää", labels: ["c", "a b"]),
      ], test: [example(9, "When will my new card come to my house, in the north?!", "a b"), example(10, "one two three", "c")])
    let survey = DatasetSurvey(data)
    #expect(survey.labels.map(\.label) == ["A-b", "a b", "c"])
    #expect(survey.labels.map(\.counts) == [[1, 0, 0], [2, 0, 1], [2, 0, 1]])
    #expect(survey.similarLabels == [["A-b", "a b"]])
    #expect(survey.multipleLabels == 1)
    #expect(survey.characters?.minimum == 4)
    #expect(survey.nearDuplicates.map(\.locations) == [["d.csv:3", "d.csv:9"]], "the text that lies in both splits is another finding")
    #expect(survey.nearDuplicates[0].crossesSplits && survey.nearDuplicates[0].hasDifferentLabels)
    #expect(DatasetSurvey(data, findingNearDuplicates: false).nearDuplicates.isEmpty)
  }

  @Test func lengths() throws {
    let summary = try #require(LengthSummary([100, 3, 8, 15, 16, 7, 9]))
    #expect((summary.count, summary.total) == (7, 158))
    #expect((summary.minimum, summary.median, summary.ninetieth, summary.maximum) == (3, 9, 100, 100))
    #expect(summary.classes.map(\.bounds) == [0...7, 8...15, 16...31, 32...63, 64...127])
    #expect(summary.classes.map(\.count) == [2, 3, 1, 0, 1])
    #expect(LengthSummary([]) == nil)
    #expect(LengthSummary([.max])?.classes.first?.count == 1)
    let hundred = try #require(LengthSummary(Array(1...100)))
    #expect((hundred.median, hundred.ninetieth, hundred.ninetyNinth) == (50, 90, 99))
  }
}
