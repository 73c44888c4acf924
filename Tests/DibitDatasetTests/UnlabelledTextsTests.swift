import Testing

@testable import DibitDataset

@Suite struct UnlabelledTextsTests {
  private let dataset = Dataset(
    train: [LabelledExample(path: "t", text: "known", labels: ["a"])],
    test: [LabelledExample(path: "u", text: "asked about", labels: ["b"])])

  private func read(_ path: String, limit: Int = 100, seed: UInt64 = 1) throws(DatasetError) -> UnlabelledTexts {
    try UnlabelledTexts(at: path, limit: limit, seed: seed, beside: dataset)
  }

  @Test("each text once, none that the data has, none that says nothing")
  func texts() throws {
    let folder = try TemporaryFolder([
      "b.txt": "two", "a.txt": "one", "c.txt": "known", "d.txt": "asked about", "e.txt": " \n", "f.txt": "one",
      "rows.csv": "text,label\nthree,x\none,\n",
    ])
    let found = try read(folder.path)
    #expect(found.examples.map(\.text) == ["one", "two", "three"] && found.examples.allSatisfy { $0.labels.isEmpty })
    #expect(found.examples.map(\.line) == [0, 0, 2])
    #expect(found.found == 8 && found.repeated == 5 && found.unreadable.count == 0)
  }

  @Test("the seed draws the same texts wherever they lie")
  func draw() throws {
    let lines = (0..<200).map { "text \($0)" }
    let folder = try TemporaryFolder([
      "forwards.jsonl": lines.map { "{\"text\": \"\($0)\"}" }.joined(separator: "\n"),
      "backwards.jsonl": lines.reversed().map { "{\"text\": \"\($0)\"}" }.joined(separator: "\n"),
    ])
    func drawn(_ name: String, _ limit: Int, _ seed: UInt64) throws -> [String] {
      try read(folder.absolute(name), limit: limit, seed: seed).examples.map(\.text)
    }
    let some = try drawn("forwards.jsonl", 20, 1)
    #expect(some.count == 20 && Set(some).count == 20)
    #expect(try Set(drawn("backwards.jsonl", 20, 1)) == Set(some))
    #expect(try Set(drawn("forwards.jsonl", 20, 2)) != Set(some))
    #expect(try Set(drawn("forwards.jsonl", 30, 1)).isSuperset(of: some))
    #expect(try drawn("forwards.jsonl", 200, 1) == lines)
  }

  @Test("what cannot be read is counted; where nothing can be, that is the fault")
  func faults() throws {
    let folder = try TemporaryFolder([
      "rows.jsonl": "{\"text\": \"one\"}\n{\"text\": 3}\n{\"text\": \"two\"}", "bad.jsonl": "{\"text\": 3}",
    ])
    let found = try read(folder.absolute("rows.jsonl"))
    #expect(found.examples.map(\.text) == ["one", "two"] && found.unreadable.count == 1)
    #expect("\(try #require(found.unreadable.first))".contains("rows.jsonl"))
    #expect(throws: DatasetError.self) { try read(folder.absolute("bad.jsonl")) }
    #expect(throws: DatasetError.missing(path: folder.absolute("none"))) { try read(folder.absolute("none")) }
  }
}
