import DibitCheckpoint
import DibitJSON
import DibitTestSupport
import Testing

/// Texts as vectors, in every form.
@Suite struct EmbedCommandTests {
  private let scratch = Scratch()
  private let model: String

  init() throws { model = try TinyCheckpoint.llama().write(to: scratch) }

  private func vectors(_ arguments: String...) throws -> [[Double]] {
    let outcome = try dibit(["embed", model] + arguments)
    #expect(outcome.status == 0, "\(outcome.errors)")
    return try outcome.output.split(separator: "\n").map { line in
      try JSONValue(parsing: String(line))["embedding"]?.array?.compactMap(\.double) ?? []
    }
  }

  @Test func formsAgree() throws {
    let rows = try scratch.write(
      TinyCheckpoint.sentences.map { "{\"text\": \"\($0)\"}\n" }.joined(), to: "rows.jsonl")
    let note = try scratch.write("the goal", to: "note.txt")
    let lines = try dibit("embed", model, rows, note)
    #expect(lines.status == 0, "\(lines.errors)")
    let records = try lines.output.split(separator: "\n").map { try JSONValue(parsing: String($0)) }
    #expect(records.count == TinyCheckpoint.sentences.count + 1)
    #expect(records.first?.object?.keys == ["file", "line", "tokens", "truncated_tokens", "embedding"])
    #expect(records.last?.object?.keys == ["file", "tokens", "truncated_tokens", "embedding"])
    let embedded = records.map { $0["embedding"]?.array?.compactMap(\.double) ?? [] }
    #expect(embedded.allSatisfy { $0.count == 64 })
    #expect(Set(embedded).count == embedded.count)
    // Alone a text has the same bits as among others.
    #expect(try vectors(note) == [embedded[embedded.count - 1]])

    let csv = try dibit("embed", model, rows, note, "--format", "csv").output.split(separator: "\n").map { $0.split(separator: ",") }
    #expect(csv.first?.prefix(3) == ["path", "e0", "e1"])
    #expect(csv.dropFirst().map { $0.dropFirst().compactMap { Double($0) } } == embedded)
    #expect(csv.dropFirst().first?.first == "\(rows):1")

    let file = scratch("all.safetensors")
    let written = try dibit("embed", model, rows, note, "--format", "safetensors", "--output", file)
    #expect(written.status == 0)
    #expect(written.output == "")
    #expect(written.errors == "wrote \(file)\n")
    let checkpoint = try Checkpoint.open(file)
    #expect(checkpoint.tensorNames == ["embeddings"])
    #expect(checkpoint.info("embeddings")?.shape == [embedded.count, 64])
    let floats = try contents(file).suffix(embedded.count * 64 * 4)
    let expected = embedded.joined().flatMap { number in (0..<4).map { UInt8(truncatingIfNeeded: Float(number).bitPattern >> (8 * $0)) } }
    #expect(Array(floats) == expected)

    try expectFailure(
      ["embed", model, note, "--output", file], status: 73,
      message: "'\(file)': the output exists already; choose another name or pass --overwrite")
    #expect(try dibit("embed", model, rows, note, "--output", file, "--overwrite").status == 0)
    #expect(try text(file) == lines.output)
  }

  @Test func poolingAndLength() throws {
    let note = try scratch.write("the goal of the match", to: "note.txt")
    let (mean, last) = (try vectors(note)[0], try vectors(note, "--pooling", "last")[0])
    #expect(mean != last)
    // Cut to one token, the mean is that token's.
    #expect(try vectors(note, "--max-tokens", "1") == vectors(note, "--max-tokens", "1", "--pooling", "last"))
    let cut = try dibit("embed", model, note, "--max-tokens", "1")
    #expect(cut.errors == "note: 1 text cut to fit 1 tokens\n")
    #expect(try cut.json()["tokens"] == 1)
    let unit = try vectors(note, "--normalize")[0]
    let length = mean.reduce(0) { $0 + $1 * $1 }.squareRoot()
    // A float has 24 bits.
    for (one, other) in zip(unit, mean) { #expect(abs(one - other / length) <= 0x1p-23 * abs(one)) }
  }

  @Test func emptyTexts() throws {
    let none = try scratch.write("", to: "none.txt")
    let fault = "a text of at least one token expected, none found"
    try expectFailure(["embed", model, none], status: 65, message: "'\(none)': \(fault)")
    let piped = try dibit("embed", model, "-", input: "")
    #expect(piped.status == 65)
    #expect(piped.errors == "error: standard input: \(fault)\n")
  }

  @Test func whatCannotBeReadStopsNothing() throws {
    let note = try scratch.write("the goal", to: "note.txt")
    let none = scratch("none.txt")
    let outcome = try dibit("embed", model, none, note)
    #expect(outcome.status == 66)
    #expect(outcome.errors == "not embedded: '\(none)' does not exist; check the path\nerror: 1 of 2 texts could not be embedded\n")
    #expect(outcome.output.split(separator: "\n").count == 1)
  }
}
