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
      let outcome = try dibit(command(inputs, name, "--as-adapter") + options)
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

  @Test("the adapter inside of the model brings what it brings beside it, wherever the model goes", arguments: [4, 8])
  func inside(bits: Int) throws {
    let inputs = try prepare()
    func divergence(_ model: String, _ options: String...) throws -> Double {
      let outcome = try dibit(
        ["perplexity", model, "--reference", inputs.source, "--data", scratch("text"), "--json", "--limit", "2000"] + options)
      try #require(outcome.status == 0, "\(outcome.errors)")
      return try #require(try outcome.json()["kl_divergence"]?["mean"]?.double, "\(outcome.errors)")
    }
    let options = ["--data", scratch("text")]
    #expect(try dibit(command(inputs, "beside", "--as-adapter") + options).status == 0)
    let outcome = try dibit(command(inputs, "model", "--bits", "\(bits)") + options)
    #expect(outcome.status == 0, "\(outcome.errors)")
    let (before, beside) = (try divergence(inputs.model), try divergence(inputs.model, "--adapter", scratch("beside")))
    let inside = try divergence(scratch("model"))
    // Rounding takes a little of what was brought back.
    #expect(
      beside < 0.7 * before && abs(inside - beside) < (bits == 8 ? 0.02 : 0.15) * (before - beside), "\(before), \(beside), \(inside)")
    #expect(try dibit("verify", scratch("model")).status == 0)
    let configuration = try JSONValue(parsing: contents(scratch("model") + "/config.json"))
    #expect(configuration["quantization"]?["recovery"] == ["rank": 8, "bits": .integer(bits)])
    #expect(configuration["quantization"]?["version"] == 6)
    let manifest = try JSONValue(parsing: contents(scratch("model") + "/manifest.json"))
    #expect(manifest["source"]?["recovers"]?.string == inputs.source && manifest["source"]?["training"]?["steps"] == 60)
    // As floats it is the same model.
    #expect(try dibit("export", scratch("model"), "--format", "safetensors", "-o", scratch("merged")).status == 0)
    #expect(abs(try divergence(scratch("merged"), "--activations", "float") - inside) < 0.02 * inside)
    #expect(try dibit("export", scratch("model"), "--format", "gguf", "-o", scratch("merged.gguf")).status == 0)
    let perplexities = try ["merged", "merged.gguf"].map { name in
      let outcome = try dibit("perplexity", scratch(name), "--data", scratch("text"), "--json", "--limit", "2000", "--activations", "float")
      return try #require(try outcome.json()["perplexity"]?.double, "\(outcome.errors)")
    }
    #expect(abs(perplexities[1] - perplexities[0]) < 1e-4 * perplexities[0], "\(perplexities)")
    // A task is trained over it, and its adapter belongs to it alone.
    for set in ["lora_parameters.use_dora=false", "lora_parameters.use_dora=true"] {
      let trained = try dibit(
        "train", scratch("model"), "--data", inputs.data, "-o", scratch("task"), "--epochs", "1", "--overwrite", "--set", set)
      #expect(trained.status == 0, "\(trained.errors)")
    }
    let other = try dibit("generate", inputs.model, "--adapter", scratch("task"), "--prompt", "a")
    #expect(other.status == 65, "\(other.errors)")
    // One recovery is all that a model has.
    for arguments in [["recover", scratch("model"), "--reference", inputs.source], ["qat", inputs.source, "--from", scratch("model")]] {
      let refused = try dibit(arguments + ["-o", scratch("again")])
      #expect(
        refused.status == 65 && refused.errors.contains("'\(scratch("model"))': expected a model without a recovery, found one of rank 8"))
    }
    let compared = try dibit(
      "compare", scratch("model"), inputs.model, "--reference", inputs.source, "--data", scratch("text"), "--limit", "500", "--json")
    try #require(compared.status == 0, "\(compared.errors)")
    #expect(try compared.json()["models"]?.array?.count == 2)
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
    try fails([model, "--reference", source, "--bits", "3"], 64, "--bits: expected 4 or 8, found 3")
    try fails([model, "--reference", source, "--bits", "8", "--as-adapter"], 64, "--bits: expected none beside --as-adapter")
    try fails([model, "--reference", source, "--steps", "0"], 64, "--steps: expected at least 1, found 0")
    try fails([model, "--reference", source, "--set", "scale_learning_rate=1"], 65, "scale_learning_rate")
    try fails([model, "--reference", source], 65, "'max_seq_length': expected less than 128, the context of '\(source)', found 255")
    let over = try dibit(command(inputs, "start", "--overwrite"))
    #expect(over.status != 0 && over.errors.contains(model), "\(over.errors)")
    #expect(try dibit("verify", model).status == 0)
  }
}
