import DibitTokenizer
import FoundationEssentials
import Testing

@testable import DibitDataset

/// A file of rows that is read at once.
func read(_ bytes: [UInt8], as name: String, _ change: (inout RowOptions) -> Void = { _ in }) throws -> Dataset {
  let folder = try TemporaryFolder()
  try folder.write(name, bytes)
  var rows = RowOptions()
  change(&rows)
  return try Dataset.read(folder.absolute(name), rows: rows)
}

func read(_ text: String, as name: String, _ change: (inout RowOptions) -> Void = { _ in }) throws -> Dataset {
  try read(Array(text.utf8), as: name, change)
}

/// The error of reading a file, with the folder's path left out.
func fault(_ bytes: [UInt8], as name: String, _ change: (inout RowOptions) -> Void = { _ in }) throws -> String? {
  let folder = try TemporaryFolder()
  try folder.write(name, bytes)
  var rows = RowOptions()
  change(&rows)
  do throws(DatasetError) {
    _ = try Dataset.read(folder.absolute(name), rows: rows)
    return nil
  } catch {
    let message = error.description
    #expect(!message.contains("\n") && message.utf8.count < 1000)
    return message.replacing(folder.path + "/", with: "")
  }
}

func fault(_ text: String, as name: String, _ change: (inout RowOptions) -> Void = { _ in }) throws -> String? {
  try fault(Array(text.utf8), as: name, change)
}

/// CSV and TSV.
@Suite struct DelimitedTests {
  @Test("white space around a label is none of it, as around the name of a column")
  func spacesAroundLabels() throws {
    let data = try read("text, label\na, card\nb,card \nc,\tcard\nd, two words \n", as: "d.csv")
    #expect(data.labels == ["card", "two words"])
    #expect(data.train.map(\.labels) == [["card"], ["card"], ["card"], ["two words"]])
    let one = "'d.csv': at least two labels expected, all rows have 'x' (left out: 1 row without a label)"
    #expect(try fault("text,label\na,x\nb,  \n", as: "d.csv") == one)
  }

  @Test("a row that nobody labelled is left out and counted; with a separator an empty field is an empty set")
  func rowsWithoutLabels() throws {
    let text = "text,label\na,x\nb,\nc,y\n,\n"
    let single = try read(text, as: "d.csv")
    #expect(single.train.map(\.text) == ["a", "c"])
    #expect(single.report[.unlabelledRow].paths == ["d.csv:3"] && single.report[.blankRow].paths == ["d.csv:5"])
    #expect(single.report.summary.contains("1 row without a label, left out") && single.report.rows == 4)
    let sets = try read("text,label\na,x;y\nb, \nc,y\n", as: "d.csv") { $0.labelSeparator = ";" }
    #expect(sets.train.map(\.labels) == [["x", "y"], [], ["y"]] && sets.unlabelledCount(.train) == 1)
    #expect(sets.leavingOutUnlabelled().train.map(\.text) == ["a", "c"])
    #expect(
      try fault("text,label\na,x;;y\n", as: "d.csv") { $0.labelSeparator = ";" }
        == "'d.csv', line 2: 'label': a label expected, nothing found")
    // The same text with a label and without one has it.
    let merged = try read("text,label\na,\na,x\nb,y\nb,\n", as: "d.csv") { $0.labelSeparator = ";" }
    #expect(merged.train.map(\.labels) == [["x"], ["y"]])
    for (rows, change) in [("text,tag\na,\nb,\n", false), ("text,tag\na,\nb,\n", true)] {
      #expect(
        try fault(rows, as: "d.csv") { if change { $0.labelSeparator = ";" } }
          == "'d.csv': labels expected\(change ? "" : " in 'tag'"), none found in 2 rows; name the column or key of the labels with \0labelColumn\0"
      )
    }
  }

  @Test("texts without a label are drawn and folded like a label of their own")
  func drawingTextsWithoutLabels() throws {
    let rows = (0..<60).map { "text \($0),\($0 % 3 == 0 ? "" : $0 % 3 == 1 ? "x" : "y")" }.joined(separator: "\n")
    var data = try read("text,label\n" + rows, as: "d.csv") { $0.labelSeparator = ";" }
    _ = data.splitAutomatically(seed: 1)
    #expect(data.validation.count == 6 && data.unlabelledCount(.validation) == 2 && data.unlabelledCount(.train) == 18)
    #expect(DatasetSurvey(data).withoutLabels == 20)
  }

  @Test func quotesLineEndsAndSeparators() throws {
    let data = try read(
      "text,category\r\n\"a, b\",x\r\nplain,\"y \"\"z\"\"\"\r\n\"two\r\nlines\",x\r\n\r\nit's \"so\",x\n\"\"\"\",y \"z\"", as: "d.csv")
    #expect(data.train.map(\.text) == ["a, b", "plain", "two\nlines", "it's \"so\"", "\""])
    #expect(data.train.map(\.labels) == [["x"], ["y \"z\""], ["x"], ["x"], ["y \"z\""]])
    #expect(data.train.map(\.line) == [2, 3, 4, 7, 8])
    #expect(data.train.map(\.location).first == "d.csv:2")
    #expect(data.report.rows == 5)
  }

  /// The bytes shown in docs/formats/dataset.md.
  @Test func theExampleOfTheDocumentation() throws {
    let page = try String(contentsOf: URL(filePath: projectRoot + "/docs/formats/dataset.md"), encoding: .utf8)
    let lines = page.split(separator: "\n").filter { $0.hasPrefix("    000000") }
    let bytes = lines.flatMap { $0.prefix { $0 != "|" }.split(separator: " ").dropFirst().compactMap { UInt8($0, radix: 16) } }
    #expect(bytes.count == 27)
    let data = try read(bytes, as: "d.csv")
    #expect(data.train.map(\.text) == ["a, b", "c"] && data.train.map(\.labels) == [["x"], ["y"]] && data.train.map(\.line) == [2, 3])
  }

  @Test(arguments: [
    ("a\tlabel\ttext\n1\tx\tone\n2\ty\ttwo\n", "d.tsv"), ("a;label;text\n1;x;one\n2;y;two\n", "d.csv"),
    ("a,label,text\n1,x,one\n2,y,two", "d"),
  ])
  func separatorsAreFound(_ text: String, _ name: String) throws {
    let data = try read(text, as: name)
    #expect(data.train.map(\.text) == ["one", "two"])
    #expect(data.labels == ["x", "y"])
  }

  @Test func encodings() throws {
    let text = "text,label\nMünchen,a\n„x“,b\n"
    let plain = try read(text, as: "d.csv")
    for (bytes, encoding) in [
      ([0xEF, 0xBB, 0xBF] + Array(text.utf8), nil), (utf16(text, littleEndian: true), "UTF-16 LE"),
      (utf16(text, littleEndian: false), "UTF-16 BE"),
    ] {
      let data = try read(bytes, as: "d.csv")
      #expect(data.train == plain.train)
      #expect(data.digest == plain.digest)
      #expect(data.report[.reencoded].entries.map(\.detail) == (encoding.map { [$0] } ?? []))
    }
    let old = try read(
      Array("text,label\nM".utf8) + [0xFC] + Array("nchen,a\n".utf8) + [0x84, 0x78, 0x93] + Array(",b\n".utf8), as: "d.csv")
    #expect(old.train == plain.train)
    #expect(old.report[.reencoded].entries.map(\.detail) == ["Windows-1252"])
  }

  @Test("a character of two UTF-16 units may lie on both sides of a piece's end")
  func longUTF16() throws {
    for shift in 0..<4 {
      let text = "text,label\n" + String(repeating: "x", count: shift) + String(repeating: "\u{1F600}", count: 200_000) + ",a\ny,b\n"
      let data = try read(utf16(text, littleEndian: true), as: "d.csv")
      #expect(data.train[0].text.unicodeScalars.count == 200_000 + shift)
      #expect(data.report[.reencoded].entries.map(\.detail) == ["UTF-16 LE"])
    }
  }

  @Test func columnsAndLabels() throws {
    let text = "id,Sentence,kind,text\n1,eins,a; b ;a,x\n2,zwei,b,y\n"
    let known = try read(text, as: "d.csv") { $0.labelColumn = "kind" }
    #expect(known.train.map(\.text) == ["x", "y"], "text comes before sentence")
    #expect(known.labels == ["a; b ;a", "b"])
    let several = try read(text, as: "d.csv") { ($0.textColumn, $0.labelColumn, $0.labelSeparator) = ("Sentence", "kind", ";") }
    #expect(several.train.map(\.text) == ["eins", "zwei"])
    #expect(several.train.map(\.labels) == [["a", "b"], ["b"]])
    let turns = try read("prompt,completion\nhi,ho\n", as: "d.csv")
    guard case .conversation(let conversation) = turns.train[0] else { throw TestFailure() }
    #expect(conversation.messages == [ChatMessage(role: .user, content: "hi"), ChatMessage(role: .assistant, content: "ho")])
  }

  @Test func repetitionsAndBlanks() throws {
    let data = try read("text,label\none,a\none,a\none,b\n  ,b\ntwo,b\n", as: "d.csv")
    #expect(data.train.map(\.labels) == [["a", "b"], ["b"]])
    #expect(
      data.report.summary == [
        "1 row without text, left out", "1 repetition of a text under its label, merged", "1 text under several labels, merged",
      ])
    #expect(data.report[.multipleLabels].entries[0].detail == "same text as 'd.csv:2'")
    #expect(data.report.rows == 5)
  }

  @Test(arguments: [
    (
      "",
      "'d.csv', line 1: a column called text expected in the first line, nothing found: the file is empty"
    ),
    (
      "a,b\nx,y\n",
      "'d.csv', line 1: a column called text expected in the first line, the columns 'a', 'b' found; name yours with \0textColumn\0 and \0labelColumn\0"
    ),
    (
      "text,b\nx,y\n",
      "'d.csv', line 1: a column called label expected in the first line, the columns 'text', 'b' found; name yours with \0textColumn\0 and \0labelColumn\0"
    ),
    (
      "label|text\nx|y\n",
      "'d.csv', line 1: a column called text expected in the first line, the columns 'label|text' found; separate fields by commas, semicolons or tabs instead of '|'"
    ),
    ("text,label,text\n", "'d.csv', line 1: columns with names of their own expected, 'text' found twice"),
    ("text,label\none,a\ntwo\n", "'d.csv', line 3: 2 fields expected, as in the first line, 1 found"),
    ("text,label\n\"1\n2\",a\n1,2,3\n", "'d.csv', line 4: 2 fields expected, as in the first line, 3 found"),
    (
      "text,label\n\"a\" b,c\n",
      "'d.csv', line 2, column 4: a separator or the end of the line expected after the closing quote, byte 0x20 found; double the quotes inside a quoted field"
    ),
    (
      "text,label\na,b\n\"c,d\n",
      "'d.csv', line 3, column 1: a closing quote expected for the field that begins here, the end of the file found"
    ),
    (
      "text,label\na,b\nc,\"d\ne,f\ng,h\n",
      "'d.csv', line 3, column 3: a closing quote expected for the field that begins here, the end of the file found; "
        + "it takes in 2 lines below"
    ),
    (
      "text,label\na,\n",
      "'d.csv': labels expected in 'label', none found in 1 row; name the column or key of the labels with \0labelColumn\0"
    ),
    ("text,label\na,\"b\nc\"\n", "'d.csv', line 2: a label of one line without control characters expected, 'b\\u{A}c' found"),
    ("text,label\na,b\nc,b\n", "'d.csv': at least two labels expected, all rows have 'b'"),
    ("text,label\n", "'d.csv': rows with examples expected, none found"),
    ("text,label\n,x\n", "'d.csv': rows with examples expected, none found (left out: 1 row without text)"),
  ])
  func faults(_ text: String, _ message: String) throws {
    #expect(try fault(text, as: "d.csv") == message)
  }

  @Test func otherFaults() throws {
    #expect(
      try fault("text,label\na,b\n", as: "d.csv") { $0.labelColumn = "text" }
        == "'d.csv', line 1: a text and a label expected, 'text' asked for as both; name another with \0textColumn\0 or \0labelColumn\0")
    #expect(
      try fault("text,label\na,b\n", as: "d.csv") { $0.textColumn = "x\ny" }
        == "'d.csv', line 1: a column called 'x\\u{A}y' expected in the first line, the columns 'text', 'label' found; name yours with \0textColumn\0 and \0labelColumn\0"
    )
    #expect(
      try fault("text,label\n\"" + String(repeating: "a\n", count: 100), as: "d.csv") { $0.maximumRowBytes = 99 }
        == "'d.csv', line 2: a row of at most 99 bytes expected, more found; is a quote not closed?")
    #expect(try fault(String(repeating: ",", count: 5000), as: "d.csv") == "'d.csv', line 1: at most 4096 columns expected, more found")
    #expect(
      try fault("no rows at all", as: "d.txt") == "'d.txt': a folder, or a file of rows in CSV, TSV or JSONL expected, something else found"
    )
    #expect(try fault([0, 1, 2, 3], as: "d.csv")?.hasPrefix("file 'd.csv' holds no text") == true)
    #expect(try fault(utf16("text,label\n\u{0},a\n", littleEndian: true), as: "d.csv")?.hasPrefix("file 'd.csv' holds no text") == true)
  }

  @Test func faultsAreCountedWhereTheyAreTolerated() throws {
    let data = try read("text,label\none,a\n\"x\" y,b\ntwo\nthree,b\n,\n", as: "d.csv") { $0.toleratesFaults = true }
    #expect(data.train.map(\.text) == ["one", "three"])
    #expect(data.report[.badRow].paths == ["d.csv:3:4", "d.csv:4"])
    #expect(data.report[.blankRow].count + data.report[.unlabelledRow].count == 1)
    #expect(data.report.rows == 5)
  }

  /// A line of nothing but separators is as long as its bytes, not eight times as long.
  @Test func manyFieldsTakeNoMemory() throws {
    let message = try fault("text,label\n" + String(repeating: ",", count: 1 << 20) + "\n", as: "d.csv")
    #expect(
      message
        == "'d.csv', line 2: 2 fields expected, as in the first line, \(1 << 20 + 1) found".replacing("\(1 << 20 + 1)", with: "1048577"))
  }
}

struct TestFailure: Error {}
