import DibitJSON
import DibitTestSupport
import Testing

/// Adapters that leave for other tools, are added up or merged, and come back.
@Suite(.serialized) struct AdapterExchangeTests {
  /// A llama, which llama.cpp knows too, with an adapter and its data.
  private struct Setup {
    let scratch = Scratch()
    var model: String { scratch("model") }
    var adapter: String { scratch("adapter") }

    init(settings: [String] = []) throws {
      let source = try TinyCheckpoint.llama().write(to: scratch)
      try #require(try dibit("convert", source, "--bits", "4", "--output", model).status == 0)
      try writeTopics(to: scratch)
      let outcome = try dibit(
        ["train", model, "--data", scratch("data"), "--output", adapter, "--epochs", "1", "--rank", "4"] + settings)
      try #require(outcome.status == 0, "\(outcome.errors)")
    }

    func json(_ path: String) throws -> JSONValue { try JSONValue(parsing: contents(scratch(path))) }

    /// What an adapter says of a text: labels with probabilities.
    func prediction(_ adapter: String, _ model: String? = nil) throws -> String {
      let outcome = try dibit(
        "predict", model ?? self.model, "--adapter", adapter, scratch("data/food/0.txt"), "--json", "--activations", "float")
      #expect(outcome.status == 0, "\(outcome.errors)")
      return outcome.output
    }
  }

  @Test("an adapter keeps labels, prompt and training on the way out and back", arguments: ["peft", "mlx", "gguf"])
  func thereAndBack(format: String) throws {
    let setup = try Setup(settings: ["--word-share", "0.5"])
    let (there, back) = (setup.scratch("there"), setup.scratch("back"))
    let exported = try dibit("export", setup.model, "--adapter", setup.adapter, "--format", format, "--output", there)
    let note = "note: '\(setup.adapter)' has a classifier of words beside it, which stays behind: answers are the model's alone\n"
    #expect(exported.status == 0 && exported.output == "14 adapted layers\n")
    #expect(exported.errors == (format == "gguf" ? note : "") + "wrote \(there)\n")

    let facts = try dibit("inspect", there, "--json").json()
    let tool = ["peft": "PEFT", "mlx": "mlx-lm", "gguf": "llama.cpp"][format] ?? ""
    #expect(facts["kind"] == .string("LoRA adapter (\(tool))"))
    #expect(facts["labels"] == ["food", "money", "space", "sport"] && facts["r"] == 4 && facts["tensors"] == 28)
    if format != "mlx" { #expect(facts["base_model_name_or_path"] == "model") }

    let converted = try dibit("convert", there, "--base", setup.model, "--output", back)
    #expect(converted.status == 0 && converted.errors == "wrote \(back)\n", "\(converted.errors)")
    let (before, after) = (try setup.json("adapter/manifest.json"), try setup.json("back/manifest.json"))
    for key in ["labels", "task", "seed", "data_sha256", "split", "recipe", "training", "training_texts", "base_digest"] {
      #expect(before[key] != nil && after[key] == before[key], "\(key)")
    }
    #expect(after["source"] == ["path": .string(there), "base_digest": before["base_digest"] ?? .null])
    #expect(try contents(back + "/training_texts.json") == contents(setup.adapter + "/training_texts.json"))
    #expect(try contents(back + "/adapter_model.safetensors") == contents(setup.adapter + "/adapter_model.safetensors"))
    let expected = try setup.prediction(setup.adapter)
    // llama.cpp's file has no room for words.
    #expect(after["words"] == (format == "gguf" ? nil : before["words"]) && before["words"] != nil)
    #expect(try (setup.prediction(back) == expected) == (format != "gguf"))
    if format != "gguf" { #expect(try setup.prediction(there) == expected) }
    // llama.cpp's file holds no digest.
    let verdict =
      format == "gguf"
      ? "no fault found; the adapter comes without a digest, so that a changed byte may go unnoticed" : "the adapter is whole"
    #expect(try dibit("verify", there).output.hasSuffix("\n\(verdict)\n"))
  }

  @Test func anAdapterOfAnotherToolIsGivenItsLabels() throws {
    let setup = try Setup()
    // What PEFT writes: its two files.
    let (foreign, own) = (setup.scratch("foreign"), setup.scratch("own"))
    for name in ["adapter_config.json", "adapter_model.safetensors"] {
      try setup.scratch.write(contents(setup.adapter + "/" + name), to: "foreign/" + name)
    }
    let note = setup.scratch("data/food/0.txt")
    try expectFailure(
      ["predict", setup.model, "--adapter", foreign, note], status: 65,
      message: "'\(foreign)' is an adapter of another tool: run 'dibit convert \(foreign) --base MODEL --output ADAPTER' first, "
        + "with --labels where it does not say them")
    let silent = try dibit("convert", foreign, "--base", setup.model, "--output", setup.scratch("silent"))
    #expect(silent.status == 0)
    #expect(
      silent.errors == "note: '\(foreign)' says no labels, which 'dibit predict' and 'dibit evaluate' need: --labels gives them\n"
        + "wrote \(setup.scratch("silent"))\n")
    try expectFailure(
      ["predict", setup.model, "--adapter", setup.scratch("silent"), note], status: 65,
      message: "the adapter '\(setup.scratch("silent"))' comes from another tool and says no labels: give them with "
        + "'dibit convert ADAPTER --base MODEL --labels LABEL,LABEL', or use it with 'dibit generate'")
    let outcome = try dibit(
      "convert", foreign, "--base", setup.model, "--output", own, "--labels", "food, money,space,sport", "--instruction",
      "Tag the text with its topic.")
    #expect(outcome.status == 0 && outcome.errors == "wrote \(own)\n", "\(outcome.errors)")
    #expect(try setup.prediction(own) == setup.prediction(setup.adapter))
    for (arguments, message) in [
      (["--labels", "a"], "--labels: at least two names expected, separated by commas, found 'a'"),
      (["--labels", "a,"], "--labels: at least two names expected, separated by commas, found 'a,'"),
      (["--labels", "a,b,a"], "--labels: each name once expected, 'a' found twice"),
      (["--key", "tag"], "--key says how labels are asked for: give --labels"),
    ] {
      try expectFailure(
        ["convert", foreign, "--base", setup.model, "--output", setup.scratch("x")] + arguments, status: 64,
        message: message + "; see 'dibit convert --help'")
    }
    try expectFailure(
      ["convert", foreign, "--output", setup.scratch("x"), "--labels", "a,b"], status: 64,
      message: "--labels: only an adapter has labels: give --base MODEL; see 'dibit convert --help'")
  }

  @Test func cardsSayWhatTheFilesAre() throws {
    let setup = try Setup()
    let model = try text(setup.model + "/README.md")
    #expect(model.hasPrefix("# source, converted by Dibit\n"))
    #expect(model.contains("4-bit weights, groups of 64 weights share a scale"))
    let card = try text(setup.adapter + "/README.md")
    #expect(card.hasPrefix("---\nbase_model: \"model\"\nlibrary_name: peft\n"))
    #expect(card.contains("\n- \"food\"\n- \"money\"\n- \"space\"\n- \"sport\"\n"))
    // The tiny tokenizer has Dibit's own turns.
    #expect(
      card.contains(
        "````text\n<turn_start> system<n>Tag the text with its topic.<turn_end><turn_start> user<n>It rained all day.<turn_end>"
          + "<turn_start> assistant<n>{\"topics\":[\"\n````"), "\(card)")
    #expect(card.contains("\n32 training and 0 validation examples, 4 steps, training loss "))
    let config = try setup.json("adapter/adapter_config.json")
    #expect(config["base_model_name_or_path"] == "model")
    let named = try dibit(
      "export", setup.model, "--adapter", setup.adapter, "--format", "peft", "--output", setup.scratch("named"), "--base-name",
      "someone/llama")
    #expect(named.status == 0, "\(named.errors)")
    #expect(try setup.json("named/adapter_config.json")["base_model_name_or_path"] == "someone/llama")
    #expect(try text(setup.scratch("named/README.md")).hasPrefix("---\nbase_model: \"someone/llama\"\n"))
    try expectFailure(
      ["export", setup.model, "--format", "gguf", "--output", setup.scratch("x"), "--base-name", "x"], status: 64,
      message: "--base-name: only an adapter names its base: give --adapter and one of its formats; see 'dibit export --help'")
  }

  @Test func sumsOfAdapters() throws {
    let setup = try Setup()
    let other = setup.scratch("other")
    let arguments = ["train", setup.model, "--data", setup.scratch("data"), "--output", other, "--epochs", "1", "--rank", "2"]
    try #require(try dibit(arguments + ["--seed", "5", "--set", "prompt.key=tag"]).status == 0)
    let outcome = try dibit(
      "export", setup.model, "--adapter", setup.adapter + "=0.75", "--adapter", other + "=-0.5", "--format", "peft", "--output",
      setup.scratch("sum"))
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(
      outcome.errors.hasPrefix(
        "note: '\(other)' has other labels or another prompt than '\(setup.adapter)'; the result has those of the first\n"))
    let manifest = try setup.json("sum/manifest.json")
    #expect(manifest["task"]?["key"] == "topics" && manifest["training"] == nil)
    #expect(manifest["source"]?["adapters"]?.array?.map { $0["weight"] } == [0.75, -0.5])
    #expect(manifest["training_texts"]?["count"] == 32)
    let config = try setup.json("sum/adapter_config.json")
    #expect(config["r"] == 6 && config["lora_alpha"] == 6)

    // Three quarters and a quarter of an adapter are the adapter.
    let halves = try dibit(
      "export", setup.model, "--adapter", setup.adapter + "=0.75", "--adapter", setup.adapter + "=0.25", "--format", "peft", "--output",
      setup.scratch("whole"))
    #expect(halves.status == 0, "\(halves.errors)")
    let (whole, alone) = (try scores(setup.prediction(setup.scratch("whole"))), try scores(setup.prediction(setup.adapter)))
    // Floats of another rounding, through two layers.
    for (one, two) in zip(whole, alone) { #expect(abs(one - two) < 1e-4) }

    try expectFailure(
      ["export", setup.model, "--adapter", setup.adapter + "=much", "--format", "peft", "--output", setup.scratch("x")], status: 64,
      message: "--adapter: expected a directory, and behind '=' a weight from -1000000 to 1000000, found '\(setup.adapter)=much'")
  }

  private func scores(_ output: String) throws -> [Double] {
    try JSONValue(parsing: output).array?.first?["scores"]?.object?.members.compactMap { $0.value.double } ?? []
  }

  @Test("an adapter merged into floats does what it did beside them", arguments: [[], ["--set", "lora_parameters.use_dora=true"]])
  func merged(settings: [String]) throws {
    let setup = try Setup(settings: settings)
    let (floats, model) = (setup.scratch("floats"), setup.scratch("merged"))
    let outcome = try dibit("export", setup.model, "--adapter", setup.adapter, "--format", "safetensors", "--output", floats)
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(try text(floats + "/README.md").contains("Merged into them: the adapter `adapter`, times 1.0.\n"))
    #expect(try text(floats + "/README.md").contains("\n- \"food\"\n"))
    try #require(try dibit("convert", floats, "--bits", "32", "--embedding-bits", "32", "--output", model).status == 0)
    func perplexity(_ arguments: [String]) throws -> Double {
      let exact = ["--data", setup.scratch("data/food/0.txt"), "--json", "--activations", "float", "--cache", "float32"]
      let outcome = try dibit(["perplexity"] + arguments + exact)
      return try #require(try outcome.json()["perplexity"]?.double)
    }
    let beside = try perplexity([setup.model, "--adapter", setup.adapter])
    let (alone, plain) = (try perplexity([model]), try perplexity([setup.model]))
    // The same sums in another order.
    #expect(abs(alone - beside) < 1e-4 * beside)
    // One short epoch changes little, but more than that: how much is the machine's affair.
    #expect(abs(plain - beside) > 2e-4 * beside)
    guard !settings.isEmpty else { return }
    try expectFailure(
      ["export", setup.model, "--adapter", setup.adapter + "=0.5", "--format", "peft", "--output", setup.scratch("x")], status: 65,
      message: "adapter '\(setup.adapter)': it has magnitudes (use_dora), which cannot be weighted or added "
        + "to others: export it alone")
  }
}
