import DibitJSON
import DibitTestSupport
import Testing

/// `compare`, as a user types it.
@Suite struct CompareCommandTests {
  private let scratch = Scratch()

  /// A float checkpoint, models of it, and a folder of text.
  private func prepare() throws -> (source: String, text: String) {
    let source = try TinyCheckpoint.llama(context: 48).write(to: scratch, "floats")
    for (name, arguments) in [
      ("two", ["--bits", "2"]), ("four", ["--bits", "4"]), ("whole", ["--bits", "32", "--embedding-bits", "32"]),
    ] {
      try #require(try dibit(["convert", source, "-o", scratch(name), "--no-check"] + arguments).status == 0)
    }
    try scratch.write(String(repeating: TinyCheckpoint.sentences.joined(separator: ". ") + "\n", count: 20), to: "text/a.txt")
    return (source, scratch("text"))
  }

  @Test("figures are those of perplexity with a reference; fewer bits lose more; a model that kept its values is exact")
  func figures() throws {
    let (source, text) = try prepare()
    let names = ["two", "four", "whole"].map { scratch($0) }
    let outcome = try dibit(["compare"] + names + ["--reference", source, "--data", text, "--limit", "600", "--json"])
    #expect(outcome.status == 0, "\(outcome.errors)")
    let models = try #require(try outcome.json()["models"]?.array)
    #expect(models.compactMap { $0["name"]?.string } == names)
    for (name, model) in zip(names, models) {
      let alone = try dibit("perplexity", name, "--reference", source, "--data", text, "--limit", "600", "--json").json()
      #expect(model["kl_divergence"] == alone["kl_divergence"] && model["top_1_agreement"] == alone["top_1_agreement"])
      #expect(model["perplexity"] == alone["perplexity"] && model["perplexity_ratio"] == alone["perplexity_ratio"])
      #expect(try outcome.json()["reference"]?["perplexity"] == alone["reference"]?["perplexity"])
    }
    let decibels = models.prefix(2).compactMap { $0["weighted_snr_db"]?.double }
    #expect(decibels.count == 2 && decibels[0] > 3 && decibels[1] > decibels[0] + 6)
    let worst = try #require(models[0]["tensors"]?.array).compactMap { $0["weighted_snr_db"]?.double }
    #expect(worst.count == 16 && worst == worst.sorted())
    #expect(models[2]["tensors"]?.array?.isEmpty == true && models[2]["kl_divergence"]?["mean"]?.double.map { $0 < 1e-6 } == true)
    let continuations = try #require(try outcome.json()["continuations"]?.array)
    #expect(continuations.count == 10)
    for continuation in continuations {
      #expect(continuation["models"]?.array?.count == 3 && continuation["beginning"]?.string?.isEmpty == false)
      #expect(continuation["models"]?.array?[2] == continuation["reference"])
    }
    #expect(continuations.contains { $0["models"]?.array?[0] != $0["reference"] })
  }

  @Test("of conversations the answers are measured, and given again by all models")
  func conversations() throws {
    let (source, _) = try prepare()
    let asked = ["the goal of the match", "bake the bread"]
    let file = try writeConversations(asked.map { ($0, "with care") }, to: scratch)
    let outcome = try dibit(["compare", scratch("two"), scratch("whole"), "--reference", source, "--data", file, "--json"])
    #expect(outcome.status == 0, "\(outcome.errors)")
    let models = try #require(try outcome.json()["models"]?.array)
    let alone = try dibit("perplexity", scratch("two"), "--reference", source, "--data", file, "--json").json()
    #expect(models[0]["kl_divergence"] == alone["kl_divergence"] && models[0]["perplexity_ratio"] == alone["perplexity_ratio"])
    let continuations = try #require(try outcome.json()["continuations"]?.array)
    #expect(continuations.compactMap { $0["beginning"]?.string } == asked)
    for (continuation, question) in zip(continuations, asked) {
      let answer = try dibit("generate", source, "--prompt", question, "--max-tokens", "32", "--no-stream")
      #expect(continuation["reference"]?.string == String(answer.output.dropLast()))
      #expect(continuation["models"]?.array?[1] == continuation["reference"])
    }
    let table = try dibit(["compare", scratch("two"), "--reference", source, "--data", file])
    #expect(table.output.contains("tokens of answers in 2 conversations from '\(file)'"), "\(table.output)")
  }

  @Test("a table for people, and a page that holds everything and loads nothing")
  func shown() throws {
    let (source, text) = try prepare()
    let page = scratch("page.html")
    let arguments = ["compare", scratch("two"), scratch("four"), "--reference", source, "--data", text, "--limit", "600", "--html", page]
    let outcome = try dibit(arguments)
    #expect(outcome.status == 0, "\(outcome.errors)")
    for text in ["bits/weight", "same token", "What lost most in '\(scratch("two"))'", "and 7 more, which --html and --json hold"] {
      #expect(outcome.output.contains(text), "\(outcome.output)")
    }
    let html = try String(validating: contents(page), as: UTF8.self) ?? ""
    #expect(html.contains("content=\"dibit compare\"") && html.contains("script-src 'none'") && !html.contains("<script"))
    for section in ["models", "continuations", "tensors"] { #expect(html.contains("<section id=\"\(section)\"")) }
    #expect(html.contains("model.layers.0.mlp.up_proj.weight"))
    // A page is replaced where that is asked for, and nothing else is.
    #expect(try dibit(arguments).status != 0)
    #expect(try dibit(arguments + ["--overwrite"]).status == 0)
    try scratch.write("mine", to: "page.html")
    let refused = try dibit(arguments + ["--overwrite"])
    #expect(refused.status != 0 && refused.errors.contains(page))
    #expect(try contents(page) == Array("mine".utf8))
  }

  @Test("models and texts that do not go together are told")
  func failures() throws {
    let (source, text) = try prepare()
    func fails(_ arguments: [String], _ status: Int32, _ message: String) throws {
      let outcome = try dibit(["compare"] + arguments)
      #expect(outcome.status == status && outcome.errors.contains(message), "\(outcome.errors)")
    }
    try fails([scratch("two"), "--reference", source, "--data", scratch("nowhere")], 66, "'\(scratch("nowhere"))'")
    try fails([scratch("none"), "--reference", source, "--data", text], 66, "'\(scratch("none"))'")
    try fails([scratch("two"), "--reference", source, "--data", text, "--limit", "1"], 64, "--limit: expected at least 2, found 1")
    try fails([scratch("two"), "--reference", source, "--data", text, "--overwrite"], 64, "--overwrite: expected --html beside it")
    try fails(["--reference", source, "--data", text], 64, "model")
    var other = try TinyCheckpoint.llama(context: 48)
    other.tokenizer = other.tokenizer.replacing("<turn_start>", with: "<turn_begin>")
    let foreign = try other.write(to: scratch, "foreign")
    try fails([scratch("two"), "--reference", foreign, "--data", text], 65, "a reference needs the same tokenizer")
  }
}
