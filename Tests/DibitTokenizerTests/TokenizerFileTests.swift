internal import DibitJSON
internal import DibitTokenizer
internal import Testing

/// The bytes of a tokenizer file are read otherwise than its values: without a tree of the vocabulary and the merges.
@Suite struct TokenizerFileTests {
  /// What a file gives: everything that the tokenizer says of itself, or the error.
  private func outcome(_ make: () throws(TokenizerError) -> Tokenizer) -> Result<String, TokenizerError> {
    do throws(TokenizerError) {
      let tokenizer = try make()
      let pieces = (0..<Int32(tokenizer.vocabularyCount)).map { tokenizer.bytes(of: $0) }
      let ids = (0..<Int32(tokenizer.vocabularyCount)).map { tokenizer.token(of: $0).flatMap { tokenizer.id(of: $0) } }
      return .success("\(tokenizer.serialized()) \(pieces) \(ids) \(tokenizer.encode("abc ab<end>é\"\\b"))")
    } catch { return .failure(error) }
  }

  private func fromBytes(_ bytes: [UInt8]) -> Result<String, TokenizerError> {
    outcome { () throws(TokenizerError) in try Tokenizer(parsing: bytes) }
  }

  private func fromValues(_ bytes: [UInt8]) -> Result<String, TokenizerError> {
    outcome { () throws(TokenizerError) in
      let value: JSONValue
      do throws(JSONError) { value = try JSONValue(parsing: bytes) } catch { throw .json(error) }
      return try Tokenizer(parsing: value)
    }
  }

  private func isAccepted(_ bytes: [UInt8]) -> Bool { if case .success = fromBytes(bytes) { true } else { false } }

  private static let file = #"""
    {"added_tokens": [{"id": 9, "content": "<end>", "special": true}], "model": {"type": "BPE", "vocab":
    {"a": 1, "b": 2, "c" : 3,"ab":4, "abc": 5, "\u00e9": 6, "\"": 7, "\\b": 8, "\\": 0},
    "merges": ["#version: 0.2", "a b", ["ab", "c"], "\\ b"], "unk_token": "a"}}
    """#

  /// The file with one text in it replaced.
  private func file(_ old: String = "", _ new: String = "") -> [UInt8] {
    Array((old.isEmpty ? Self.file : Self.file.split(separator: old, omittingEmptySubsequences: false).joined(separator: new)).utf8)
  }

  @Test func aFileIsAcceptedBothWays() {
    #expect(isAccepted(file()))
    #expect(fromBytes(file()) == fromValues(file()))
  }

  @Test(
    "unusual files mean the same both ways",
    arguments: [
      (#""a": 1"#, #""a": 1.0"#, true), (#""a": 1"#, #""a": 10e-1"#, true), (#""type": "BPE", "#, "", true),
      (#""a": 1"#, #""a": 1, "merges": 10"#, true), (#""a": 1"#, #""a": 1, "merges": 10, "merges": []"#, false),
      (#""unk_token""#, #""merges": [], "unk_token""#, false), (#""unk_token""#, #""vocab": {}, "unk_token""#, false),
      (#""a": 1"#, #""a": 1, "a": 10"#, false), (#""a": 1"#, #""a": 1, "\u0061": 10"#, false), (#""a": 1"#, #""a": 2"#, false),
      (#""a": 1"#, #""a": 01"#, false), (#""a": 1"#, #""a": -1"#, false), (#""a": 1"#, #""a": 16777216"#, false),
      (#""a": 1"#, #""a": 999999"#, false), (#""a": 1"#, #""a": 1, "": 10"#, true), (#""a": 1"#, #""a": 1, "<end>": 9"#, true),
      (#""a": 1"#, #""a": 1, "<end>": 10"#, false), (#""id": 9"#, #""id": 8"#, false), (#""id": 9"#, #""id": 999999"#, false),
      (#""a b""#, #""a  b""#, false), (#""a b""#, #""ab""#, false), (#""a b""#, #""a x""#, false), (#""a b""#, #""a b", "a b""#, true),
      (#"["ab", "c"]"#, #"["ab", "c", "c"]"#, false), (#"["ab", "c"]"#, #"["ab"]"#, false), (#"["ab", "c"]"#, #"["ab", 3]"#, false),
      (#""BPE""#, #""Unigram""#, false), (#""BPE""#, #""WordPiece""#, false), (#""a": 1"#, #""a": "1""#, false), ("}}", "}} {", false),
      ("}}", "}", false), ("\"unk_token\": \"a\"", "\"unk_token\": \"a\", \"x\": " + String(repeating: "[", count: 127), false),
      ("\"unk_token\": \"a\"", "\"x\": " + String(repeating: "[", count: 126) + String(repeating: "]", count: 126), true),
      ("\"unk_token\": \"a\"", "\"x\": " + String(repeating: "[", count: 127) + String(repeating: "]", count: 127), false),
    ])
  func unusual(old: String, new: String, isAccepted: Bool) {
    let bytes = file(old, new)
    #expect(bytes != file())
    #expect(fromBytes(bytes) == fromValues(bytes))
    #expect(self.isAccepted(bytes) == isAccepted)
  }

  @Test func aRepeatedTokenIsNamedWithItsOffset() {
    #expect(throws: TokenizerError.json(.duplicateKey("a", offset: 110))) { try Tokenizer(parsing: file(#""a": 1"#, #""a": 1, "a": 10"#)) }
  }

  @Test func spellingsAreTextOneByOne() {
    // The two tokens are an é together, and no text apart.
    var bytes = file(#""c" : 3"#, #""c" : 3, "x": 10, "y": 11"#)
    if let x = bytes.firstIndex(of: UInt8(ascii: "x")) { bytes[x] = 0xC3 }
    if let y = bytes.lastIndex(of: UInt8(ascii: "y")) { bytes[y] = 0xA9 }
    #expect(fromBytes(bytes) == fromValues(bytes))
    #expect(!isAccepted(bytes))
  }

  @Test func damagedFilesMeanTheSameBothWays() {
    var random = SeededNumbers(5)
    var accepted = 0
    for _ in 0..<4000 {
      let bytes = file().mutated(&random)
      let outcome = fromBytes(bytes)
      #expect(outcome == fromValues(bytes), "\(String(decoding: bytes, as: UTF8.self))")
      if case .success = outcome { accepted += 1 }
    }
    #expect(accepted > 50)
  }

  @Test("large files, merges before or behind the vocabulary", arguments: [(true, false), (false, false), (true, true)])
  func large(mergesAreLines: Bool, isBackwards: Bool) throws {
    var spellings = ["merges", ":", "["]
    for byte in UInt8(ascii: "0")...UInt8(ascii: "o") where byte != UInt8(ascii: ":") && byte != UInt8(ascii: "[") {
      spellings.append(String(Unicode.Scalar(byte)))
    }
    var merges: [JSONValue] = []
    var left = 3
    while spellings.count < 24_000 {
      for right in spellings[3..<60] where spellings.count < 24_000 {
        merges.append(mergesAreLines ? .string("\(spellings[left]) \(right)") : [.string(spellings[left]), .string(right)])
        spellings.append(spellings[left] + right)
      }
      left += 1
    }
    let vocabulary = spellings.enumerated().map { (id, token) in (key: token, value: JSONValue.integer(id)) }
    var model: [(key: String, value: JSONValue)] = []
    model.append((key: "type", value: "BPE"))
    model.append((key: "vocab", value: .object(JSONObject(vocabulary))))
    model.append((key: "merges", value: .array(merges)))
    if isBackwards { model.reverse() }
    let bytes = Array(JSONValue.object(JSONObject([("model", .object(JSONObject(model)))])).serialized(pretty: true).utf8)
    let padded = bytes + [UInt8](repeating: 0x20, count: 1 << 20)
    let tokenizer = try Tokenizer(parsing: padded)
    let other = try Tokenizer(parsing: JSONValue(parsing: bytes))
    #expect(tokenizer.serialized() == other.serialized())
    for id in stride(from: 3, to: 24_000, by: 7) {
      let text = spellings[id] + spellings[24_002 - id]
      #expect(tokenizer.encode(text) == other.encode(text))
    }
    #expect(tokenizer.encode(spellings[5000]) == [5000])
  }
}
