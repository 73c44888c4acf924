import DibitCheckpoint
import DibitJSON
import DibitTensor
import DibitTestSupport
import DibitTokenizer
import Foundation
import Testing

/// `qat`, as a user types it.
@Suite struct QATCommandTests {
  private let scratch = Scratch()

  /// A float checkpoint, a model of it with a format, and a folder of text.
  private func prepare(_ format: String...) throws -> (source: String, model: String, text: String) {
    let source = try TinyCheckpoint.llama(context: 64).write(to: scratch, "floats")
    let outcome = try dibit(["convert", source, "-o", scratch("start"), "--no-check"] + format)
    try #require(outcome.status == 0, "\(outcome.errors)")
    let text = String(repeating: TinyCheckpoint.sentences.joined(separator: ". ") + "\n", count: 200)
    try scratch.write(text, to: "text/a.txt")
    return (source, scratch("start"), scratch("text"))
  }

  /// The divergence of a model from its source on a text.
  private func divergence(_ model: String, _ source: String, _ text: String) throws -> Double {
    let outcome = try dibit("perplexity", model, "--reference", source, "--data", text, "--json", "--limit", "2000")
    return try #require(try outcome.json()["kl_divergence"]?["mean"]?.double, "\(outcome.errors)")
  }

  private static let small = ["--set", "batch_size=4", "--set", "max_seq_length=24", "--set", "validation_interval=40"]

  @Test(
    "the trained model is far nearer to the floats than the one it began as, on text that was held out; the grid stays",
    arguments: [["--bits", "2", "--group-size", "32"], ["--bits", "4", "--embedding-bits", "16"]])
  func nearer(format: [String]) throws {
    let (source, model, text) = try prepare(format[0], format[1], format[2], format[3])
    let outcome = try dibit(
      ["qat", source, "--from", model, "--data", text, "-o", scratch("trained"), "--steps", "80", "--set", "learning_rate=0.02"]
        + Self.small)
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.errors.contains("held-out loss") && outcome.output.contains("80 steps"))
    let (before, after) = (try divergence(model, source, text), try divergence(scratch("trained"), source, text))
    #expect(after < 0.6 * before, "\(after), before \(before)")
    #expect(try dibit("verify", scratch("trained")).status == 0)
    func storage(_ path: String) throws -> JSONValue? { try dibit("inspect", path, "--json").json()["quantization"] }
    #expect(try storage(model) != nil && storage(scratch("trained")) == storage(model))
    let manifest = try JSONValue(parsing: contents(scratch("trained") + "/manifest.json"))
    #expect(manifest["source"]?["training"]?["steps"]?.int == 80)
    // A float checkpoint of it lies on the grid.
    #expect(try dibit("export", scratch("trained"), "--format", "safetensors", "-o", scratch("exported")).status == 0)
    let packed = try dibit("convert", scratch("exported"), "-o", scratch("packed"), "--json", format[0], format[1], format[2], format[3])
    let tensors = try #require(try packed.json()["tensors"]?.array, "\(packed.errors)")
    let rounded = tensors.filter { $0["storage"]?.string?.contains("groups") == true }
    #expect(rounded.count > 10 && rounded.allSatisfy { $0["exact"]?.bool == true })
  }

  @Test("scales alone bring the model nearer; its codes stay, and its embedding; a run that was stopped has the same bytes")
  func scalesOnly() throws {
    let (source, model, text) = try prepare("--bits", "2", "--group-size", "32")
    func command(_ name: String, _ options: String...) -> [String] {
      ["qat", source, "--from", model, "--data", text, "-o", scratch(name), "--scales-only", "--steps", "60", "--threads", "1"]
        + ["--set", "scale_learning_rate=0.02", "--checkpoint-every", "20"] + Self.small + options
    }
    let outcome = try dibit(command("trained"))
    #expect(outcome.status == 0, "\(outcome.errors)")
    let (before, after) = (try divergence(model, source, text), try divergence(scratch("trained"), source, text))
    #expect(after < 0.9 * before, "\(after), before \(before)")
    let (start, end) = (
      try Checkpoint.open(model + "/model.safetensors"), try Checkpoint.open(scratch("trained") + "/model.safetensors")
    )
    #expect(start.tensorNames == end.tensorNames)
    var moved = 0
    for name in start.tensorNames {
      let (old, new) = (try start.bytes(name), try end.bytes(name))
      let isSame = try #require(old).array == #require(new).array
      if name.hasSuffix(".scales"), name.contains("layers.") {
        #expect(!isSame, "\(name)")
        moved += 1
      } else if !name.contains("norm") {
        #expect(isSame, "\(name)")
      }
    }
    #expect(moved == 14)
    let process = try DibitProcess(command("stopped"))
    try process.wait { exists(scratch("stopped") + ".checkpoints/step-0000000020.safetensors") }
    process.kill()
    _ = process.waitForSignal()
    #expect(try dibit(command("stopped", "--resume")).status == 0)
    #expect(try contents(scratch("stopped") + "/model.safetensors") == contents(scratch("trained") + "/model.safetensors"))
  }

  @Test("without text the float model writes it, and a run that is stopped while it does goes on behind what is written")
  func ownText() throws {
    let (source, model, text) = try prepare()
    func command(_ name: String, _ options: String...) -> [String] {
      ["qat", source, "--from", model, "-o", scratch(name), "--steps", "40", "--own-text", "30000", "--set", "learning_rate=0.02"]
        + Self.small + options
    }
    let outcome = try dibit(command("trained"))
    // Windows of the whole context, as many as are written side by side.
    #expect(outcome.status == 0 && outcome.errors.contains("31,968 training tokens, 800 held out"), "\(outcome.errors)")
    #expect(outcome.errors.contains("the float model writes text"))
    #expect(try divergence(scratch("trained"), source, text) < divergence(model, source, text))
    let kept = scratch("stopped") + ".checkpoints"
    let process = try DibitProcess(command("stopped", "--threads", "1"))
    try process.wait { exists(kept + "/text-64.safetensors") }
    process.interrupt()
    let stopped = try process.finish()
    #expect(stopped.status == 130 && stopped.errorLines.count == 1 && stopped.errors.contains(kept), "\(stopped.errors)")
    #expect(try dibit(command("stopped", "--resume")).status == 0)
    #expect(try contents(scratch("stopped") + "/model.safetensors") == contents(scratch("trained") + "/model.safetensors"))
    #expect(!exists(kept))
    // What another model wrote is not trained on.
    let other = try TinyCheckpoint.llama(context: 32).write(to: scratch, "other")
    try scratch.write("", to: "foreign.checkpoints/events.jsonl")
    try #require(try dibit("convert", other, "-o", scratch("of-other"), "--calibrate", "--no-check").status == 0)
    let short = ["--set", "max_seq_length=16", "--steps", "200"]
    let foreign = try DibitProcess(["qat", other, "--from", scratch("of-other"), "-o", scratch("foreign")] + short)
    try foreign.wait { exists(scratch("foreign") + ".checkpoints/text-0.safetensors") }
    foreign.kill()
    _ = foreign.waitForSignal()
    let refused = try dibit(["qat", source, "--from", model, "-o", scratch("foreign"), "--resume"] + short)
    #expect(refused.status == 65 && refused.errors.contains("foreign.checkpoints' "), "\(refused.errors)")
    #expect(
      try dibit(["qat", source, "--from", model, "-o", scratch("foreign"), "--overwrite", "--set", "max_seq_length=16", "--steps", "2"])
        .status == 0)
  }

  @Test("own text is read beside a text that is far longer, of which a part is taken")
  func mixture() throws {
    let (source, model, text) = try prepare()
    let command = ["qat", source, "--from", model, "--data", text, "--overwrite", "-o", scratch("trained"), "--steps", "40"] + Self.small
    /// The tokens of the text, and those with `own` tokens of own text beside it.
    func tokens(own: Int) throws -> Int? {
      let outcome = try dibit(command + ["--own-text", "\(own)"])
      #expect(outcome.status == 0, "\(outcome.errors)")
      return outcome.errors.firstMatch(of: /([0-9,]+) training tokens/).flatMap { Int($0.1.filter { $0 != "," }) }
    }
    // The 40 steps read 4,000 tokens; own text is written in 64 windows of the whole context, 4,096 tokens in all.
    let alone = try #require(try tokens(own: 0))
    try #require(alone > 8_000)
    #expect(try tokens(own: 1_000) == 4_096 + 3_000)
    #expect(try tokens(own: 4_000) == 4_096 + 4_000)
  }

  @Test("a text that the steps read more often than it is worth is told, and trained on")
  func readAgain() throws {
    let (source, model, text) = try prepare()
    func notes(steps: Int) throws -> [Substring] {
      let outcome = try dibit(
        ["qat", source, "--from", model, "--data", text, "--overwrite", "-o", scratch("trained"), "--scales-only"]
          + ["--steps", "\(steps)"] + Self.small)
      #expect(outcome.status == 0, "\(outcome.errors)")
      return outcome.errors.matches(of: /about ([0-9,]+) times, .* give more --data or --own-text, or fewer --steps/).map(\.1)
    }
    let words = TinyCheckpoint.sentences.joined(separator: ". ")
    try scratch.write(String(repeating: words + "\n", count: 20), to: "text/a.txt")
    #expect(try notes(steps: 10).isEmpty)
    let found = try notes(steps: 200)
    #expect(found.count == 1 && found.allSatisfy { (5...20).contains(Int($0) ?? 0) }, "\(found)")
  }

  @Test("conversations are trained on in the turns of the model")
  func conversations() throws {
    let (source, model, text) = try prepare()
    let sentences = TinyCheckpoint.sentences
    let pairs = sentences.flatMap { question in sentences.map { (question, $0) } }
    let chats = try writeConversations(pairs, to: scratch)
    let (before, after) = (try divergence(model, source, chats), try trainedDivergence())
    #expect(after < 0.7 * before, "\(after), before \(before)")
    // As long as in turns, beside the plain text.
    func count(_ data: String...) throws -> Int {
      let outcome = try dibit(
        ["qat", source, "--from", model, "-o", scratch("counted"), "--overwrite", "--steps", "1", "--set", "max_seq_length=24"]
          + data.flatMap { ["--data", $0] })
      let found = try #require(outcome.errors.firstMatch(of: /([0-9,]+) training tokens/), "\(outcome.errors)")
      return try #require(Int(found.1.filter { $0 != "," }))
    }
    let tokenizer = try TinyCheckpoint.makeTokenizer()
    let template = ChatTemplate(tokenizer)
    let expected = pairs.reduce(0) { sum, pair in
      sum + template.prompt(system: nil, user: pair.0, tokenizer: tokenizer).tokens.count
        + template.answer(pair.1, tokenizer: tokenizer).count
    }
    #expect(try count(chats) == expected)
    #expect(try count(chats, text) == expected + count(text))

    func trainedDivergence() throws -> Double {
      let outcome = try dibit(
        ["qat", source, "--from", model, "--data", chats, "-o", scratch("trained"), "--steps", "80", "--set", "learning_rate=0.02"]
          + Self.small)
      #expect(outcome.status == 0, "\(outcome.errors)")
      return try divergence(scratch("trained"), source, chats)
    }
  }

  @Test("models and texts that do not do are told, and nothing is written")
  func failures() throws {
    let (source, model, text) = try prepare()
    func fails(_ arguments: [String], _ status: Int32, _ message: String) throws {
      let outcome = try dibit(["qat", "-o", scratch("out")] + arguments)
      #expect(outcome.status == status && outcome.errors.contains(message), "\(outcome.errors)")
      #expect(!scratch.names.contains("out"))
    }
    try fails([model, "--from", model, "--data", text], 65, "'\(model)': expected the float checkpoint, found a converted model")
    try fails([source, "--from", source, "--data", text], 65, "'\(source)'")
    #expect(try dibit("convert", source, "-o", scratch("floats16"), "--bits", "16", "--embedding-bits", "16").status == 0)
    try fails([source, "--from", scratch("floats16"), "--data", text], 65, "expected a model on a grid, found one of floats")
    let other = try TinyCheckpoint.afm7().write(to: scratch, "other")
    #expect(try dibit("convert", other, "-o", scratch("foreign")).status == 0)
    try fails([source, "--from", scratch("foreign"), "--data", text], 65, "expected a model converted from '\(source)', found one with")
    var renamed = try TinyCheckpoint.llama(context: 64)
    renamed.tokenizer = renamed.tokenizer.replacingOccurrences(of: "<turn_start>", with: "<turn_begin>")
    try fails([try renamed.write(to: scratch, "renamed"), "--from", model, "--data", text], 65, "a teacher needs the same tokenizer")
    try fails([source, "--from", model, "--data", scratch("nowhere")], 66, "'\(scratch("nowhere"))'")
    try scratch.write("a few words", to: "short.txt")
    try fails(
      [source, "--from", model, "--data", scratch("short.txt"), "--set", "max_seq_length=32"], 65,
      "'\(scratch("short.txt"))': 9 tokens to train on; at least 1000")
    try fails(
      [source, "--from", model, "--data", text], 65, "'max_seq_length': expected less than 64, the context of '\(source)', found 255")
    try fails([source, "--from", model, "--own-text", "0"], 64, "--own-text: expected --data beside 0, as there is no other text")
    try fails([source, "--from", model, "--own-text", "-1"], 64, "--own-text: expected a number from 0 to 1000000000, found -1")
    try fails([source, "--from", model, "--data", text, "--set", "rank=4"], 65, "rank")
    for key in ["learning_rate", "embedding_learning_rate"] {
      try fails(
        [source, "--from", model, "--data", text, "--scales-only", "--set", key + "=0.01"], 65,
        "'\(key)' is a rate of weights, which stay with --scales-only: set 'scale_learning_rate' or 'norm_learning_rate'")
    }
    try fails([source, "--from", model, "--data", text, "--steps", "0"], 64, "--steps: expected at least 1, found 0")
    let over = try dibit(["qat", source, "--from", model, "--data", text, "-o", model, "--overwrite"] + Self.small)
    #expect(over.status != 0 && over.errors.contains(model), "\(over.errors)")
  }
}
