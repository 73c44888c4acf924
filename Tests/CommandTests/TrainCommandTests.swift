import DibitJSON
import DibitTestSupport
import Testing

@Suite struct TrainCommandTests {
  private func manifest(_ adapter: String) throws -> JSONValue { try JSONValue(parsing: try contents(adapter + "/manifest.json")) }

  private func train(_ work: Workplace, _ name: String, _ options: [String]) throws -> Outcome {
    try dibit(["train", work.model, "--data", work.data, "-o", work.scratch(name)] + options)
  }

  // MARK: The whole recipe

  @Test("the recipe that a run leaves behind repeats it, byte for byte")
  func theRecipeRepeatsTheRun() throws {
    let work = try Workplace(perLabel: 4)
    let recipe = try work.scratch.write(
      """
      seed: 18446744073709551615
      epochs: 2
      ema_decay: 0.9
      class_weights: {food: 2, "money": 0.5}
      lr_schedule: {name: linear_schedule, warmup: 2, end: 1e-5}
      watchdog: {factor: 4}
      lora_parameters: {rank: 4, scale: 3, use_rslora: true, dropout: 0.1, keys: [q_proj, v_proj]}
      prompt: {instruction: "Say: \\"what\\" of {labels}?", key: kind, scaffolding_weight: 0.3}
      """, to: "recipe.yaml")
    let timed = try work.scratch.write(
      "lr_schedule: {name: cosine_decay, warmup: 2, warmup_init: 1e-5, arguments: [2e-3, 5, 1e-5]}\nlora_parameters: {rank: 4}\n",
      to: "timed.yaml")
    let cases = [
      ["--recipe", recipe], ["--recipe", timed], ["--epochs", "1", "--rank", "4", "--learning-rate", "3e-3", "--prompt-form", "plain"],
    ]
    for (index, options) in cases.enumerated() {
      let (first, again) = ("first\(index)", "again\(index)")
      let outcome = try train(work, first, options)
      try #require(outcome.status == 0, "\(outcome.errors)")
      let repeated = try train(work, again, ["--recipe", work.scratch(first + "/recipe.yaml")])
      try #require(repeated.status == 0, "\(repeated.errors)")
      var (left, right) = (try results(below: work.scratch(first)), try results(below: work.scratch(again)))
      // A manifest names the recipe's file, and nothing else in it may differ.
      let manifests = try [first, again].map { name in
        var manifest = try self.manifest(work.scratch(name)).object ?? JSONObject()
        var recipe = manifest["recipe"]?.object ?? JSONObject()
        recipe["file"] = nil
        manifest["recipe"] = .object(recipe)
        return JSONValue.object(manifest).serialized()
      }
      #expect(manifests[0] == manifests[1])
      (left["manifest.json"], right["manifest.json"]) = (nil, nil)
      #expect(left == right)
      #expect(left.keys.contains("recipe.yaml") && left.keys.contains("adapter_model.safetensors"))
    }
  }

  @Test func whatNobodyChoseIsTold() throws {
    let work = try Workplace(perLabel: 4)
    let outcome = try train(work, "adapter", ["--epochs", "1", "--rank", "4"])
    #expect(
      outcome.errors.hasSuffix(
        "note: no recipe was given: epochs 1, batch_size 8 (steps in all: 2), learning_rate 0.004, rank 4, alpha 4; all values are in "
          + "'\(work.adapter)/recipe.yaml', to be changed and given to --recipe\n"), "\(outcome.errors)")
    let recipe = try work.scratch.write("epochs: 1\n", to: "recipe.yaml")
    #expect(try !train(work, "other", ["--recipe", recipe, "--rank", "4"]).errors.contains("no recipe"))
    // A setting is no recipe: the rest is still what nobody chose.
    let set = try train(work, "set", ["--epochs", "1", "--set", "lora_parameters.rank=4"])
    #expect(
      set.errors.hasSuffix(
        "note: no recipe was given: epochs 1, batch_size 8 (steps in all: 2), learning_rate 0.004, rank 4, alpha 4; all values are in "
          + "'\(work.scratch("set"))/recipe.yaml', to be changed and given to --recipe\n"), "\(set.errors)")
  }

  @Test("a rank beside a recipe moves the scale, which is told where nobody asked for it")
  func rankBesideARecipe() throws {
    let work = try Workplace(perLabel: 4)
    let recipe = try work.scratch.write("epochs: 1\nlora_parameters: {rank: 16, alpha: 16}\n", to: "recipe.yaml")
    func notes(_ name: String, _ arguments: [String], recipe: String = recipe) throws -> [Substring] {
      let outcome = try train(work, name, ["--plan", "--recipe", recipe] + arguments)
      try #require(outcome.status == 0, "\(outcome.errors)")
      return outcome.errors.split(separator: "\n").filter { $0.contains("changes the scale") }
    }
    let note: [Substring] = [
      "note: rank 4 in place of 16 beside alpha 16 changes the scale alpha / rank from 1 to 4; --alpha 4 keeps it"
    ]
    #expect(try notes("a", ["--rank", "4"]) == note)
    #expect(try notes("b", ["--set", "lora_parameters.rank=4"]) == note)
    for asked in [
      [], ["--rank", "16"], ["--rank", "4", "--alpha", "16"], ["--set", "lora_parameters.rank=4", "--set", "lora_parameters.alpha=16"],
    ] { #expect(try notes("c", asked) == [], "\(asked)") }
    // A factor stays; the root of the rank is another divisor.
    let factor = try work.scratch.write("lora_parameters: {rank: 16, scale: 2}\n", to: "factor.yaml")
    #expect(try notes("d", ["--rank", "4"], recipe: factor) == [])
    let root = try work.scratch.write("lora_parameters: {rank: 16, alpha: 16, use_rslora: true}\n", to: "root.yaml")
    #expect(
      try notes("e", ["--rank", "4"], recipe: root) == [
        "note: rank 4 in place of 16 beside alpha 16 changes the scale alpha / √rank from 4 to 8; --alpha 8 keeps it"
      ])
  }

  @Test("a placeholder for the labels that is none is told")
  func misspeltPlaceholder() throws {
    let work = try Workplace(perLabel: 4)
    let note = "note: '{label}' in the instruction stands for nothing; '{labels}' names the labels\n"
    let options = ["--epochs", "1", "--rank", "4", "--set"]
    #expect(try train(work, "misspelt", options + ["prompt.instruction=Choose one of {label}."]).errors.contains(note))
    #expect(try !train(work, "right", options + ["prompt.instruction=Choose one of {labels}."]).errors.contains("stands for"))
  }

  @Test("what is for conversations alone is not passed over with labelled texts")
  func answersOfLabelledTexts() throws {
    let work = try Workplace(perLabel: 4)
    for command in [["train", work.model, "--data", work.data, "-o", work.scratch("no")], ["evaluate", work.model, "--data", work.data]] {
      try expectFailure(
        command + ["--answers", "last"], status: 64, message: "--answers: is for conversations; '\(work.data)' holds labelled texts")
    }
  }

  // MARK: Going on from an adapter

  @Test("training goes on from an adapter", arguments: [[], ["lora_parameters.use_dora=true"], ["lora_parameters.use_rslora=true"]])
  func goesOn(settings: [String]) throws {
    let work = try Workplace(perLabel: 4)
    let options = ["--epochs", "1", "--rank", "4"] + settings.flatMap { ["--set", $0] }
    try #require(try train(work, "first", options).status == 0)
    let first = work.scratch("first")
    // Nothing is learnt at a rate of 0: what was given is what comes out, in the shape that nobody had to name.
    let still = try train(work, "still", ["--from", first, "--epochs", "1", "--learning-rate", "0"])
    try #require(still.status == 0, "\(still.errors)")
    #expect(try contents(work.scratch("still/adapter_model.safetensors")) == contents(first + "/adapter_model.safetensors"))
    let further = try train(work, "further", ["--from", first, "--epochs", "2", "--learning-rate", "1e-2"])
    try #require(further.status == 0, "\(further.errors)")
    let found = try manifest(work.scratch("further"))
    #expect(found["from"]?["adapter"] == .string(first))
    #expect(try found["from"]?["digest"] == manifest(first)["digest"])
    #expect(found["recipe"]?["rank"] == 4)
    #expect(try contents(work.scratch("further/adapter_model.safetensors")) != contents(first + "/adapter_model.safetensors"))
  }

  @Test func otherShapesAreRefused() throws {
    let work = try Workplace(perLabel: 4)
    try #require(try train(work, "first", ["--epochs", "1", "--rank", "4", "--set", "lora_parameters.keys=[q_proj, v_proj]"]).status == 0)
    let first = work.scratch("first")
    let cases = [
      (["--rank", "8"], "'rank': 4 expected, 8"), (["--alpha", "8"], "'alpha': 4.0 expected, 8.0"),
      (["--set", "lora_parameters.use_dora=true"], "'use_dora': false expected, true"),
      (["--set", "lora_parameters.use_rslora=true"], "'use_rslora': false expected, true"),
      (["--set", "lora_parameters.keys=[q_proj]"], "'keys': q_proj, v_proj expected, q_proj"),
    ]
    for (options, difference) in cases {
      try expectFailure(
        ["train", work.model, "--data", work.data, "-o", work.scratch("no"), "--from", first] + options, status: 65,
        message:
          "--from '\(first)': training goes on with the adapter's own \(difference) found in options or recipe; leave it out there, or train without --from"
      )
    }
  }

  @Test("labels may be others, and texts of both runs count as learnt")
  func otherLabels() throws {
    let work = try Workplace(adapter: true)
    for index in 0..<4 {
      try work.scratch.write("the red paint dries on wall \(index)", to: "colours/red/\(index).txt")
      try work.scratch.write("the sea is deep and blue at \(index)", to: "colours/blue/\(index).txt")
    }
    let outcome = try dibit("train", work.model, "--data", work.scratch("colours"), "-o", work.scratch("next"), "--from", work.adapter)
    try #require(outcome.status == 0, "\(outcome.errors)")
    let (old, new) = (try manifest(work.adapter), try manifest(work.scratch("next")))
    #expect(new["labels"] == ["blue", "red"])
    #expect(new["training_texts"]?["count"]?.int == (old["training_texts"]?["count"]?.int).map { $0 + 8 })
  }

  @Test func aStoppedRunGoesOnFromTheSameAdapterOnly() throws {
    let work = try Workplace(adapter: true)
    try #require(try train(work, "other", ["--epochs", "1", "--rank", "4", "--seed", "7"]).status == 0)
    let arguments = ["train", work.model, "--data", work.data, "-o", work.scratch("next"), "--epochs", "60", "--checkpoint-every", "2"]
    let running = try DibitProcess(arguments + ["--from", work.adapter])
    try running.wait { files(named: "step-", in: work.scratch("next.checkpoints")) }
    running.interrupt()
    try #require(try running.finish().status == 130)
    let outcome = try dibit(arguments + ["--from", work.scratch("other"), "--resume"])
    #expect(outcome.status == 65)
    #expect(outcome.errorLines.count == 1 && outcome.errorLines[0].contains(" belongs to a run with from "), "\(outcome.errors)")
  }

  private func files(named prefix: String, in folder: String) -> Bool {
    ((try? DibitTestSupport.files(below: folder)) ?? [:]).keys.contains { $0.hasPrefix(prefix) }
  }

  // MARK: Words beside an adapter

  @Test func wordShare() throws {
    let work = try Workplace(perLabel: 4)
    let options = ["--epochs", "1", "--rank", "4"]
    let trained = try train(work, "words", options + ["--word-share", "0.5"])
    try #require(trained.status == 0, "\(trained.errors)")
    #expect(trained.errors.contains("note: a classifier of words learns from the same "), "\(trained.errors)")
    let words = try manifest(work.scratch("words"))["words"]
    #expect(words?["share"] == 0.5 && (words?["terms"]?.int ?? 0) > 0)
    // The recipe beside it repeats it.
    try #require(try train(work, "again", ["--recipe", work.scratch("words/recipe.yaml")]).status == 0)
    for file in ["words.safetensors", "adapter_model.safetensors"] {
      #expect(try contents(work.scratch("words/\(file)")) == contents(work.scratch("again/\(file)")), "\(file)")
    }
    #expect(try dibit("verify", work.scratch("words")).output.hasSuffix("\nthe adapter is whole\n"))
    let evaluated = try dibit(
      "evaluate", work.model, "--adapter", work.scratch("words"), "--data", work.data, "--split", "train", "--allow-leakage", "--baselines",
      "none", "--json")
    #expect(evaluated.status == 0 && evaluated.output.contains("A classifier of words has a share of 0.5 in the answers of "))
    try work.scratch.write("the soup needs salt", to: "note.txt")
    func prediction(_ adapter: String, _ more: String...) throws -> Outcome {
      try dibit(["predict", work.model, "--adapter", adapter, "--scores", "--format", "csv", work.scratch("note.txt")] + more)
    }
    // Answers that words have a share in do not go on behind answers that they have none in.
    try #require(try train(work, "plain", options).status == 0)
    let output = work.scratch("rows.csv")
    try #require(try prediction(work.scratch("words"), "--output", output).status == 0)
    #expect(try prediction(work.scratch("plain"), "--output", output, "--resume").status == 65)

    try expectFailure(
      ["train", work.model, "--data", work.data, "-o", work.scratch("no"), "--word-share", "0.95"], status: 64,
      message: "--word-share: expected a number from 0.0 to 0.9, found 0.95; see 'dibit train --help'")
    try work.scratch.write(
      #"{"text": "the soup", "labels": ["food", "money"]}"# + "\n" + #"{"text": "the moon", "labels": ["space"]}"# + "\n",
      to: "several.jsonl")
    try expectFailure(
      ["train", work.model, "--data", work.scratch("several.jsonl"), "-o", work.scratch("no"), "--word-share", "0.5"], status: 64,
      message: "--word-share: is for texts of one label each; expected 0, found 0.5 for texts with several labels or none")
  }

  // MARK: Class weights

  @Test func classWeights() throws {
    let work = try Workplace(perLabel: 4)
    for index in 4..<14 { try work.scratch.write("the soup needs salt and bread \(index)", to: "data/food/\(index).txt") }
    let options = ["--epochs", "1", "--rank", "4"]
    try #require(try train(work, "none", options).status == 0)
    try #require(try train(work, "balanced", options + ["--class-weights", "balanced"]).status == 0)
    try #require(try train(work, "one", options + ["--set", "class_weights={food: 1}"]).status == 0)
    func weights(_ name: String) throws -> [UInt8] { try contents(work.scratch(name + "/adapter_model.safetensors")) }
    #expect(try weights("none") != weights("balanced"))
    #expect(try weights("none") == weights("one"), "weights that are all the same change nothing")
    #expect(try manifest(work.scratch("balanced"))["recipe"]?["class_weights"] == "balanced")
    #expect(try manifest(work.scratch("one"))["recipe"]?["class_weights"]?["food"] == 1)
    try expectFailure(
      ["train", work.model, "--data", work.data, "-o", work.scratch("no"), "--set", "class_weights={fod: 2}"], status: 65,
      message: "--set: 'class_weights': expected labels of the data (food, money, space, sport), found 'fod'")
    try expectFailure(
      ["train", work.model, "--data", work.data, "-o", work.scratch("no"), "--set", "class_weights=heavy"], status: 65,
      message: "--set: 'class_weights': expected balanced, none or names with numbers, found 'heavy'")
  }
}
