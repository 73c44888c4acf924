import DibitJSON
import DibitTestSupport
import Testing

/// The commands one after the other on a tiny model, as a user calls them.
@Suite struct PipelineTests {
  @Test("convert, train, evaluate, predict, generate, inspect, perplexity", arguments: ["llama", "afm7"])
  func allCommands(family: String) throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.named(family).write(to: scratch)
    let (model, adapter, data) = (scratch("model"), scratch("adapter"), try writeTopics(to: scratch, perLabel: 15))

    let converted = try dibit("convert", source, "--output", model, "--json")
    #expect(converted.status == 0)
    let report = try converted.json()
    #expect(
      report.object?.keys == [
        "schema", "source", "output", "architecture", "digest", "parameters", "source_bytes", "source_file_bytes", "output_bytes",
        "bits_per_weight", "snr_db", "seconds",
        "tensors", "check",
      ])
    #expect(report["architecture"] == .string(family))
    #expect(report["output_bytes"]?.int == (try contents(model + "/model.safetensors").count))
    #expect(try files(below: model).keys.sorted() == ["README.md", "config.json", "manifest.json", "model.safetensors", "tokenizer.json"])

    let trained = try dibit(
      "train", model, "--data", data, "--output", adapter, "--epochs", "6", "--rank", "8", "--learning-rate", "1e-2", "--json")
    #expect(trained.status == 0, "\(trained.errors)")
    let training = try trained.json()
    #expect(training.object?.keys == ["labels", "task", "seed", "data_sha256", "split", "recipe", "training", "training_texts"])
    #expect(training["labels"] == ["food", "money", "space", "sport"])
    #expect(training["split"]?["train"] == 54)
    #expect(training["split"]?["validation"] == 6)
    #expect(training["training"]?["steps"] == 42)
    #expect(trained.errors.contains("54 training and 6 validation texts, 4 labels"))
    #expect(
      try files(below: adapter).keys.sorted() == [
        "README.md", "adapter_config.json", "adapter_model.safetensors", "events.jsonl", "loss.svg", "manifest.json", "recipe.yaml",
        "training_texts.json",
      ])

    let evaluated = try dibit("evaluate", model, "--adapter", adapter, "--data", data, "--json")
    #expect(evaluated.status == 0, "\(evaluated.errors)")
    try check(evaluated.json(), adapter: adapter)
    let shown = try dibit("evaluate", model, "--adapter", adapter, "--data", data)
    #expect(shown.status == 0)
    #expect(shown.output.contains("6 texts of the validation split, 4 labels; most frequent label "))
    #expect(shown.output.contains("naive Bayes on words"))

    let note = data + "/food/0.txt"
    let predicted = try dibit("predict", model, "--adapter", adapter, note, data + "/space/1.txt")
    #expect(predicted.status == 0)
    let lines = predicted.output.split(separator: "\n").map { $0.split(separator: "\t") }
    #expect(lines.map { String($0[0]) } == [note, data + "/space/1.txt"])
    let scores = try dibit("predict", model, "--adapter", adapter, note, "--json").json().array?.first
    #expect(scores?.object?.keys == ["file", "topics", "probability", "truncated_tokens", "scores"])
    #expect(scores?["topics"]?.array?.first?.string == String(lines[0][1]))
    let sum = scores?["scores"]?.object?.members.reduce(0.0) { $0 + ($1.value.double ?? .nan) } ?? .nan
    #expect(abs(sum - 1) < 1e-9)

    let generated = try dibit("generate", model, "--raw", "--prompt", "the goal", "--max-tokens", "8")
    #expect(generated.status == 0, "\(generated.errors)")
    #expect(generated.output.hasPrefix("the goal"))
    #expect(generated.errors == "")
    #expect(try dibit("generate", model, "--raw", "--prompt", "the goal", "--max-tokens", "8").output == generated.output)
    #expect(try dibit("generate", model, "--adapter", adapter, "--prompt", "soup").status == 0)

    let facts = try dibit("inspect", model, "--json", "--tensors").json()
    #expect(facts["kind"] == "converted model")
    #expect(facts["digest"] == report["digest"])
    #expect(facts["parameters"] == report["parameters"])
    #expect(facts["list"]?.array?.count == facts["tensors"]?.int)
    #expect(try dibit("inspect", source, "--json").json()["kind"] == "float checkpoint")
    #expect(try dibit("inspect", source + "/model.safetensors", "--json").json()["kind"] == "tensor file")
    let adapted = try dibit("inspect", adapter, "--json").json()
    #expect(adapted["kind"] == "LoRA adapter (PEFT)")
    #expect(adapted["base_digest"] == report["digest"])
    #expect(adapted["r"] == 8)
    #expect(try dibit("inspect", model).output.contains("converted model"))

    let perplexity = try dibit("perplexity", model, "--data", note, "--json")
    #expect(perplexity.status == 0)
    #expect(try perplexity.json().object?.keys == PerplexityCommandTests.keys)
    #expect(scratch.names == ["adapter", "data", "model", "source"])
  }

  private func check(_ report: JSONValue, adapter: String) throws {
    let keys = ["schema", "examples", "split", "truncated_examples", "labels", "majority_accuracy", "verdict", "runs", "baselines"]
    for key in keys { #expect(report[key] != nil, "\(key)") }
    #expect(report["schema"] == 1)
    #expect(report["examples"] == 6)
    #expect(report["split"] == "validation")
    let labels = ["food", "money", "space", "sport"]
    #expect(report["labels"]?.array?.compactMap(\.string) == labels)
    let runs = try #require(report["runs"]?.array)
    #expect(runs.map { $0["name"] } == ["base", .string(adapter)])
    for run in runs {
      #expect((0...1).contains(run["accuracy"]?.double ?? -1))
      #expect((0...1).contains(run["macro_f1"]?.double ?? -1))
      #expect(run["per_label"]?.object?.keys == labels)
      for label in labels { #expect(run["per_label"]?[label]?.object?.keys == ["precision", "recall", "f1", "support", "f1_ci95"]) }
      let confusion = try #require(run["confusion"]?.array).map { $0.array?.compactMap(\.int) ?? [] }
      #expect(confusion.map(\.count) == [4, 4, 4, 4])
      #expect(confusion.joined().reduce(0, +) == 6)
    }
  }

  @Test func pretrainedCheckpointConvertsAndGenerates() throws {
    let scratch = Scratch()
    try scratch.write(String(repeating: TinyCheckpoint.sentences.joined(separator: ". ") + "\n", count: 20), to: "text/a.txt")
    let recipe = try scratch.write(
      """
      data: text
      model: {vocab_size: 300, hidden_dim: 32, num_layers: 3, num_kv_reuse_layers: 1, num_heads: 2, num_kv_heads: 1, max_position_embeddings: 64}
      steps: 12
      batch_size: 4
      max_seq_length: 32
      """, to: "recipe.yaml")
    let outcome = try dibit("pretrain", recipe, "-o", "base", in: scratch.path)
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.errors.hasSuffix("wrote base\n") && !outcome.output.contains("wrote"))
    #expect(try dibit("convert", "base", "-o", "model", in: scratch.path).status == 0)
    #expect(try dibit("generate", "model", "--raw", "--prompt", "the", "--max-tokens", "5", in: scratch.path).output.hasPrefix("the"))
    // The same recipe gives the same bytes, whatever the number of threads.
    #expect(try dibit("pretrain", recipe, "-o", "again", "--threads", "1", in: scratch.path).status == 0)
    #expect(try results(below: scratch("again")) == results(below: scratch("base")))
    // Trained on the grid, it stays there: the conversion has nothing to round.
    #expect(try dibit("pretrain", recipe, "-o", "grid", "--set", "quantization.bits=2", in: scratch.path).status == 0)
    let conversion = try dibit("convert", "grid", "-o", "packed", in: scratch.path)
    #expect(conversion.output.contains("every rounded tensor was on the grid"), "\(conversion.output) \(conversion.errors)")
  }

  @Test func planNeedsNoOutput() throws {
    let work = try Workplace()
    let arguments = ["train", work.model, "--data", work.data, "--epochs", "3", "--batch-size", "16", "--rank", "4"]
    let outcome = try DibitProcess(arguments + ["--plan", "--json"]).finish()
    #expect(outcome.status == 0, "\(outcome.errors)")
    let plan = try outcome.json()
    #expect(try #require(plan["memory"]?["total"]?.int) > 0)
    #expect(try #require(plan["estimate"]?["seconds"]?.double) > 0)
    let run = try DibitProcess(arguments + ["-o", work.adapter, "--json"]).finish()
    let training = try run.json()["training"]
    #expect(plan["steps"] == training?["steps"] && plan["estimate"]?["training_tokens"] == training?["tokens"])
    #expect(try DibitProcess(arguments).finish().status == 64)
  }

  @Test func optionsWinOverTheRecipe() throws {
    let work = try Workplace()
    let recipe = try work.scratch.write(
      "epochs: 3\nbatch_size: 16\nlora_parameters:\n  rank: 2\n  keys: [q_proj, v_proj]\nprompt:\n  key: tags\n", to: "recipe.yaml")
    let outcome = try dibit(
      "train", work.model, "--data", work.data, "-o", work.adapter, "--recipe", recipe, "--epochs", "1", "--json")
    #expect(outcome.status == 0, "\(outcome.errors)")
    let manifest = try outcome.json()
    #expect(manifest["recipe"]?["epochs"] == 1)
    #expect(manifest["recipe"]?["batch_size"] == 16)
    #expect(manifest["recipe"]?["rank"] == 2)
    #expect(manifest["recipe"]?["keys"] == ["q_proj", "v_proj"])
    #expect(manifest["task"]?["key"] == "tags")
    #expect(manifest["training"]?["steps"] == 2)
  }

  @Test func sameSeedSameAdapter() throws {
    let work = try Workplace()
    for (name, seed, threads) in [("a", "3", "1"), ("b", "3", "2"), ("c", "4", "2")] {
      let outcome = try dibit(
        "train", work.model, "--data", work.data, "-o", work.scratch(name), "--epochs", "1", "--rank", "4", "--seed", seed, "--threads",
        threads)
      #expect(outcome.status == 0, "\(outcome.errors)")
    }
    #expect(try results(below: work.scratch("a")) == results(below: work.scratch("b")))
    #expect(try contents(work.scratch("a/adapter_model.safetensors")) != contents(work.scratch("c/adapter_model.safetensors")))
  }

  @Test func overwriteReplacesAModel() throws {
    let work = try Workplace()
    let before = try files(below: work.model)
    #expect(try dibit("convert", work.scratch("source"), "-o", work.model, "--bits", "4", "--overwrite").status == 0)
    let after = try files(below: work.model)
    #expect(after.keys.sorted() == before.keys.sorted())
    #expect(after["model.safetensors"] != before["model.safetensors"])
    #expect(work.scratch.names == ["data", "model", "source"])
  }
}
