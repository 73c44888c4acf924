import DibitTestSupport
import Testing

@testable import DibitRecipe

private let targets = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]

/// The error of a training recipe, or nil when it is accepted.
private func problem(_ yaml: String) -> String? {
  do throws(RecipeError) {
    _ = try TrainingRecipe(yaml: yaml, file: "r.yaml", targets: targets)
    return nil
  } catch { return error.description }
}

/// The error of a pretraining recipe, or nil when it is accepted.
private func pretrainingProblem(_ yaml: String) -> String? {
  do throws(RecipeError) {
    _ = try PretrainingRecipe(yaml: yaml, file: "r.yaml")
    return nil
  } catch { return error.description }
}

@Suite struct RecipeTests {
  static let root = String(#filePath.dropLast("Tests/RecipeTests/RecipeTests.swift".count))
  /// Recipes that ship; a new one raises this number, a lost one fails.
  static let shipped = 7

  @Test func everyShippedRecipeDecodes() throws {
    let found = try files(below: Self.root + "recipes").filter { $0.key.hasSuffix(".yaml") || $0.key.hasSuffix(".yml") }
    #expect(Self.shipped > 0)
    #expect(found.count >= Self.shipped, "\(found.keys.sorted())")
    for (name, bytes) in found {
      let yaml = String(decoding: bytes, as: UTF8.self)
      // A recipe for all weights describes a model or names one to start from; one for adapters does not.
      let isPretraining = yaml.contains("\nmodel:") || yaml.contains("\ninitial:")
      #expect((isPretraining ? pretrainingProblem(yaml) : problem(yaml)) == nil, "recipes/\(name)")
    }
  }

  @Test func everyKeyOfATrainingRecipe() throws {
    let recipe = try TrainingRecipe(
      yaml: """
        seed: 5
        epochs: 3
        batch_size: 16
        learning_rate: 2e-3
        warmup: 0.25
        weight_decay: 0.01
        adam_beta1: 0.8
        adam_beta2: 0.99
        grad_clip: 0.5
        max_seq_length: 128
        grad_accumulation_steps: 4
        steps_per_eval: 50
        save_every: 100
        ema_decay: 0.999
        micro_batch_tokens: 2048
        compute_dtype: float32
        patience: 2
        keep: last
        lr_schedule:
          name: linear_schedule
          end: 1e-5
        watchdog:
          factor: 4
          steps: 10
        lora_parameters:
          rank: 8
          alpha: 20
          use_rslora: true
          dropout: 0.05
          keys: [q_proj, down_proj]
        prompt:
          instruction: Say what it is.
          key: tags
        """, file: "r.yaml", targets: targets)
    #expect(recipe.optimization.seed == 5)
    #expect(recipe.epochs == 3)
    #expect(recipe.batchSize == 16)
    #expect(recipe.optimization.learningRate == 2e-3)
    #expect(recipe.optimization.warmUp == 0.25)
    #expect(recipe.optimization.weightDecay == 0.01)
    #expect(recipe.optimization.meanDecay == 0.8 && recipe.optimization.squareDecay == 0.99)
    #expect(recipe.optimization.clipNorm == 0.5)
    #expect(recipe.optimization.computeType == "float32")
    #expect(recipe.maximumTokens == 128)
    #expect(recipe.accumulation == 4)
    #expect(recipe.validationInterval == 50)
    #expect(recipe.optimization.checkpointSteps == 100)
    #expect(recipe.optimization.averageDecay == 0.999)
    #expect(recipe.optimization.microBatchTokens == 2048)
    #expect(recipe.optimization.patience == 2)
    #expect(recipe.optimization.keepsBest == false)
    #expect(recipe.optimization.schedule == "linear_schedule")
    #expect(recipe.optimization.finalLearningRate == 1e-5)
    #expect(recipe.optimization.watchdogFactor == 4)
    #expect(recipe.optimization.watchdogSteps == 10)
    #expect(recipe.rank == 8)
    #expect(recipe.alpha == 20)
    #expect(recipe.stabilizesRank == true)
    #expect(recipe.dropout == 0.05)
    #expect(recipe.targets == ["q_proj", "down_proj"])
    #expect(recipe.instruction == "Say what it is.")
    #expect(recipe.key == "tags")
  }

  @Test func everyKeyIsOptional() throws {
    let recipe = try TrainingRecipe(yaml: "seed: 1", file: "r.yaml", targets: targets)
    #expect(recipe.epochs == nil)
    #expect(recipe.targets == nil)
  }

  private static let whole = """
    data: text
    model:
      hidden_dim: 64
      num_layers: 2
      num_heads: 2
      num_kv_heads: 1
    steps: 10
    """

  @Test func pretrainingDefaults() throws {
    let recipe = try PretrainingRecipe(yaml: Self.whole, file: "r.yaml")
    #expect(recipe.data == ["text"])
    #expect(recipe.validationData == [])
    guard case .random(let shape) = recipe.start else {
      Issue.record("\(recipe.start)")
      return
    }
    #expect(shape.vocabularySize == 4096)
    #expect(shape.hiddenSize == 64)
    #expect(shape.reusingLayers == 0)
    #expect(shape.embedding == .random)
    #expect(recipe.embeddingLearningRate == nil)
    #expect(!recipe.parsesSpecialTokens)
    #expect(recipe.steps == 10)
    #expect(recipe.optimization.learningRate == nil)
    #expect(recipe.quantization == nil)
  }

  @Test func embeddings() throws {
    let recipe = try PretrainingRecipe(
      yaml: Self.whole, file: "r.yaml", settings: ["model.embedding=cooccurrence", "embedding_learning_rate=1e-4"])
    #expect(recipe.embedding == .cooccurrence)
    #expect(recipe.embeddingLearningRate == 1e-4)
  }

  @Test func severalFolders() throws {
    let recipe = try PretrainingRecipe(yaml: Self.whole, file: "r.yaml", settings: ["data=[a, b]", "validation_data=[c, d]"])
    #expect(recipe.data == ["a", "b"])
    #expect(recipe.validationData == ["c", "d"])
    for wrong in ["[]", "[a, '']", "[a, [b]]"] {
      #expect(
        pretrainingProblem(Self.whole + "\nvalidation_data: \(wrong)\n")?
          .contains("'validation_data': expected text or a list of texts, found") == true, "\(wrong)")
    }
  }

  @Test func quantizationOfPretraining() throws {
    let recipe = try PretrainingRecipe(
      yaml: Self.whole, file: "r.yaml", settings: ["quantization.group_size=128", "quantization.embedding_bits=16"])
    let quantization = try #require(recipe.quantization)
    #expect((quantization.bits, quantization.groupSize, quantization.embeddingBits) == (2, 128, 16))
    #expect(
      pretrainingProblem(Self.whole + "\nquantization:\n  bits: 3\n")?.hasSuffix("'quantization.bits': expected 2, 4, found '3'") == true)
  }

  @Test(arguments: ["data", "steps"])
  func missingKey(key: String) {
    let yaml = Self.whole.split(separator: "\n").filter { !$0.hasPrefix(key) }.joined(separator: "\n")
    #expect(pretrainingProblem(yaml) == "r.yaml: the key '\(key)' is missing")
  }

  @Test(arguments: ["hidden_dim", "num_layers", "num_heads", "num_kv_heads"])
  func missingModelKey(key: String) {
    let yaml = Self.whole.split(separator: "\n").filter { !$0.contains(key + ":") }.joined(separator: "\n")
    #expect(pretrainingProblem(yaml) == "r.yaml: the key 'model.\(key)' is missing")
  }

  @Test("a key that is misspelt is told before the one that it leaves missing")
  func misspeltKey() {
    let (data, layers) = ("data:", "num_layers:")
    #expect(
      pretrainingProblem(Self.whole.replacing(data, with: "date:"))?.hasSuffix("unknown key 'date'; did you mean 'data'?") == true)
    #expect(
      pretrainingProblem(Self.whole.replacing(layers, with: "num_layer:"))?
        .hasSuffix("unknown key 'model.num_layer'; did you mean 'model.num_layers'?") == true)
  }

  @Test func missingModel() { #expect(pretrainingProblem("data: text\nsteps: 1") == "r.yaml: the key 'model' is missing") }

  @Test func pretrainingCanBeginAtACheckpoint() throws {
    let recipe = try PretrainingRecipe(yaml: "data: text\ninitial: base\nsteps: 1\nparse_special_tokens: true", file: "r.yaml")
    #expect(recipe.start == .checkpoint("base"))
    #expect(recipe.parsesSpecialTokens)
    #expect(pretrainingProblem(Self.whole + "\ninitial: base") == "r.yaml: 'model' and 'initial' exclude each other: keep one")
  }

  static let faults: [(yaml: String, message: String)] = [
    ("seed: 1\nkeep: &a [*a]", "r.yaml:2: found undefined alias"),
    ("seed: 1\nkeep: \u{1}ELF", "r.yaml:2: this is no YAML text: control characters are not allowed"),
    ("seed: 1\nepoch: 2", "r.yaml:2: unknown key 'epoch'; did you mean 'epochs'?"),
    ("lora_parameters:\n  rnk: 2", "r.yaml:2: unknown key 'lora_parameters.rnk'; did you mean 'lora_parameters.rank'?"),
    (
      "seed: 1\n\ncolour: red",
      "r.yaml:3: unknown key 'colour'; allowed keys are adam_beta1, adam_beta2, batch_size, class_weights, compute_dtype, ema_decay, epochs, grad_accumulation_steps, grad_clip, keep, "
        + "learning_rate, lora_parameters, lr_schedule, max_seq_length, micro_batch_tokens, patience, prompt, save_every, seed, "
        + "steps_per_eval, warmup, watchdog, weight_decay, word_share"
    ),
    ("prompt:\n  tone: warm", "r.yaml:2: unknown key 'prompt.tone'; allowed keys are form, instruction, key, scaffolding_weight, template"),
    ("epochs: two", "r.yaml:1: 'epochs': expected a whole number from 1 to 10000, found 'two'"),
    ("epochs: 1.5", "r.yaml:1: 'epochs': expected a whole number from 1 to 10000, found '1.5'"),
    ("seed: 1\nepochs: 0", "r.yaml:2: 'epochs': expected a whole number from 1 to 10000, found '0'"),
    ("epochs: 10001", "r.yaml:1: 'epochs': expected a whole number from 1 to 10000, found '10001'"),
    ("seed: -1", "r.yaml:1: 'seed': expected a whole number from 0 to 18446744073709551615, found '-1'"),
    ("learning_rate: fast", "r.yaml:1: 'learning_rate': expected a number from 0.0 to 10.0, found 'fast'"),
    ("learning_rate: 11", "r.yaml:1: 'learning_rate': expected a number from 0.0 to 10.0, found '11'"),
    ("learning_rate: .nan", "r.yaml:1: 'learning_rate': expected a number from 0.0 to 10.0, found '.nan'"),
    ("warmup: 1.5", "r.yaml:1: 'warmup': expected a number from 0.0 to 1.0, found '1.5'"),
    ("epochs: [1]", "r.yaml:1: 'epochs': expected a whole number from 1 to 10000, found a list"),
    ("epochs: {a: 1}", "r.yaml:1: 'epochs': expected a whole number from 1 to 10000, found a section"),
    ("lora_parameters: 8", "r.yaml:1: 'lora_parameters': expected keys and values, found '8'"),
    ("lora_parameters:\n  keys: q_proj", "r.yaml:2: 'lora_parameters.keys': expected a list of one name or more, found 'q_proj'"),
    ("lora_parameters:\n  keys: []", "r.yaml:2: 'lora_parameters.keys': expected a list of one name or more, found an empty list"),
    (
      "lora_parameters:\n  keys: [q_proj, w_proj]",
      "r.yaml:2: 'lora_parameters.keys': expected names among q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj, "
        + "found 'w_proj'"
    ),
    ("prompt:\n  form: chats", "r.yaml:2: 'prompt.form': expected chat, plain, found 'chats'"),
    (
      "prompt:\n  form: plain\n  template: '{text}'",
      "r.yaml: 'prompt.form' and 'prompt.template' exclude each other: keep one"
    ),
    ("class_weights: heavy", "r.yaml:1: 'class_weights': expected balanced, none or names with numbers, found 'heavy'"),
    (
      "class_weights: {a: 0}",
      "r.yaml:1: 'class_weights.a': expected a number from 1e-06 to 1000000.0, found '0'"
    ),
    (
      "class_weights:\n  a: 2\n  b: many",
      "r.yaml:3: 'class_weights.b': expected a number from 1e-06 to 1000000.0, found 'many'"
    ),
    ("prompt:\n  key: ''", "r.yaml:2: 'prompt.key': expected text, found ''"),
    ("", "r.yaml:1: the recipe is empty"),
    ("# only a comment\n", "r.yaml:1: the recipe is empty"),
    ("- a\n- b", "r.yaml:1: the recipe: expected keys and values, found a list"),
    ("hello", "r.yaml:1: the recipe: expected keys and values, found 'hello'"),
  ]

  @Test(arguments: faults.indices)
  func fault(index: Int) { #expect(problem(Self.faults[index].yaml) == Self.faults[index].message) }

  /// The recipe with these settings, or its error.
  private func read(_ yaml: String?, _ settings: String...) -> Result<TrainingRecipe, RecipeError> {
    Result { () throws(RecipeError) in try TrainingRecipe(yaml: yaml, file: "r.yaml", settings: settings, targets: targets) }
  }

  @Test func settingsWinOverTheRecipe() throws {
    let recipe = try read("epochs: 3\nlora_parameters:\n  rank: 2\n  alpha: 4", "lora_parameters.rank=8", "epochs=4", "epochs=5").get()
    #expect(recipe.epochs == 5)
    #expect(recipe.rank == 8)
    #expect(recipe.alpha == 4)
    let alone = try read(nil, "lora_parameters.keys=[q_proj, v_proj]", "prompt.key='no'", "lr_schedule={name: constant, warmup: 7}").get()
    #expect(alone.targets == ["q_proj", "v_proj"])
    #expect(alone.key == "no")
    #expect(alone.optimization.schedule == "constant")
    #expect(alone.optimization.warmUpSteps == 7)
    #expect(try PretrainingRecipe(yaml: Self.whole, file: "r.yaml", settings: ["model.num_layers=5", "steps=7"]).steps == 7)
  }

  @Test func classWeightsAreAWordOrNumbers() throws {
    #expect(try read("class_weights: balanced").get().classWeights == .balanced)
    #expect(try read("class_weights: none").get().classWeights == .equal)
    #expect(try read("epochs: 1").get().classWeights == nil)
    let given = TrainingRecipe.ClassWeights.given([.init(label: "b", weight: 2), .init(label: "1", weight: 0.5)])
    #expect(try read("class_weights: {b: 2, 1: 0.5}").get().classWeights == given)
    #expect(try read(#"class_weights: {"b":2,"1":0.5}"#).get().classWeights == given)
    #expect(try read(nil, "class_weights=balanced").get().classWeights == .balanced)
  }

  @Test func faultsOfSettings() {
    func problem(_ settings: String...) -> String {
      do throws(RecipeError) {
        _ = try TrainingRecipe(yaml: "seed: 1", file: "r.yaml", settings: settings, targets: targets)
        return ""
      } catch { return error.description }
    }
    #expect(problem("epochs") == "\0set\0: expected KEY=VALUE with a value in YAML, found 'epochs'")
    #expect(problem("=3") == "\0set\0: expected KEY=VALUE with a value in YAML, found '=3'")
    #expect(problem("epochs=") == "\0set\0: expected KEY=VALUE with a value in YAML, found 'epochs='")
    #expect(problem("epoch=3") == "\0set\0: unknown key 'epoch'; did you mean 'epochs'?")
    #expect(problem("epochs=three") == "\0set\0: 'epochs': expected a whole number from 1 to 10000, found 'three'")
    #expect(problem("epochs.x=3").hasPrefix("\0set\0: unknown key 'epochs.x'; "))
    #expect(problem("lora_parameters.rnk=3") == "\0set\0: unknown key 'lora_parameters.rnk'; did you mean 'lora_parameters.rank'?")
    #expect(problem("lora_parameters=3") == "\0set\0: 'lora_parameters': expected keys and values, found '3'")
    #expect(problem("lora_parameters={rank: 0}") == "\0set\0: 'lora_parameters.rank': expected a whole number from 1 to 4096, found '0'")
    #expect(
      problem("lora_parameters.keys=[]") == "\0set\0: 'lora_parameters.keys': expected a list of one name or more, found an empty list")
    #expect(
      problem("lora_parameters.keys=[foo]")
        == "\0set\0: 'lora_parameters.keys': expected names among q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj, found 'foo'"
    )
    #expect(problem("class_weights={card: 0}") == "\0set\0: 'class_weights.card': expected a number from 1e-06 to 1000000.0, found '0'")
    #expect(problem("keep=worst") == "\0set\0: 'keep': expected last, best, found 'worst'")
    #expect(problem("epochs=[") == "\0set\0: expected KEY=VALUE with a value in YAML, found 'epochs=['")
    #expect(
      problem("prompt.instruction=One of: {labels}.")
        == "\0set\0: expected KEY=VALUE with a value in YAML, found 'prompt.instruction=One of: {labels}.'; "
        + "text with a colon needs quotes: KEY=\"…\"")
    #expect(
      problem("lora_parameters={alpha: 1, scale: 2}")
        == "r.yaml: 'lora_parameters.alpha' and 'lora_parameters.scale' exclude each other: keep one")
    #expect(problem("warmup=0.1", "lr_schedule.warmup=3") == "r.yaml: 'warmup' and 'lr_schedule.warmup' exclude each other: keep one")
  }

  @Test("schedules as mlx-lm writes them: arguments by their places, which win over nothing that is said elsewhere")
  func argumentsOfSchedules() throws {
    func schedule(_ yaml: String) throws -> OptimizationRecipe { try read("lr_schedule: {\(yaml)}").get().optimization }
    let cosine = try schedule("name: cosine_decay, warmup: 100, warmup_init: 1e-7, arguments: [1e-5, 1000, 1e-6]")
    #expect(cosine.learningRate == 1e-5 && cosine.fallingSteps == 1000 && cosine.finalLearningRate == 1e-6)
    #expect(cosine.warmUpSteps == 100 && cosine.initialLearningRate == 1e-7 && cosine.schedule == "cosine_decay")
    let short = try schedule("name: cosine_decay, arguments: [1e-5, 1000]")
    #expect(short.fallingSteps == 1000 && short.finalLearningRate == nil && short.warmUpSteps == 0)
    let linear = try schedule("name: linear_schedule, arguments: [1e-4, 1e-5, 200]")
    #expect(linear.learningRate == 1e-4 && linear.finalLearningRate == 1e-5 && linear.fallingSteps == 200)
    #expect(try schedule("steps: 30, warmup_init: 0").fallingSteps == 30)
    // The rate beside it may be the same, as in mlx-lm's own example.
    let both = try read("learning_rate: 1e-5\nlr_schedule: {name: cosine_decay, arguments: [1e-5, 1000]}").get()
    #expect(both.optimization.learningRate == 1e-5)
    for (yaml, message) in [
      (
        "lr_schedule: {name: exponential_decay, arguments: [1e-5, 0.9]}",
        "r.yaml:1: 'lr_schedule.name': expected cosine_decay, linear_schedule, constant (the nearest is cosine_decay with an end), "
          + "found 'exponential_decay'"
      ),
      (
        "lr_schedule:\n  name: cosine_decay\n  arguments: [1e-5]",
        "r.yaml:3: 'lr_schedule.arguments': expected [initial rate, steps] or [initial rate, steps, end], found [1e-5]"
      ),
      (
        "lr_schedule: {name: linear_schedule, arguments: [1e-5, 100]}",
        "r.yaml:1: 'lr_schedule.arguments': expected [initial rate, end, steps], found [1e-5, 100]"
      ),
      (
        "lr_schedule: {name: cosine_decay, arguments: [1e-5, 10.5, x]}",
        "r.yaml:1: 'lr_schedule.arguments': expected [initial rate, steps] or [initial rate, steps, end], found [1e-5, 10.5, x]"
      ),
      (
        "lr_schedule: {name: constant, arguments: [1e-5]}",
        "r.yaml:1: 'lr_schedule.arguments': expected no arguments for a constant rate, found [1e-5]"
      ),
      (
        "lr_schedule: {name: cosine_decay, arguments: 3}",
        "r.yaml:1: 'lr_schedule.arguments': expected [initial rate, steps] or [initial rate, steps, end], found '3'"
      ),
      (
        "lr_schedule: {arguments: [1e-5, 10], end: 1e-6}",
        "r.yaml: 'lr_schedule.end' and 'lr_schedule.arguments' exclude each other: keep one"
      ),
      (
        "warmup: 0.1\nlr_schedule: {arguments: [1e-5, 10]}", "r.yaml: 'warmup' and 'lr_schedule.arguments' exclude each other: keep one"
      ),
      (
        "learning_rate: 1e-3\nlr_schedule: {arguments: [1e-5, 10]}",
        "r.yaml: 'learning_rate' and 'lr_schedule.arguments' exclude each other: keep one"
      ),
    ] { #expect(problem(yaml) == message) }
  }

  @Test func duplicateKey() {
    let text = problem("seed: 1\nepochs: 2\nseed: 3")
    #expect(text == "r.yaml:3: the key 'seed' appears twice")
    #expect(problem("seed: 1\nlora_parameters:\n  rank: 2\n  alpha: 3\n  rank: 2") == "r.yaml:5: the key 'rank' appears twice")
    #expect(problem("{seed: 1, seed: 2}") == "r.yaml:1: the key 'seed' appears twice")
  }

  @Test(arguments: ["seed: [1", "seed: 1\n\tepochs: 2", "{a: b", "seed: \"unclosed"])
  func notYAML(yaml: String) throws {
    let text = try #require(problem(yaml))
    #expect(text.contains(/^r\.yaml:[1-9][0-9]*: ./), "\(text)")
    #expect(!text.contains("\n"))
  }

  @Test func linesOfSyntaxErrors() {
    #expect(problem("seed: 1\nepochs: 2\n  warmup: 3")?.hasPrefix("r.yaml:3: ") == true)
  }
}
