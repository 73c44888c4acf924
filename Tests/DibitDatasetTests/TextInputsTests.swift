import DibitFiles
import Testing

@testable import DibitDataset

/// What `dibit predict` reads.
@Suite struct TextInputsTests {
  private func read(_ paths: [String], _ change: (inout TextInputOptions) -> Void = { _ in }) -> [TextInput] {
    var options = TextInputOptions()
    change(&options)
    return Array(TextInputs(paths, options: options))
  }

  private func texts(_ inputs: [TextInput]) -> [String?] { inputs.map { try? $0.content.get() } }

  @Test func foldersInByteOrder() throws {
    let folder = try TemporaryFolder([
      "b/2.txt": "four", "b/10.txt": "three", "a.txt": "one", "b.txt": "two", ".hidden": "no", "c/deep/er/x": "five",
    ])
    try folder.link("loop", to: folder.path)
    try folder.link("c/back", to: folder.absolute("b"))
    try folder.link("d", to: folder.absolute("a.txt"))
    let inputs = read([folder.path])
    #expect(inputs.map(\.location.file) == ["a.txt", "b.txt", "b/10.txt", "b/2.txt", "c/deep/er/x", "d"].map(folder.absolute))
    #expect(texts(inputs) == ["one", "two", "three", "four", "five", "one"])
    #expect(inputs.allSatisfy { $0.location.line == 0 })
    let listed = TextInputs([folder.path, folder.path + "/"])
    #expect(listed.count == 12)
    #expect(listed.bytes == 2 * 22)
    #expect(!listed.hasRows)
    #expect(listed.report[.hidden].paths == [folder.absolute(".hidden"), folder.path + "/.hidden"])
    #expect(listed.report[.linkedFolder].count == 4)
    #expect(read([folder.absolute("loop/b")]).count == 2, "a link that was asked for is followed")
  }

  @Test("what cannot be read is an input with its fault, and stops no other")
  func faults() throws {
    let folder = try TemporaryFolder(["in/a.txt": "one", "in/z.txt": "two", "large.txt": String(repeating: "x", count: 101)])
    try folder.write("in/b.bin", [0, 1, 2, 3])
    try folder.link("in/c", to: folder.absolute("nowhere"))
    try folder.makeFolder("empty")
    let inputs = read([folder.absolute("none"), folder.absolute("in"), folder.absolute("large.txt"), folder.absolute("empty")]) {
      $0.maximumTextBytes = 100
    }
    #expect(texts(inputs) == [nil, "one", nil, "two", nil, nil])
    var iterator = TextInputs([folder.absolute("in")]).makeIterator()
    while iterator.next() != nil {}
    #expect(iterator.skippedFiles == 1)
    #expect(texts(read([folder.absolute("in/b.bin")])) == [nil], "what was asked for is no picture among texts")
    let errors = inputs.compactMap { input -> DatasetError? in if case .failure(let error) = input.content { error } else { nil } }
    #expect(
      errors == [
        .missing(path: folder.absolute("none")),
        .unreadableFile(path: folder.absolute("in/c"), reason: .brokenLink),
        .tooLarge(path: folder.absolute("large.txt"), limit: 100, found: 101), .noTextFiles(folder: folder.absolute("empty")),
      ])
    #expect(
      errors[2].description.hasSuffix(
        "large.txt': at most 100 bytes expected in one text, 101 found; give it in pieces, or as rows or lines"))
  }

  @Test("a text has the same limit in training and in use")
  func oneLimit() { #expect(TextInputOptions().maximumTextBytes == ScanOptions().maximumFileBytes) }

  @Test func encodings() throws {
    let folder = try TemporaryFolder()
    try folder.write("empty.txt", [])
    try folder.write("latin.txt", Array("caf".utf8) + [0xE9])
    try folder.write("wide.txt", utf16("wide\r\n", littleEndian: true))
    #expect(texts(read([folder.path])) == ["", "café", "wide\n"])
  }

  @Test("every row of a table or of JSON lines is an input, a broken one too")
  func rows() throws {
    let folder = try TemporaryFolder([
      "a.csv": "id,text\n1,one\n2,\"two,\nlines\"\n3\n4,four\n", "b.tsv": "label\tbody\nx\tfive\n",
      "c.jsonl": "{\"text\":\"six\"}\n\n{\"no\":1}\n[1]\n{\"text\":\"seven\",\"messages\":[],\"tools\":[1]}\nbroken\n",
      "d.json": "{\"text\":\"whole\"}",
    ])
    let inputs = read([folder.path])
    #expect(texts(inputs) == ["one", "two,\nlines", nil, "four", "five", "six", nil, nil, "seven", nil, "{\"text\":\"whole\"}"])
    #expect(inputs.map(\.location.line) == [2, 3, 5, 6, 2, 1, 3, 4, 5, 6, 0])
    #expect(inputs[0].location.description == folder.absolute("a.csv:2"))
    guard case .failure(let fault) = inputs[6].content else {
      Issue.record("a row without a text is a text")
      return
    }
    #expect(fault.description == "'\(folder.absolute("c.jsonl"))', line 3: a text expected, 'no' found; name yours with \0textColumn\0")
    #expect(TextInputs([folder.path]).hasRows)

    let named = read([folder.absolute("a.csv")]) { $0.textColumn = "id" }
    #expect(texts(named) == ["1", "2", nil, "4"])
    let missing = read([folder.absolute("a.csv"), folder.absolute("b.tsv")]) { $0.textColumn = "body" }
    #expect(texts(missing) == [nil, "five"])
    #expect(read([folder.absolute("c.jsonl")]) { $0.format = .text }.count == 1)
    #expect(texts(read([folder.absolute("d.json")]) { $0.format = .jsonl }) == ["whole"])
    #expect(texts(read([folder.absolute("d.json")]) { $0.format = .csv }) == [nil], "it has no column called text")
  }

  @Test func linesOfText() throws {
    let folder = try TemporaryFolder(["a.txt": "one\r\n\r\n  \ntwo\nthree", "b.csv": "text,label\n"])
    let inputs = read([folder.path]) { $0.format = .lines }
    #expect(texts(inputs) == ["one", "two", "three", "text,label"])
    #expect(inputs.map(\.location.line) == [1, 4, 5, 1])
  }

  @Test func stopsAndLeavesOut() throws {
    let folder = try TemporaryFolder(["a.txt": "one", "out.csv": "text\nx\n", "b/out.csv": "text\ny\n"])
    #expect(texts(read([folder.path]) { $0.excluded = folder.absolute("b/../out.csv") }) == ["one", "y"])
    #expect(read([folder.path]) { $0.isStopped = { true } }.isEmpty)
    var iterator = TextInputs([folder.path]).makeIterator()
    #expect(iterator.bytesRead == 0)
    while iterator.next() != nil {}
    #expect(iterator.bytesRead == 17)
  }

  @Test func locations() {
    #expect(TextLocation(file: "e\u{301}") != TextLocation(file: "\u{E9}"), "names are bytes")
    #expect(TextLocation(file: "a", line: 2) == TextLocation(file: "a", line: 2))
    #expect(TextLocation(file: "a", line: 2).digest != TextLocation(file: "a", line: 3).digest)
  }
}
