internal import ArgumentParser
internal import Dibit
internal import DibitDataset
internal import DibitEvaluation
internal import DibitTokenizer

/// The options with which texts are scored.
struct ScoringArguments: ParsableArguments {
  @Option(
    help: ArgumentHelp("The split to evaluate on: test, validation or train.", valueName: "split"), transform: { try choice($0, "--split") }
  )
  var split: Evaluation.Split?
  @Option(help: ArgumentHelp("Labels of an answer, at most; 1 gives each text one.", valueName: "n")) var tags = Evaluation.Options()
    .mostTags
  @Flag(help: "Let models write their tags themselves, as JSON, instead of choosing among the labels; the first tag is the answer.")
  var open = false
  @Option(
    help: ArgumentHelp("What a text loses that is too long: its tail, its head or its middle.", valueName: "part"),
    transform: { try choice($0, "--cut") })
  var cut = TagOptions.Cut.tail
  @Flag(help: "Take off what each label has without any text, so that none is preferred whatever the text says.") var calibrate = false

  @Option(
    help: ArgumentHelp(
      "What a model without an adapter is told to do; {labels} stands for the labels.", valueName: "text"))
  var instruction: String?
  @Option(
    help: ArgumentHelp("What prompts of a model without an adapter are put into: chat or plain.", valueName: "form"),
    transform: { try choice($0, "--prompt-form") })
  var promptForm: AdapterTraining.PromptForm?

  func validate() throws {
    try checkRange("tags", tags, 1...100)
  }

  var options: Evaluation.Options {
    var options = Evaluation.Options()
    (options.split, options.mostTags, options.writesTags, options.cut) = (split, tags, open, cut)
    (options.calibrates, options.instruction, options.promptForm) = (calibrate, instruction, promptForm)
    return options
  }
}

/// The statistics that are computed beside the scores.
struct StatisticsArguments: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Baselines, separated by commas: \(Evaluation.Baseline.allCases.map(\.rawValue).joined(separator: ", ")); all or none.",
      valueName: "list"),
    transform: Self.kinds)
  var baselines = Evaluation.Baseline.allCases
  @Option(help: ArgumentHelp("Examples in the few-shot prompt, as far as they fit.", valueName: "n")) var shots = Evaluation.Options().shots
  @Option(
    help: ArgumentHelp("Texts that also go through each model alone: latency, free answers, loss of labels.", valueName: "n"))
  var alone = Evaluation.Options().aloneTexts
  @Option(help: ArgumentHelp("Texts on which the order of the labels in the instruction is changed, if it lists them.", valueName: "n"))
  var orderTexts = Evaluation.Options().orderTexts
  @Option(help: ArgumentHelp("Samples of the bootstrap.", valueName: "n")) var resamples = Evaluation.Options().resamples
  @Option(help: ArgumentHelp("The seed of everything random.", valueName: "n")) var seed: UInt64 = 0
  @Flag(help: "Evaluate texts that were trained on too.") var allowLeakage = false
  @Flag(help: "Leave texts that were trained on out, and evaluate the others.") var leaveOutLeakage = false
  @Flag(help: "Exit with status 3 unless an adapter is better than the base model and every baseline.") var requireImprovement = false

  func validate() throws {
    if allowLeakage, leaveOutLeakage { throw ValidationError("--allow-leakage: expected either it or --leave-out-leakage, found both") }
    try checkRange("shots", shots, 1...1000)
    try checkRange("alone", alone, 0...100_000)
    try checkRange("order-texts", orderTexts, 0...100_000)
    try checkRange("resamples", resamples, 100...1_000_000)
  }

  /// The options with these values.
  func apply(to options: Evaluation.Options) -> Evaluation.Options {
    var options = options
    (options.baselines, options.shots, options.aloneTexts, options.orderTexts) = (baselines, shots, alone, orderTexts)
    (options.resamples, options.seed) = (resamples, seed)
    options.leakage = allowLeakage ? .allow : leaveOutLeakage ? .leaveOut : .refuse
    return options
  }

  private static func kinds(_ list: String) throws -> [Evaluation.Baseline] {
    if list == "all" { return Evaluation.Baseline.allCases }
    if list == "none" { return [] }
    return try list.split(separator: ",").map { name in
      guard let kind = Evaluation.Baseline(rawValue: String(name)) else {
        let known = Evaluation.Baseline.allCases.map(\.rawValue).joined(separator: ", ")
        throw ValidationError("--baselines: expected some of \(known), or all or none, found '\(name)'")
      }
      return kind
    }
  }
}
