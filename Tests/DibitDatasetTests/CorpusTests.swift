import DibitDataset
import FoundationEssentials
import Testing

private let messages = projectRoot + "/../shared/data/newsgroups"

/// The datasets that lie beside the code.
@Suite struct CorpusTests {
  @Test func topics() throws {
    let data = try Dataset.scan(folder: projectRoot + "/datasets/topics")
    #expect(
      data.labels == [
        "animals", "art", "cooking", "finance", "gardening", "health", "law", "music", "space", "sports", "technology", "travel",
      ])
    for (split, each) in [(SplitName.train, 40), (.validation, 8), (.test, 12)] {
      for label in data.labels {
        #expect(data[split].filter { $0.labels == [label] }.count == each, "\(split.rawValue)/\(label)")
      }
      #expect(data[split].count == each * 12)
    }
    #expect(data.report.textFiles == 720)
    #expect(data.report.kinds == [.loose], "only README.md is no example")
    #expect(data.report[.loose].paths == ["README.md"])
    #expect(data.digest == "c8c2100e0af2dc43db0c11d0ed623631a38792fc45ee8eeb562e08bc3d097848")
  }

  @Test func topicsShareNoRunOfEightWordsBetweenSplits() throws {
    let data = try Dataset.scan(folder: projectRoot + "/datasets/topics")
    var runs: [SplitName: Set<String>] = [:]
    for split in SplitName.allCases {
      for example in data[split] {
        let words = example.text.lowercased().split { !$0.isLetter && !$0.isNumber }
        #expect(words.count >= 8, "\(example.path)")
        for start in 0...max(words.count - 8, 0) { runs[split, default: []].insert(words[start...].prefix(8).joined(separator: " ")) }
      }
    }
    #expect(runs[.train, default: []].isDisjoint(with: runs[.test, default: []]))
    #expect(runs[.train, default: []].isDisjoint(with: runs[.validation, default: []]))
    #expect(runs[.validation, default: []].isDisjoint(with: runs[.test, default: []]))
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
