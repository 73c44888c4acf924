import DibitJSON
import DibitTestSupport
import DibitTokenizer
import Foundation
import Testing

/// `dibit perplexity` over files and folders, alone and beside a reference.
@Suite struct PerplexityCommandTests {
  static let keys = ["documents", "tokens", "bytes", "window", "loss", "perplexity", "bits_per_byte", "tokens_per_second"]

  /// Three texts and something that is none.
  private func texts(_ scratch: Scratch) throws -> String {
    try scratch.write("the goal of the match was late", to: "texts/a.txt")
    try scratch.write("bake the bread and stir the soup with care", to: "texts/more/b.txt")
    try scratch.write("a comet came near the planet", to: "texts/c.txt")
    try scratch.write([0, 1, 2, 0], to: "texts/d.bin")
    return scratch("texts")
  }

  @Test func folders() throws {
    let scratch = Scratch()
    let model = try TinyCheckpoint.llama().write(to: scratch)
    let folder = try texts(scratch)
    let whole = try dibit("perplexity", model, "--data", folder, "--json")
    #expect(whole.status == 0, "\(whole.errors)")
    #expect(whole.errors.contains("note: 1 file that is no text, left out\n"))
    let all = try whole.json()
    #expect(all.object?.keys == Self.keys)
    #expect(all["documents"] == 3)
    // The folder is its files, one by one.
    let single = try ["a.txt", "c.txt", "more/b.txt"].map { try dibit("perplexity", model, "--data", folder + "/" + $0, "--json").json() }
    for key in ["tokens", "bytes"] { #expect(all[key]?.int == single.reduce(0) { $0 + ($1[key]?.int ?? .min) }) }
    let nats = single.reduce(0.0) { $0 + ($1["loss"]?.double ?? .nan) * ($1["tokens"]?.double ?? .nan) }
    let (loss, count) = (all["loss"]?.double ?? .nan, all["tokens"]?.double ?? .nan)
    // The same floats, added in another order.
    #expect(abs(loss - nats / count) <= 1e-12 * loss)
    #expect(abs((all["perplexity"]?.double ?? .nan) - exp(loss)) <= 1e-12 * exp(loss))
    #expect(abs((all["bits_per_byte"]?.double ?? .nan) - nats / log(2) / (all["bytes"]?.double ?? .nan)) <= 1e-12)
    let shown = try dibit("perplexity", model, "--data", folder)
    #expect(shown.status == 0)
    #expect(shown.output.hasPrefix("perplexity "))
    #expect(shown.output.contains(" over \(Int(count)) tokens of 3 documents\n"))
  }

  @Test func oneTokenIsNoText() throws {
    let scratch = Scratch()
    let model = try TinyCheckpoint.llama().write(to: scratch)
    let short = try scratch.write("a", to: "short.txt")
    try expectFailure(["perplexity", model, "--data", short], status: 65, message: "'\(short)' has 1 token; at least 2 are needed")
  }

  @Test("--limit ends the measurement behind so many tokens")
  func limit() throws {
    let scratch = Scratch()
    let model = try TinyCheckpoint.llama().write(to: scratch)
    let folder = try texts(scratch)
    let result = try dibit("perplexity", model, "--data", folder, "--limit", "5", "--window", "4", "--json").json()
    #expect(result["documents"] == 1)
    #expect(result["window"] == 4)
    // Four and one: the first of each window is not predicted.
    #expect(result["tokens"] == 3)
    let wide = try dibit("perplexity", model, "--data", folder, "--window", "100000")
    #expect(wide.errors.contains("note: windows have 256 tokens, the model's context; --window asked for 100,000\n"), "\(wide.errors)")
  }

  @Test func ofItself() throws {
    let scratch = Scratch()
    let model = try TinyCheckpoint.llama().write(to: scratch)
    let outcome = try dibit("perplexity", model, "--data", try texts(scratch), "--reference", model, "--json")
    #expect(outcome.status == 0, "\(outcome.errors)")
    let result = try outcome.json()
    #expect(result.object?.keys == Self.keys + ["reference", "perplexity_ratio", "kl_divergence", "top_1_agreement"])
    #expect(result["reference"]?.object?.keys == ["loss", "perplexity", "bits_per_byte", "tokens_per_second"])
    #expect(result["reference"]?["loss"] == result["loss"])
    #expect(result["perplexity_ratio"] == 1)
    #expect(result["kl_divergence"] == ["mean": 0, "standard_error": 0, "percentile_99": 0])
    #expect(result["top_1_agreement"] == 1)
  }

  @Test func ofARoundedModel() throws {
    let work = try Workplace(adapter: true)
    let (folder, source) = (try texts(work.scratch), work.scratch("source"))
    let result = try dibit("perplexity", work.model, "--data", folder, "--reference", source, "--json").json()
    #expect(result["kl_divergence"]?["mean"]?.double ?? 0 > 0.001)
    #expect(result["kl_divergence"]?["percentile_99"]?.double ?? 0 >= result["kl_divergence"]?["mean"]?.double ?? 1)
    #expect((0..<1).contains(result["top_1_agreement"]?.double ?? 1))
    let shown = try dibit("perplexity", work.model, "--data", folder, "--reference", source)
    #expect(shown.status == 0)
    for line in [
      "perplexity  nats/token", "perplexity over the reference's", "divergence from the reference", "same most likely token",
    ] {
      #expect(shown.output.contains(line))
    }
    // An adapter against the model without it.
    let adapted = try dibit("perplexity", work.model, "--adapter", work.adapter, "--data", folder, "--reference", work.model, "--json")
      .json()
    #expect(adapted["kl_divergence"]?["mean"]?.double ?? 0 > 0)
    #expect(adapted["reference"]?["loss"] == result["loss"])
  }

  private static let chats = [
    ("the goal of the match", "was late"), ("bake the bread", "with care"), ("a comet", "came near the planet"),
  ]

  @Test("answers of conversations are measured as a chat has them")
  func chats() throws {
    let work = try Workplace(adapter: true)
    let file = try writeConversations(Self.chats, to: work.scratch)
    let found = try dibit("perplexity", work.model, "--data", file, "--reference", work.scratch("source"), "--json").json()
    #expect(found["documents"] == 3)
    let tokenizer = try TinyCheckpoint.makeTokenizer()
    let template = ChatTemplate(tokenizer)
    let answers = Self.chats.map(\.1)
    #expect(found["tokens"] == .integer(answers.reduce(0) { $0 + template.answer($1, tokenizer: tokenizer).count }))
    #expect(found["bytes"] == .integer(answers.reduce(0) { $0 + $1.utf8.count }))
    #expect(found["kl_divergence"]?["mean"]?.double ?? 0 > 0.001)
    let shown = try dibit("perplexity", work.model, "--data", file)
    #expect(shown.output.contains(" tokens of answers in 3 conversations\n"), "\(shown.output)")
    // A limit takes whole conversations.
    let two = try dibit("perplexity", work.model, "--data", file, "--limit", "4", "--json").json()
    #expect(two["documents"] == 1 && two["tokens"]?.int ?? 0 >= 4)
    // A window in which of each answer the first token has a place.
    let window = Self.chats.map { template.prompt(system: nil, user: $0.0, tokenizer: tokenizer).tokens.count + 1 }.max() ?? 0
    let short = try dibit("perplexity", work.model, "--data", file, "--window", "\(window)")
    #expect(short.errors.contains(" longer than \(window) tokens, measured without the rest; --window sets that length"), "\(short.errors)")
  }

  @Test("rows with a text are documents, and a folder holds them or conversations")
  func rows() throws {
    let scratch = Scratch()
    let model = try TinyCheckpoint.llama().write(to: scratch)
    let words = ["the goal of the match was late", "bake the bread with care"]
    let texts = try scratch.write(words.map { "{\"text\":\"\($0)\"}\n" }.joined() + "{\"words\":\"x\"}\n", to: "mixed/texts.jsonl")
    let outcome = try dibit("perplexity", model, "--data", texts, "--json")
    for (index, text) in words.enumerated() { try scratch.write(text, to: "plain/\(index).txt") }
    let plain = try dibit("perplexity", model, "--data", scratch("plain"), "--json").json()
    for key in ["documents", "tokens", "bytes", "loss"] { #expect(try outcome.json()[key] == plain[key]) }
    #expect(
      outcome.errors.contains("1 row that is no example, left out: \(texts):3: a text expected, 'words' found; call yours 'text'"),
      "\(outcome.errors)")
    try expectFailure(
      ["perplexity", model, "--data", scratch.write("{\"words\":\"x\"}\n", to: "none.jsonl")], status: 65,
      message:
        "'\(scratch("none.jsonl"))' has 0 tokens; at least 2 are needed (1 row that is no example, left out: \(scratch("none.jsonl")):1: a text expected, 'words' found; call yours 'text')"
    )
    _ = try writeConversations(Self.chats, to: scratch, "chats/all.jsonl")
    let folder = try dibit("perplexity", model, "--data", scratch("chats"), "--json").json()
    #expect(folder["documents"] == 3)
    _ = try writeConversations(Self.chats, to: scratch, "mixed/all.jsonl")
    try expectFailure(
      ["perplexity", model, "--data", scratch("mixed")], status: 65,
      message: "'\(scratch("mixed"))' holds conversations beside other texts, which are measured apart: name one or the other")
  }

  @Test("conversations of which nothing can be measured are told")
  func noConversations() throws {
    let scratch = Scratch()
    let model = try TinyCheckpoint.llama().write(to: scratch)
    let empty = try scratch.write("\n", to: "empty.jsonl")
    #expect(try dibit("perplexity", model, "--data", empty).status == 65)
    #expect(try dibit("perplexity", model, "--data", scratch("none.jsonl")).status == 66)
    let file = try writeConversations(Self.chats, to: scratch)
    try expectFailure(
      ["perplexity", model, "--data", file, "--window", "4"], status: 65,
      message: "'chats.jsonl:1': the messages before the answer need 4 tokens or more, which a window has: raise --window")
  }

  @Test func referencesThatDoNotFit() throws {
    let scratch = Scratch()
    let model = try TinyCheckpoint.llama().write(to: scratch)
    let folder = try texts(scratch)
    var other = try TinyCheckpoint.llama()
    other.tokenizer = other.tokenizer.replacingOccurrences(of: "<turn_start>", with: "<turn_begin>")
    let path = try other.write(to: scratch, "other")
    let added = try JSONValue(parsing: Array(try text(model + "/tokenizer.json").utf8))["added_tokens"]?.array
    let id = try #require(added?.first { $0["content"] == "<turn_start>" }?["id"]?.int)
    try expectFailure(
      ["perplexity", model, "--data", folder, "--reference", path], status: 65,
      message: "token \(id) of '\(path)' is not that of '\(model)': a reference needs the same tokenizer")
    var larger = try TinyCheckpoint.llama()
    larger.configuration["vocab_size"] = .integer(330)
    for name in ["model.embed_tokens.weight", "lm_head.weight"] {
      larger[name].shape[0] = 330
      larger[name].values += [Float](repeating: 0, count: 640)
    }
    let wide = try larger.write(to: scratch, "wide")
    try expectFailure(
      ["perplexity", model, "--data", folder, "--reference", wide], status: 65,
      message: "'\(wide)' has a vocabulary of 330 tokens, '\(model)' one of 320: a reference needs the same tokenizer")
    try expectFailure(
      ["perplexity", model, "--data", folder, "--reference", scratch("none")], status: 66,
      message: "'\(scratch("none"))': no such file or directory")
  }
}
