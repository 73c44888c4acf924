import DibitDataset
import FoundationEssentials
import Testing

@Suite struct ScanTests {
  @Test func flatFolder() throws {
    let folder = try TemporaryFolder(["b/2.txt": "two", "a/1.txt": "one\r\n", "b/deep/3.md": "three", "README.md": "about"])
    let data = try Dataset.scan(folder: folder.path)
    #expect(data.labels == ["a", "b"])
    #expect(data.train.map(\.path) == ["a/1.txt", "b/2.txt", "b/deep/3.md"])
    #expect(data.train.map(\.text) == ["one\n", "two", "three"])
    #expect(data.train.map(\.labels) == [["a"], ["b"], ["b"]])
    #expect(data.train[1].digest.description == "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3")  // sha256sum of "two"
    #expect(data.validation.isEmpty && data.test.isEmpty)
    #expect(data.report.textFiles == 3)
    #expect(data.report[.loose].paths == ["README.md"])
    #expect(data.report.summary == ["1 file outside of label folders, ignored"])
    #expect(try Dataset.scan(folder: folder.path + "/") == data)
  }

  @Test(arguments: ["validation", "valid", "dev", "Validation"]) func splitFolders(validation: String) throws {
    let folder = try TemporaryFolder([
      "train/a/1": "one", "train/b/2": "two", "\(validation)/a/3": "three", "test/b/4": "four", "train/notes.txt": "n", "test/c/5": "five",
    ])
    let data = try Dataset.scan(folder: folder.path)
    #expect(data[.train].map(\.path) == ["train/a/1", "train/b/2"])
    #expect(data[.validation].map(\.path) == ["\(validation)/a/3"])
    #expect(data[.test].map(\.path) == ["test/b/4", "test/c/5"])
    #expect(data.labels == ["a", "b", "c"])
    #expect(data.report[.untrainedLabel].paths == ["c"])
    #expect(data.report[.loose].paths == ["train/notes.txt"])
  }

  @Test func testSplitAloneIsEnoughToEvaluate() throws {
    let folder = try TemporaryFolder(["test/a/1": "one", "test/b/2": "two"])
    let data = try Dataset.scan(folder: folder.path)
    #expect(data.train.isEmpty && data.test.count == 2)
    #expect(data.report.kinds.isEmpty)
  }

  @Test func encodings() throws {
    let folder = try TemporaryFolder(["a/plain": "naïve", "b/other": "x"])
    try folder.write("a/bom", [0xEF, 0xBB, 0xBF] + Array("bom".utf8))
    try folder.write("a/le", utf16("little", littleEndian: true))
    try folder.write("b/be", utf16("big", littleEndian: false))
    try folder.write("b/latin", Array("caf".utf8) + [0xE9, 0x81])
    try folder.write("b/picture.png", [0x89, 0x50, 0x4E, 0x47, 0, 0, 0, 0])
    let data = try Dataset.scan(folder: folder.path)
    #expect(data.train.map(\.text) == ["bom", "little", "naïve", "big", "café\u{FFFD}", "x"])
    #expect(data.report[.reencoded].count == 3)
    #expect(data.report[.reencoded].paths == ["a/le", "b/be", "b/latin"])
    #expect(data.report[.reencoded].entries.map(\.detail) == ["UTF-16 LE", "UTF-16 BE", "Windows-1252, 1 without a character"])
    #expect(data.report[.binary].paths == ["b/picture.png"])
    #expect(data.report.textFiles == 6)
  }

  @Test func whatIsLeftOut() throws {
    let folder = try TemporaryFolder([
      "a/1": "one", "b/2": "two", "a/empty": "", "a/blank": " \n\t\u{3000}\u{FEFF}", "a/long": "123456789", ".git/config": "x",
      "a/.hidden": "x", "a/.cache/x": "x",
    ])
    try folder.makeFolder("nothing")
    try folder.link("a/broken", to: "nowhere")
    let data = try Dataset.scan(folder: folder.path, options: ScanOptions(maximumFileBytes: 8))
    #expect(data.train.map(\.path) == ["a/1", "b/2"])
    #expect(data.labels == ["a", "b"])
    #expect(data.report[.empty].paths == ["a/empty"])
    #expect(data.report[.overLong].entries.map(\.detail) == [String](repeating: "at most 8 bytes expected in one text, 9 found", count: 2))
    #expect(data.report[.overLong].paths == ["a/blank", "a/long"])
    #expect(data.report[.hidden].paths == [".git", "a/.cache", "a/.hidden"])
    #expect(data.report[.unreadable].entries.map(\.detail) == ["a link to nothing"])
    #expect(data.report[.emptyLabel].paths == ["nothing"])
    #expect(try Dataset.scan(folder: folder.path).report[.empty].paths == ["a/blank", "a/empty"])
  }

  @Test func nestingIsBounded() throws {
    let folder = try TemporaryFolder(["b/2": "two"])
    try folder.write("a/" + String(repeating: "d/", count: 16) + "in", "in")
    try folder.write("a/" + String(repeating: "d/", count: 17) + "out", "out")
    let data = try Dataset.scan(folder: folder.path)
    #expect(data.train.map(\.text) == ["in", "two"])
    #expect(data.report[.tooDeep].paths == ["a" + String(repeating: "/d", count: 17)])
  }

  @Test func linksToFoldersAreNotFollowedAndLinksToFilesAre() throws {
    let folder = try TemporaryFolder(["a/1": "one", "b/2": "two", "elsewhere/c/x": "kept out"])
    let data = try TemporaryFolder(["a/real": "three", "b/2": "two"])
    try data.link("a/linked", to: folder.absolute("a/1"))
    try data.link("a/again", to: "linked")
    try data.link("a/loop", to: "..")
    try data.link("b/self", to: "self")
    try data.link("c", to: folder.absolute("elsewhere"))
    let scanned = try Dataset.scan(folder: data.path)
    #expect(scanned.train.map(\.path) == ["a/again", "a/real", "b/2"])
    #expect(scanned.train.map(\.text) == ["one", "three", "two"])
    #expect(scanned.report[.linkedFolder].paths == ["c", "a/loop"])
    #expect(scanned.report[.unreadable].paths == ["b/self"])
    #expect(scanned.report[.repeated].entries.map(\.detail) == ["same text as 'a/again'"])
    try folder.link("whole", to: data.path)
    #expect(try Dataset.scan(folder: folder.absolute("whole")) == scanned, "the folder itself may be a link")
  }

  @Test func linkedFileSizeIsTheTargets() throws {
    let folder = try TemporaryFolder(["a/1": "one", "b/2": "two"])
    let other = try TemporaryFolder(["big": String(repeating: "x", count: 1000)])
    try folder.link("a/b", to: other.absolute("big"))
    let data = try Dataset.scan(folder: folder.path, options: ScanOptions(maximumFileBytes: 999))
    #expect(data.report[.overLong].entries.map(\.detail) == ["at most 999 bytes expected in one text, 1000 found"])
  }

  @Test func equalTextsBecomeOneExampleWithAllLabels() throws {
    let folder = try TemporaryFolder(["b/1": "same", "a/2": "same", "a/3": "same", "c/4": "same", "c/5": "other", "a b/6": "same"])
    let data = try Dataset.scan(folder: folder.path)
    #expect(data.train.map(\.path) == ["a b/6", "c/5"])
    #expect(data.train[0].labels == ["a", "a b", "b", "c"])
    #expect(data.report[.multipleLabels].count == 1)
    #expect(data.report[.repeated].paths == ["a/3"])
    #expect(data.report.textFiles == 6)
  }

  @Test func leakageIsReportedAndKept() throws {
    let folder = try TemporaryFolder([
      "train/a/1": "one", "train/b/2": "two", "valid/a/3": "one", "test/b/4": "one", "test/b/5": "two", "test/b/6": "six",
    ])
    let data = try Dataset.scan(folder: folder.path)
    #expect(data.report[.leakage].count == 2)
    #expect(data.report[.leakage].paths == ["valid/a/3", "test/b/5"])
    #expect(data.report[.leakage].entries.map(\.detail) == ["same text as 'train/a/1'", "same text as 'train/b/2'"])
    #expect(data.train.count == 2 && data.validation.count == 1 && data.test.count == 3)
  }

  @Test func labelsAreComparedByBytes() throws {
    let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
    let folder = try TemporaryFolder(["\(composed)/1": "one", "\(decomposed)/1": "two", "日本 語/😀.txt": "three"])
    let data = try Dataset.scan(folder: folder.path)
    #expect(data.labels.map { Array($0.utf8) } == [decomposed, composed, "日本 語"].map { Array($0.utf8) })
    #expect(data.index(ofLabel: composed) == 1)
    #expect(data.index(ofLabel: decomposed) == 0)
    #expect(data.index(ofLabel: "日本 語") == 2)
    #expect(data.index(ofLabel: "cafe") == nil)
    #expect(data.train[0] != data.train[1])
    let twin = LabelledExample(path: "x", text: "t", labels: [composed])
    #expect(twin != LabelledExample(path: "x", text: "t", labels: [decomposed]))
    #expect(LabelledExample(path: "x", text: "t", labels: [composed, decomposed, composed]).labels.count == 2)
  }

  @Test func orderOfCreationDoesNotMatter() throws {
    let names = (0..<60).map { "\($0 % 2 == 0 ? "x" : "y")/\(($0 * 37) % 61).txt" }
    let (forward, backward) = (try TemporaryFolder(), try TemporaryFolder())
    for name in names { try forward.write(name, "text of \(name)") }
    for name in names.reversed() { try backward.write(name, "text of \(name)") }
    var (first, second) = (try Dataset.scan(folder: forward.path), try Dataset.scan(folder: backward.path))
    #expect(first == second)
    #expect(first.digest == second.digest)
    first.splitAutomatically(seed: 7)
    second.splitAutomatically(seed: 7)
    #expect(first == second && first.validation.count == 6)
  }

  @Test func digestCoversPathsLabelsAndTexts() throws {
    func digest(_ texts: KeyValuePairs<String, String>) throws -> String {
      let folder = try TemporaryFolder()
      for (path, text) in texts { try folder.write(path, text) }
      return try Dataset.scan(folder: folder.path).digest
    }
    let base = try digest(["a/1": "one", "b/2": "two"])
    #expect(try base == digest(["b/2": "two", "a/1": "one", ".x": "hidden", "notes": "n"]))
    #expect(try base != digest(["a/1": "one", "b/2": "two!"]))
    #expect(try base != digest(["a/1": "one", "b/3": "two"]))
    #expect(try base != digest(["a/1": "one", "c/2": "two"]))
    // printf 'a/1\0a\0<sha256 of one>\nb/2\0b\0<sha256 of two>\n' | sha256sum
    #expect(base == "e0b5b8369ebc203704d1f2541f95d7a71bb2c284b8029efeb059925ea4432a3b")
  }

  @Test func reportKeepsTheFirstPathsAndCountsAll() throws {
    let folder = try TemporaryFolder(["a/1": "one", "b/2": "two"])
    for number in 10..<40 { try folder.write("a/e\(number)", "") }
    let data = try Dataset.scan(folder: folder.path)
    #expect(data.report[.empty].count == 30)
    #expect(data.report[.empty].paths == (10..<30).map { "a/e\($0)" })
    #expect(data.report.summary == ["30 empty files, left out"])
  }
}
