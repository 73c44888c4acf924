import DibitDataset
import FoundationEssentials
import Testing

@Suite struct TextFolderTests {
  @Test func documentsComeInTheOrderOfTheirPaths() throws {
    let folder = try TemporaryFolder(["b.txt": "two\r\n", "a/z.txt": "one", "c": "", "a.txt": "zero", ".hidden": "x"])
    try folder.write("d", [0xE9])
    try folder.write("e.png", [0x89, 0, 0])
    try folder.link("loop", to: ".")
    let texts = try TextFolder.open(path: folder.path)
    #expect(texts.files == ["a.txt", "a/z.txt", "b.txt", "c", "d", "e.png"])
    #expect(texts.bytes == 16)
    var reader = texts.makeIterator()
    var pieces: [TextPiece] = []
    while let piece = reader.next() { pieces.append(piece) }
    #expect(pieces.map(\.text) == ["zero", "one", "two\n", "é"])
    #expect(pieces.allSatisfy { $0.startsDocument && $0.endsDocument })
    #expect(reader.bytesRead == 16)
    #expect(reader.report.textFiles == 4)
    #expect(reader.report[.empty].paths == ["c"])
    #expect(reader.report[.binary].paths == ["e.png"])
    #expect(reader.report[.reencoded].paths == ["d"])
    #expect(reader.report[.linkedFolder].paths == ["loop"])
    #expect(reader.report[.hidden].paths == [".hidden"])
    #expect(Array(texts) == pieces, "a sequence can be read again")
  }

  @Test func oneFile() throws {
    let folder = try TemporaryFolder(["a.txt": "hello", "b": "x"])
    let texts = try TextFolder.open(path: folder.absolute("a.txt"))
    #expect(texts.map(\.text) == ["hello"])
    #expect(texts.files == [folder.absolute("a.txt")])
  }

  @Test("files of rows have a document in each row, and what has none is told")
  func rows() throws {
    let folder = try TemporaryFolder([
      "a.txt": "{\"text\": \"as it is\"}",
      "b.jsonl": "{\"text\": \"one\\ntwo\"}\n\n{\"text\": \" \"}\n{\"words\": \"x\"}\n{\"text\": \"three\", \"label\": \"odd\"}\n",
      "c.csv": "label,text\neven,four\n", "d.tsv": "x\ty\n1\t2\n", "e.ndjson": "", "f.json": "{}",
    ])
    let texts = try TextFolder.open(path: folder.path)
    var reader = texts.makeIterator()
    var pieces: [TextPiece] = []
    while let piece = reader.next() { pieces.append(piece) }
    #expect(pieces.map(\.text) == ["{\"text\": \"as it is\"}", "one\ntwo", "three", "four", "{}"])
    #expect(pieces.map(\.path) == ["a.txt", "b.jsonl:1", "b.jsonl:5", "c.csv:2", "f.json"])
    #expect(pieces.allSatisfy { $0.startsDocument && $0.endsDocument })
    #expect(reader.bytesRead == texts.bytes)
    #expect(reader.report[.blankRow].paths == ["b.jsonl:3"])
    #expect(reader.report[.badRow].paths == ["b.jsonl:4", "d.tsv:1"])
    #expect(reader.report.rows == 5)
  }

  @Test("conversations are known by their first row that is an example")
  func conversations() throws {
    let folder = try TemporaryFolder([
      "chats.jsonl":
        "{\"messages\": []}\n{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}, {\"role\": \"assistant\", \"content\": \"Ho\"}]}\n",
      "pairs.csv": "prompt,completion\na,b\n", "texts.jsonl": "{\"text\": \"a\", \"label\": null}\n", "only.jsonl": "{\"text\": \"a\"}\n",
      "a.txt": "{\"messages\": []}", "empty.jsonl": "",
    ])
    let (taken, others) = try TextFolder.open(path: folder.path).separating(Dataset.holdsConversations)
    #expect(taken == ["chats.jsonl", "pairs.csv"].map(folder.absolute))
    #expect(others?.files == ["a.txt", "empty.jsonl", "only.jsonl", "texts.jsonl"])
    let chats = try TextFolder.open(path: folder.absolute("pairs.csv")).separating(Dataset.holdsConversations)
    #expect(chats.taken == [folder.absolute("pairs.csv")] && chats.others == nil)
  }

  @Test("a folder without texts, a missing one and a file that is no text are told apart")
  func errors() throws {
    let folder = try TemporaryFolder()
    #expect(throws: DatasetError.noTextFiles(folder: folder.path)) { try TextFolder.open(path: folder.path) }
    #expect(throws: DatasetError.missing(path: folder.absolute("x"))) { try TextFolder.open(path: folder.absolute("x")) }
    try folder.write("binary", [1, 0, 2])
    #expect(throws: DatasetError.notText(path: folder.absolute("binary"))) { try TextFolder.open(path: folder.absolute("binary")) }
    #expect(throws: DatasetError.noTextFiles(folder: folder.path)) {
      try TextFolder.open(path: folder.path, options: ScanOptions(maximumFileBytes: 2))
    }
  }

  /// Whatever the encoding and the size of the pieces, they join to the text of the whole file.
  @Test(arguments: [16, 17, 18, 19, 31, 64, 1000]) func piecesJoin(pieceBytes: Int) throws {
    let lines = (0..<40).map { "line \($0): größer, 日本語, 😀😀\($0 % 7 == 0 ? "\r\n\r\n  indented" : "")" }
    let text = lines.joined(separator: "\r\n") + String(repeating: "😀日", count: 30) + "\r\r\n\n" + String(repeating: "é", count: 50)
    let latin = text.unicodeScalars.map { UInt8(exactly: $0.value) ?? 0xFC }
    let folder = try TemporaryFolder()
    try folder.write("utf8", text)
    try folder.write("mark", [0xEF, 0xBB, 0xBF] + Array(text.utf8))
    try folder.write("little", utf16(text, littleEndian: true))
    try folder.write("big", utf16(text, littleEndian: false))
    try folder.write("odd", utf16(text, littleEndian: false) + [0x41])
    try folder.write("latin", latin)
    let whole = try TextFolder.open(path: folder.path)
    let pieces = try TextFolder.open(path: folder.path, pieceBytes: pieceBytes)
    #expect(whole.map(\.startsDocument) == [true, true, true, true, true, true])
    for document in whole {
      let parts = pieces.filter { $0.path == document.path }
      #expect(Array(parts.map(\.text).joined().utf8) == Array(document.text.utf8), "\(document.path)")
      #expect(parts.map(\.startsDocument) == parts.indices.map { $0 == 0 })
      #expect(parts.map(\.endsDocument) == parts.indices.map { $0 == parts.count - 1 })
      #expect(parts.count > 1)
    }
    // "\r\n" is one Character, a lone "\r" another.
    let unified = text.map { $0 == "\r\n" || $0 == "\r" ? "\n" : String($0) }.joined()
    let bytes = Array((whole.first { $0.path == "utf8" }?.text ?? "").utf8)
    #expect(bytes == Array(unified.utf8))
  }

  @Test func cutsFallOnLineEndsThenBeforeSpaces() throws {
    let folder = try TemporaryFolder(["a": "first line\nsecond\n\n  third, longer than a piece\nfourth"])
    #expect(
      try TextFolder.open(path: folder.path, pieceBytes: 20).map(\.text) == [
        "first line\n", "second\n\n  third,", " longer than a", " piece\nfourth",
      ])
  }

  @Test func mappedFilesReadTheSame() throws {
    let line = "The same line again and again.\n"
    let text = String(repeating: line, count: 40_000)  // 1.2 MB: above the size from which files are mapped
    let folder = try TemporaryFolder(["a": text, "b": "small"])
    let pieces = Array(try TextFolder.open(path: folder.path))
    #expect(pieces.map(\.path) == ["a", "a", "b"])
    #expect(pieces[0].text + pieces[1].text == text)
    #expect(pieces[0].text.utf8.count <= 1 << 20 && pieces[0].text.hasSuffix(line))
  }
}
