internal import DibitDataset
internal import DibitFailure
internal import DibitJSON
internal import DibitModel
package import DibitModelStore
internal import DibitReport
internal import DibitTokenizer

/// The README.md of an adapter: what it answers and in which exact words it is asked, for those who have only its files. The same adapter
/// has the same card.
package struct AdapterCard {
  private let base: StoredModel
  private let baseName: String
  private let manifest: JSONObject
  private let prompts: ModelPrompts

  /// A card for an adapter of `base` whose manifest has these members.
  package init(base: StoredModel, facts: AdapterFacts) throws {
    self.base = base
    prompts = try ModelPrompts(base)
    baseName = facts.baseName ?? base.name
    manifest = facts.manifest
  }

  /// The text of the file.
  package var text: String {
    """
    ---
    base_model: \(JSONValue.string(baseName).serialized())
    library_name: peft
    tags: [lora, dibit]
    ---

    # An adapter of \(baseName)

    Low-rank matrices for a language model (\(base.configuration.family.rawValue)) of \(grouped(base.weights.elementCount)) parameters, with the
    digest `\(base.digest ?? "")`. They belong to that model's weights as they are, rounded or not.

    \(task)\(training)\(use)
    """
  }

  /// Labels and prompt.
  package var task: String {
    guard let description = try? AdapterDescription(manifest: .object(manifest), of: ""),
      let task = try? prompts.tokenized(description.task)
    else {
      if manifest["recovers"] != nil {
        return
          "It brings the predictions of the rounded model nearer to those of the floats that it was made from, and knows no labels.\n\n"
      }
      return isChat
        ? "It learnt from conversations, in the model's chat template.\n\n"
        : "Which labels it knows, and how it was asked, its files do not say.\n\n"
    }
    let tokens = task.prompt("It rained all day.", reserving: 0).tokens + task.opening
    let prompt = base.tokenizer.decode(tokens, skippingSpecialTokens: false)
    let closing = base.tokenizer.decode(task.closing, skippingSpecialTokens: false)
    return """
      ## Labels

      \(description.labels.map { "- " + JSONValue.string($0).serialized() }.joined(separator: "\n"))

      ## Prompt

      For the text `It rained all day.` the model reads exactly this, control tokens spelled out and no line feed at the end:

      ````text
      \(prompt)
      ````

      The answer is one label, and then `\(closing)`. Of the texts at most \(description.task.maximumTokens) tokens with prompt and answer
      are read.\(words)


      """
  }

  /// The sentence on a classifier of words.
  private var words: String {
    guard let share = manifest[AdapterFacts.wordsMember]?["share"]?.double else { return "" }
    return
      " A classifier of words, `\(StoreFile.words)`, has a share of \(JSONValue.number(share).serialized()) in each label's log-probability; "
      + "only Dibit applies it."
  }

  /// The known facts of the training.
  private var training: String {
    guard let training = manifest["training"], let steps = training["steps"]?.int else { return "" }
    var lines: [String] = []
    if let train = manifest["split"]?["train"]?.int, let validation = manifest["split"]?["validation"]?.int {
      lines.append("\(train) training and \(validation) validation examples")
    }
    lines.append("\(steps) steps")
    for (key, name) in [("training_loss", "training loss"), ("validation_loss", "validation loss")] {
      if let loss = training[key]?.double { lines.append("\(name) \(fixed(loss, 4))") }
    }
    let question = isTagger ? " How good it is, `dibit evaluate` says." : ""
    return "## Training\n\n" + lines.joined(separator: ", ") + ". `manifest.json` says more.\(question)\n\n"
  }

  private var isChat: Bool { manifest["task"]?["kind"]?.string == DatasetExample.Kind.conversation.rawValue }
  /// True where it has labels to choose among.
  private var isTagger: Bool { (try? AdapterDescription(manifest: .object(manifest), of: "")) != nil }

  /// The command that the adapter is for.
  private var call: String {
    if isTagger { return "predict \(baseName) --adapter DIRECTORY note.txt" }
    return isChat ? "chat \(baseName) --adapter DIRECTORY" : "generate \(baseName) --adapter DIRECTORY --prompt TEXT"
  }

  private var use: String {
    """
    ## Use

    In Dibit: `dibit \(call)`. Of the form for mlx-lm or llama.cpp `dibit convert DIRECTORY --base
    \(baseName) --output ADAPTER` makes that one again.
    \(base.configuration.family == .afm7 ? "Neither transformers nor PEFT has the architecture afm7; mlx-lm has.\n" : peft)
    """
  }

  private var peft: String {
    """
    In PEFT, on the model's own floats:

    ```python
    # dibit export \(baseName) --format safetensors --output \(baseName)-float
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained("\(baseName)-float")
    base = AutoModelForCausalLM.from_pretrained("\(baseName)-float")
    model = PeftModel.from_pretrained(base, "DIRECTORY")
    ```

    """
  }
}
