import DibitDataset
import DibitJSON
import Testing

/// The rows with several tags of three kinds that lie beside the code.
@Suite struct NotesTests {
  private struct Kind {
    let key: String
    let tags: [String]
    let limits: ClosedRange<Int>
  }

  private struct Row {
    let location: String
    let text: String
    let tags: [String: [String]]
  }

  private static let folder = projectRoot + "/datasets/notes"
  private static let kinds = [
    Kind(
      key: "topics",
      tags: [
        "work", "family", "health", "money", "food", "travel", "home", "school", "sports", "music", "pets", "shopping", "weather",
        "technology",
        "friends", "books",
      ], limits: 1...3),
    Kind(
      key: "actions",
      tags: [
        "call", "buy", "book", "pay", "cook", "clean", "repair", "meet", "write", "read", "exercise", "visit", "return", "celebrate",
      ], limits: 0...3),
    Kind(
      key: "emotions", tags: ["joy", "sadness", "anger", "fear", "surprise", "gratitude", "pride", "worry", "boredom", "love"],
      limits: 0...2),
  ]

  /// The rows of a split; a line of another shape has no tags and fails the tests.
  private static func rows(_ split: SplitName) throws -> [Row] {
    let bytes = try Card.bytes(of: "\(folder)/\(split.rawValue).jsonl")
    #expect(bytes.last == 0x0A && !bytes.contains(0x0D), "lines end with LF")
    return try bytes.dropLast().split(separator: 0x0A, omittingEmptySubsequences: false).enumerated().map { index, line in
      let location = "\(split.rawValue):\(index + 1)"
      let value = try JSONValue(parsing: line)
      #expect(value.object?.keys == ["text"] + kinds.map(\.key), "\(location)")
      var tags: [String: [String]] = [:]
      for kind in kinds {
        let found = try #require(value[kind.key]?.array, "\(location)")
        tags[kind.key] = try found.map { try #require($0.string, "\(location)") }
      }
      return Row(location: location, text: try #require(value["text"]?.string, "\(location)"), tags: tags)
    }
  }

  @Test func tagsAreFromTheClosedSetsInOrder() throws {
    for split in SplitName.allCases {
      for row in try Self.rows(split) {
        #expect(row.text.first?.isWhitespace == false && row.text.last?.isWhitespace == false, "\(row.location)")
        for kind in Self.kinds {
          let tags = row.tags[kind.key] ?? []
          #expect(tags == kind.tags.filter(tags.contains), "\(row.location) \(kind.key)")
          #expect(kind.limits.contains(tags.count), "\(row.location) \(kind.key)")
        }
      }
    }
  }

  @Test func countsAreAsTheirCardSays() throws {
    let card = try Card.rows(of: Self.folder + "/README.md")
    var counts: [SplitName: [String: Int]] = [:]
    for (split, count) in [(SplitName.train, 480), (.validation, 80), (.test, 160)] {
      let rows = try Self.rows(split)
      #expect(rows.count == count)
      let bytes = try Card.bytes(of: "\(Self.folder)/\(split.rawValue).jsonl").count
      let row = try #require(card.first { $0.first == split.rawValue && $0.count == 5 })
      #expect(row[1] == "\(count)" && row[2] == Card.lengths(rows.map(\.text)) && row[4] == "\(bytes)", "\(split)")
      for tag in rows.flatMap({ $0.tags.values.joined() }) { counts[split, default: [:]][tag, default: 0] += 1 }
    }
    for tag in Self.kinds.flatMap(\.tags) {
      let found = SplitName.allCases.map { counts[$0]?[tag] ?? 0 }
      #expect(found[0] >= 12 && found[2] >= 3, "\(tag)")
      let expected = [tag] + found.map { "\($0)" }
      #expect(card.contains { $0.starts(with: expected) || $0.suffix(4).elementsEqual(expected) }, "\(expected)")
    }
  }

  @Test func textsShareNoRunOfSixWords() throws {
    let texts = try SplitName.allCases.flatMap { try Self.rows($0) }.map { (location: $0.location, text: $0.text) }
    #expect(texts.count == 720)
    #expect(Set(texts.map(\.text)).count == 720)
    #expect(Card.sharedRun(of: 6, in: texts) == nil)
  }

  /// The same rows as the reader of datasets has them, a kind of tag at a time: those without any are examples of none.
  @Test func everyKindIsADataset() throws {
    let rows = try SplitName.allCases.flatMap { try Self.rows($0) }
    for kind in Self.kinds {
      var options = RowOptions()
      options.labelColumn = kind.key
      options.toleratesFaults = true
      let data = try Dataset.read(Self.folder, rows: options)
      #expect(data.labels == kind.tags.sorted())
      #expect(data.report.kinds == [.loose], "only README.md lies beside the rows")
      let read = SplitName.allCases.flatMap { data[$0] }
      #expect(read.map(\.text) == rows.map(\.text))
      #expect(read.map(\.labels) == rows.map { $0.tags[kind.key]?.sorted() ?? [] })
      #expect(DatasetSurvey(data).nearDuplicates.isEmpty)
    }
  }
}
