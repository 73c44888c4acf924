import DibitJSON
import Testing

@Suite struct JSONTests {
  @Test("values survive a round trip, compact and pretty", arguments: [false, true])
  func roundTrip(pretty: Bool) throws {
    let value: JSONValue = [
      "text": "quote \" backslash \\ newline \n tab \t bell \u{7} é 😀", "n": [1, -2, 0.5, 1e300], "deep": [["a": .null], true, false],
      "": [:],
    ]
    #expect(try JSONValue(parsing: value.serialized(pretty: pretty)) == value)
  }

  @Test func keysKeepTheirOrderAndTheirBytes() throws {
    let object = try #require(try JSONValue(parsing: "{\"b\":1,\"\u{e9}\":2,\"e\u{301}\":3,\"a\":4}").object)
    #expect(object.count == 4)  // both spellings of é, which String == would merge
    #expect(object["\u{e9}"] == 2)
    #expect(object["e\u{301}"] == 3)
    #expect(object.keys.first == "b")
  }

  @Test func escapesDecode() throws {
    #expect(try JSONValue(parsing: #""\u0041\ud83d\ude00\/\b\f""#) == .string("A😀/\u{8}\u{c}"))
  }

  @Test(
    "malformed text is refused with its offset",
    arguments: [
      ("", 0), ("{", 1), ("[1,]", 3), ("{\"a\" 1}", 5), ("tru", 0), ("01", 0), ("1.", 2), ("1e", 2), ("\"\\x\"", 2), ("\"\\ud800\"", 3),
      ("[1] 2", 4),
      ("\"a", 2), ("\"\u{1}\"", 1), ("-", 1), ("1e999", 0), ("nan", 0),
    ])
  func malformed(text: String, offset: Int) {
    do throws(JSONError) {
      let value = try JSONValue(parsing: text)
      Issue.record("accepted \(text) as \(value)")
    } catch {
      guard case .unexpected(let found, _, _) = error else {
        Issue.record("\(error)")
        return
      }
      #expect(found == offset, "\(error)")
    }
  }

  @Test func boundsAndDuplicates() {
    #expect(throws: JSONError.nestedTooDeeply(offset: 128, limit: 128)) { try JSONValue(parsing: String(repeating: "[", count: 100_000)) }
    #expect(throws: JSONError.duplicateKey("a", offset: 7)) { try JSONValue(parsing: #"{"a":1,"a":2}"#) }
    #expect(throws: JSONError.invalidUTF8(offset: 0)) { try JSONValue(parsing: [0x22, 0xFF, 0x22]) }
    #expect(JSONError.duplicateKey("a", offset: 7).description == "JSON at byte 7: the key 'a' appears twice")
  }
}
