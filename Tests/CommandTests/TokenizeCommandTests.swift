import DibitJSON
import DibitTestSupport
import Testing

/// Ids of texts, texts of ids, and counts of many.
@Suite struct TokenizeCommandTests {
  private let scratch = Scratch()
  private let model: String

  init() throws { model = try TinyCheckpoint.llama().write(to: scratch) }

  @Test("a text survives the way to ids and back")
  func roundTrip() throws {
    let source = "the goal <turn_start>é, of\tthe\n\n🙂 match\n"
    let file = try scratch.write(source, to: "text.txt")
    let ids = try dibit("tokenize", model, file)
    #expect(ids.status == 0)
    #expect(try dibit("tokenize", model, "-", input: source).output == ids.output)
    let list = try scratch.write(ids.output, to: "ids.txt")
    #expect(try dibit("detokenize", model, list).output == source + "\n")
    #expect(try dibit("detokenize", model, "-", input: ids.output).output == source + "\n")
    let commas = ids.output.split { $0 == " " || $0 == "\n" }.joined(separator: ",")
    #expect(try dibit("detokenize", model, "--ids", commas).output == source + "\n")
    #expect(try dibit("detokenize", model, "--ids", commas, "--plain").output == source.replacing("<turn_start>", with: "") + "\n")
    let lines = try dibit("tokenize", model, file, "--lines").output
    #expect(try dibit("detokenize", model, "-", "--lines", input: lines).output == source)
  }

  @Test("a byte order mark is no part of a text")
  func mark() throws {
    let (plain, marked) = (try scratch.write("the goal", to: "plain.txt"), try scratch.write("\u{FEFF}the goal", to: "marked.txt"))
    let ids = try dibit("tokenize", model, plain).output
    #expect(try dibit("tokenize", model, marked).output == ids)
    #expect(try dibit("tokenize", model, "-", input: "\u{FEFF}the goal").output == ids)
  }

  @Test func wrongIDs() throws {
    for (ids, index, found) in [("1,x", 2, "x"), ("-1", 1, "-1"), ("1 2 99999", 3, "99999"), ("99999999999999", 1, "99999999999999")] {
      let outcome = try dibit("detokenize", model, "--ids=\(ids)")
      #expect(outcome.status == 65)
      #expect(outcome.errors == "error: id \(index): the id of a token, from 0 to 311, expected, '\(found)' found\n")
    }
  }

  @Test func counts() throws {
    let texts = ["the goal", "the soup needs salt", "the moon"]
    let one = try scratch.write(texts[0], to: "mail/one.txt")
    let rows = try scratch.write(texts.dropFirst().map { "{\"text\": \"\($0)\"}\n" }.joined(), to: "mail/rows.jsonl")
    func count(_ text: String) throws -> Int { try dibit("tokenize", model, "--text", text).output.split(separator: " ").count }
    let counts = try texts.map(count)
    let result = try dibit("tokenize", model, "--count", scratch("mail"), "--json").json()
    #expect(result["tokens"]?.int == counts.reduce(0, +))
    #expect(result["texts"] == 3)
    #expect(
      result["files"]?.array == [
        ["file": .string(one), "texts": 1, "tokens": .integer(counts[0])],
        ["file": .string(rows), "texts": 2, "tokens": .integer(counts[1] + counts[2])],
      ])
    let table = try dibit("tokenize", model, "--count", one, rows).output.split(separator: "\n").map { $0.split(separator: " ") }
    #expect(
      table == [
        ["texts", "tokens"], [Substring(one), "1", "\(counts[0])"], [Substring(rows), "2", "\(counts[1] + counts[2])"],
        ["all", "3", "\(counts.reduce(0, +))"],
      ])
    #expect(try dibit("tokenize", model, "--count", "--text", texts[1]).output == "\(counts[1])\n")
    let none = try dibit("tokenize", model, "--count", one, scratch("none"))
    #expect(none.status == 66)
    #expect(none.errors == "not counted: '\(scratch("none"))' does not exist; check the path\nerror: 1 of 2 texts could not be counted\n")
  }
}
