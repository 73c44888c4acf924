internal import DibitDataset
internal import DibitJSON
internal import DibitKernels
internal import DibitTraining

/// The whole recipe of a run as a file that `--recipe` reads: every value in effect, wherever it came from.
struct RecipeText {
  private(set) var text =
    "# What this adapter was trained with: the same model and data with this recipe give the same adapter.\n"

  init(_ options: TrainingOptions, _ compute: Compute, _ task: TaggingTask) {
    let values = JSONObject(options.members(compute, task))
    func add(_ key: String, _ value: JSONValue?, indent: String = "  ") {
      guard let value, !value.isNull else { return }
      text += "\(indent)\(key): \(value.serialized())\n"
    }
    // The only value that JSON cannot hold as a number.
    text += "seed: \(options.optimization.seed)\n"
    let plain = [
      "epochs", "batch_size", "grad_accumulation_steps", "steps_per_eval", "class_weights", "word_share", "learning_rate", "warmup",
      "weight_decay", "adam_beta1", "adam_beta2", "grad_clip", "ema_decay", "micro_batch_tokens", "patience", "keep", "compute_dtype",
      "max_seq_length",
    ]
    for key in plain { add(key, values[key], indent: "") }
    text += "lr_schedule:\n"
    add("name", values["lr_schedule"])
    add("warmup", values["warmup_steps"])
    add("warmup_init", values["lr_warmup_init"])
    add("steps", values["lr_steps"])
    add("end", values["lr_end"])
    text += "watchdog:\n"
    add("factor", values["watchdog_factor"])
    add("steps", values["watchdog_steps"])
    text += "lora_parameters:\n"
    for key in ["rank", "alpha", "dropout", "use_rslora", "use_dora", "keys"] { add(key, values[key]) }
    text += "prompt:\n"
    for key in ["instruction", "key", "template", "scaffolding_weight"] { add(key, values[key]) }
    add("form", task.form.map { .string(($0 == .plain ? AdapterTraining.PromptForm.plain : .chat).rawValue) })
  }
}
