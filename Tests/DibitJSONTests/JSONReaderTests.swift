import DibitJSON
import Testing

@Suite struct JSONReaderTests {
  @Test func aDocumentIsReadPieceByPiece() throws {
    var reader = JSONReader(Array(#" {"a\n": [12 ,"é\u00e9", {"x": [1.5]}] , "b" : null} "#.utf8))
    var text: [UInt8] = []
    try reader.expect("{")
    try reader.string(into: &text)
    try reader.expect(":")
    try reader.expect("[")
    let number = try reader.naturalNumber()
    #expect(number == 12)
    try reader.expect(",")
    try reader.string(into: &text)
    #expect(text == Array("a\néé".utf8))
    let accepted = [reader.accept("]"), reader.accept(","), reader.accept(",")]
    #expect(accepted == [false, true, false])
    let object = try reader.value()
    #expect(object == ["x": [1.5]])
    try reader.expect("]")
    try reader.expect(",")
    let key = try reader.value()
    #expect(key == "b")
    let copy = reader
    try reader.expect(":")
    let null = try reader.value()
    #expect(null == .null)
    try reader.expect("}")
    #expect(reader.remaining == 1)
    try reader.expectEnd()
    #expect(reader.remaining == 0)
    #expect(copy.remaining == 9)
  }

  @Test func aReaderBeginsAnywhere() throws {
    var reader = JSONReader(Array(#"{"a": [1]}"#.utf8), from: 5)
    let value = try reader.value()
    #expect(value == [1])
    #expect(reader.offset == 9)
  }

  @Test("natural numbers", arguments: [("0", 0), ("7]", 7), (" 123456789,", 123_456_789)])
  func naturals(text: String, number: Int) throws {
    var reader = JSONReader(Array(text.utf8))
    let found = try reader.naturalNumber()
    #expect(found == number)
  }

  @Test(
    "what is no natural number is refused, or what follows it is", arguments: ["", "-1", "01", "1.0", "1e2", "1234567890", "x", "\"1\""])
  func noNaturals(text: String) {
    #expect(throws: JSONError.self) {
      var reader = JSONReader(Array(text.utf8))
      _ = try reader.naturalNumber()
      try reader.expectEnd()
    }
  }

  @Test func faultsHaveTheirOffset() {
    var text: [UInt8] = []
    var reader = JSONReader(Array("  \"a\u{1}\"".utf8))
    #expect(throws: JSONError.unexpected(offset: 2, expected: "'{'", found: "'\"'")) { try reader.expect("{") }
    #expect(throws: JSONError.unexpected(offset: 4, expected: "an escaped control character", found: "byte 0x1")) {
      try reader.string(into: &text)
    }
    // Words that begin as a value does are none.
    reader = JSONReader(Array("text,label".utf8))
    #expect(throws: JSONError.unexpected(offset: 0, expected: "a value", found: "'t'")) { try reader.value() }
    reader = JSONReader(Array("[]x".utf8), depthLimit: 1)
    #expect(throws: JSONError.unexpected(offset: 2, expected: "the end of the document", found: "'x'")) {
      _ = try reader.value()
      try reader.expectEnd()
    }
    reader = JSONReader(Array("[[]]".utf8), depthLimit: 1)
    #expect(throws: JSONError.nestedTooDeeply(offset: 1, limit: 1)) { try reader.value() }
  }
}
