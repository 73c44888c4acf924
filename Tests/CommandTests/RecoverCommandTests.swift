import DibitJSON
import DibitTestSupport
import Testing

/// `recover`, as a user types it.
@Suite struct RecoverCommandTests {
  private let scratch = Scratch()

  /// A float checkpoint, a model of it at two bits, and a folder of labelled text.
  private func prepare() throws -> (source: String, model: String, data: String) {
    let source = try TinyCheckpoint.llama(context: 128).write(to: scratch, "floats")
    let outcome = try dibit("convert", source, "-o", scratch("start"), "--no-check", "--group-size", "32")
    try #require(outcome.status == 0, "\(outcome.errors)")
    for (index, sentence) in TinyCheckpoint.sentences.enumerated() {
      try scratch.write(sentence, to: "data/\(index % 2 == 0 ? "even" : "odd")/\(index).txt")
    }
    let text = String(repeating: TinyCheckpoint.sentences.joined(separator: ". ") + "\n", count: 40)
    try scratch.write(text, to: "text/a.txt")
    return (source, scratch("start"), scratch("data"))
  }

  private func command(_ inputs: (source: String, model: String, data: String), _ name: String, _ options: String...) -> [String] {
    [
      "recover", inputs.model, "--reference", inputs.source, "-o", scratch(name), "--steps", "60", "--rank", "8", "--set",
      "batch_size=4", "--set", "max_seq_length=24", "--set", "learning_rate=0.02",
    ] + options
  }

  @Test("under the adapter the model is far nearer to its floats; it is used and trained on as any other")
  func nearer() throws {
    let inputs = try prepare()
    func divergence(_ options: String...) throws -> Double {
      let outcome = try dibit(
        ["perplexity", inputs.model, "--reference", inputs.source, "--data", scratch("text"), "--json", "--limit", "2000"] + options)
      return try #require(try outcome.json()["kl_divergence"]?["mean"]?.double, "\(outcome.errors)")
    }
    for (name, options) in [("own", []), ("given", ["--data", scratch("text")])] {
      let outcome = try dibit(command(inputs, name) + options)
      #expect(outcome.status == 0 && outcome.output.contains("60 steps"), "\(outcome.errors)")
      #expect(outcome.errors.contains("the float model writes text") == options.isEmpty)
    }
    let (before, own, given) = (
      try divergence(), try divergence("--adapter", scratch("own")), try divergence("--adapter", scratch("given"))
    )
    #expect(own < 0.9 * before && given < 0.7 * before, "\(own), \(given), before \(before)")
    #expect(try dibit("verify", scratch("own")).status == 0)
    let manifest = try JSONValue(parsing: contents(scratch("own") + "/manifest.json"))
    #expect(manifest["recovers"]?.string == inputs.source && manifest["training"]?["steps"]?.int == 60)
    #expect(try text(scratch("own") + "/README.md").contains("knows no labels"))
    let written = try dibit("generate", inputs.model, "--adapter", scratch("own"), "--max-tokens", "4", "--prompt", "a")
    #expect(written.status == 0, "\(written.errors)")
    let trained = try dibit("train", inputs.model, "--from", scratch("own"), "--data", inputs.data, "-o", scratch("task"), "--epochs", "1")
    #expect(trained.status == 0, "\(trained.errors)")
    let configuration = try JSONValue(parsing: contents(scratch("task") + "/adapter_config.json"))
    #expect(configuration["r"] == 8 && configuration["lora_alpha"] == 8)
    let labels = try dibit("predict", inputs.model, "--adapter", scratch("own"), inputs.data)
    #expect(labels.status != 0 && labels.errorLines.count == 1, "\(labels.errors)")
  }

  @Test("models and options that do not do are told, and nothing is written")
  func failures() throws {
    let inputs = try prepare()
    func fails(_ arguments: [String], _ status: Int32, _ message: String) throws {
      let outcome = try dibit(["recover", "-o", scratch("out")] + arguments)
      #expect(outcome.status == status && outcome.errors.contains(message), "\(outcome.errors)")
      #expect(!scratch.names.contains("out"))
    }
    let (source, model) = (inputs.source, inputs.model)
    try fails([model, "--reference", model], 65, "'\(model)': expected the float checkpoint, found a converted model")
    try fails([source, "--reference", source], 65, "'\(source)'")
    try fails([model, "--reference", source, "--rank", "0"], 64, "--rank: expected a number from 1 to 4096, found 0")
    try fails([model, "--reference", source, "--steps", "0"], 64, "--steps: expected at least 1, found 0")
    try fails([model, "--reference", source, "--set", "scale_learning_rate=1"], 65, "scale_learning_rate")
    try fails([model, "--reference", source], 65, "'max_seq_length': expected less than 128, the context of '\(source)', found 255")
    let over = try dibit(command(inputs, "start", "--overwrite"))
    #expect(over.status != 0 && over.errors.contains(model), "\(over.errors)")
    #expect(try dibit("verify", model).status == 0)
  }
}
