import DibitDataset
import FoundationEssentials
import Testing

private let messages = projectRoot + "/../shared/data/newsgroups"

/// The folders of labelled texts that lie beside the code.
@Suite struct CorpusTests {
  private let topics = projectRoot + "/datasets/topics"

  @Test func topicsAreAsManyOfEachLabel() throws {
    let data = try Dataset.scan(folder: topics)
    #expect(
      data.labels == [
        "animals", "art", "books", "cooking", "education", "family", "fashion", "film", "finance", "games", "gardening", "health",
        "history",
        "housing", "law", "music", "politics", "religion", "space", "sports", "technology", "transport", "travel", "weather",
      ])
    for (split, each) in [(SplitName.train, 64), (.validation, 12), (.test, 24)] {
      for label in data.labels {
        #expect(data[split].filter { $0.labels == [label] }.count == each, "\(split.rawValue)/\(label)")
      }
      #expect(data[split].count == each * 24)
    }
    #expect(data.report.textFiles == 2400)
    #expect(data.report.kinds == [.loose], "only README.md is no example")
    #expect(data.report[.loose].paths == ["README.md"])
    #expect(data.digest == "15185ee024d9aa7bd2d83b90d7c9a9419013bde4a5f28b48cd4c87cf8c2f2747")
  }

  @Test func topicsAreAsTheirCardSays() throws {
    let data = try Dataset.scan(folder: topics)
    let card = try Card.rows(of: topics + "/README.md")
    for split in SplitName.allCases {
      var bytes = 0
      for example in data[split] {
        let file = try Card.bytes(of: topics + "/" + example.path)
        bytes += file.count
        // As it is on the disk: nothing was converted or stripped.
        let isPlain = file.elementsEqual(example.text.utf8) && !file.contains(0x0D)
        let isTrimmed = example.text.first?.isWhitespace == false && example.text.dropLast().last?.isWhitespace == false
        #expect(isPlain && isTrimmed && file.last == 0x0A, "\(example.path): UTF-8 without white space around it but one LF at its end")
        let words = example.text.split(whereSeparator: \.isWhitespace).count
        #expect(4...220 ~= words, "\(example.path)")
      }
      let count = data[split].count
      #expect(card.contains([split.rawValue, "\(count)", "\(count / 24)", Card.lengths(data[split].map(\.text)), "\(bytes)"]), "\(split)")
    }
    let lengths = SplitName.allCases.flatMap { data[$0] }.map { $0.text.split(whereSeparator: \.isWhitespace).count }
    let shares = [lengths.count { $0 < 12 }, lengths.count { 12...60 ~= $0 }, lengths.count { 61...130 ~= $0 }, lengths.count { $0 > 130 }]
    let rounds = card.filter { $0.first?.hasSuffix("round") == true }.map { $0.dropFirst().compactMap { Int($0) } }
    try #require(rounds.count == 2)
    #expect(shares == zip(rounds[0], rounds[1]).map { $0 + $1 })
  }

  @Test func topicsShareNoRunOfSixWords() throws {
    let data = try Dataset.scan(folder: topics)
    let texts = SplitName.allCases.flatMap { data[$0] }.map { (location: $0.path, text: $0.text) }
    #expect(Card.sharedRun(of: 6, in: texts) == nil)
    #expect(Card.sharedRun(of: 6, in: texts + [("new", "Well: " + texts[7].text)])?.hasPrefix(texts[7].location + ", new: ") == true)
    #expect(DatasetSurvey(data).nearDuplicates.isEmpty)
  }

  /// Real messages: 20 labels of 100 files, six of which are not UTF-8 and eight of which were posted to two groups.
  @Test(.enabled(if: FileManager.default.fileExists(atPath: messages), "no ../shared/data/newsgroups on this machine"))
  func newsgroups() throws {
    var data = try Dataset.scan(folder: messages)
    #expect(data.labels.count == 20)
    #expect(data.report.textFiles == 2000)
    #expect(data.report[.reencoded].count == 6)
    #expect(data.report[.reencoded].entries.allSatisfy { $0.detail.hasPrefix("Windows-1252") })
    #expect(data.report[.multipleLabels].count == 8)
    #expect(data.report.kinds == [.loose, .reencoded, .multipleLabels])
    #expect(data.train.count == 1992)
    #expect(data.train.filter { $0.labels.count == 2 }.count == 8)
    #expect(data.splitAutomatically(seed: 42) == SplitSummary(train: 1892, validation: 100, test: 0, automatic: [.validation]))
    let counts = data.validation.reduce(into: [:]) { $0[$1.labels[0], default: 0] += 1 }
    #expect(counts.count == 20 && counts.values.allSatisfy { 4...6 ~= $0 })
  }
}
