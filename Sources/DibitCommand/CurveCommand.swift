internal import ArgumentParser
internal import Dibit
internal import DibitDataset
internal import DibitFailure
internal import DibitFiles
internal import DibitJSON
internal import DibitTraining

struct CurveCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "curve",
    abstract: "Say how accuracy grows with the number of texts, and whether more of them would help.",
    discussion: """
      Example: dibit curve ./model --data ./notes --points 4 --more 200 --epochs 4

      Adapters are trained on an eighth, a quarter, a half and all of the training texts, each part with the labels' shares of the whole and
      within the next larger one, and all are asked about the same held-out texts: the test split, or the validation split where there is
      no test split. A curve is fitted to the errors. It says what more texts would bring, or that it cannot tell.
      Without a split to ask about, use 'dibit crossvalidate', or move some texts into a folder called test.
      The last size is all texts: its adapter is the one that 'dibit train' makes of them with the same recipe and seed. Behind the curve \
      stands how many test texts would tell its last two sizes apart, and any two adapters that lie --difference points apart.
      --repeats trains every size again with another draw of its texts: only that shows how much luck there is in a single training.

      With --output every finished training is kept; after Ctrl-C or a crash the same command with --resume goes on behind them.
      """)

  @Option(help: "How many sizes are trained; each is twice the one before, the last is all texts.") var points = 4
  @Option(help: "How often each size is trained, with other texts and another seed.") var repeats = 1
  @Option(help: "The number of further texts whose use is in question.") var more = 200
  @OptionGroup var trials: TrialArguments

  func validate() throws {
    try checkRange("points", points, 2...10)
    try checkRange("repeats", repeats, 1...100)
    guard (1...1_000_000_000).contains(more) else { throw ValidationError("--more: expected a positive number, found \(more)") }
  }

  /// The texts that are trained on and asked about.
  private struct Texts {
    let training: [LabelledExample]
    /// The given validation split; nil where every training draws its own.
    let validation: [LabelledExample]?
    let split: SplitName
    let heldOut: [LabelledExample]
  }

  func run() throws {
    Interrupt.listen()
    let inputs = try trials.open()
    let (seed, dataset) = (inputs.options.optimization.seed, inputs.dataset)
    let texts = try texts(dataset)
    let sizes = try sizes(texts, labels: dataset.labels.count)
    let task = try trials.task(inputs, labels: dataset.labels)
    let trainings = sizes.flatMap { size in (1...repeats).map { (size: size, round: $0, name: "texts-\(size)-repeat-\($0)") } }
    let splits = [texts.training, texts.validation ?? [], texts.heldOut]
    let identity = trials.identity(
      "curve", of: inputs, task, texts: splits.map(\.digestOfTexts).joined(),
      own: [("order", .array(splits.flatMap(\.orderOfTexts).map { .integer($0) }))])
    var completed = try trials.keep.parts(
      trials.inputs, identity: identity, names: trainings.map(\.name), of: .training)
    describe(texts, dataset)
    // As in training: a label that only test texts have must not decide how much of a training text is kept.
    let trial = try inputs.trial(task, labels: dataset.labels, examples: dataset.labelled(.train) + dataset.labelled(.validation))
    var outcomes: [TrialOutcome] = []
    for (index, training) in trainings.enumerated() {
      let title = "training \(index + 1) of \(trainings.count), \(training.size) texts"
      let outcome = try completed.outcome(training.name, labels: dataset.labels.count, heldOut: texts.heldOut.count) {
        var options = inputs.options
        options.optimization.seed = seed &+ UInt64(training.round - 1)
        // Which texts is drawn from the texts alone; in which order they are learnt is that of the files, as in 'dibit train'.
        let order = StratifiedOrder.indices(of: texts.training, seed: options.optimization.seed)
        let part = order.prefix(training.size).sorted().map { texts.training[$0] }
        let parts = texts.validation.map { (training: part, validation: $0) } ?? part.splitForTraining(seed: options.optimization.seed)
        return try trial.run(
          title, training: parts.training, validation: parts.validation, heldOut: texts.heldOut, options: options, includesBase: false)
      }
      guard let outcome else { throw completed.interruption(title) }
      outcomes.append(outcome)
    }
    let bySize = sizes.enumerated().map { index, size in
      (texts: size, outcomes: Array(outcomes[index * repeats..<(index + 1) * repeats]))
    }
    let report = CurveReport(bySize, labels: dataset.labels.count, more: more, difference: trials.difference / 100, seed: seed)
    if trials.json {
      printJSON(
        .object(
          JSONObject(
            [
              ("schema", 1), ("split", .string(texts.split.rawValue)), ("held_out_texts", .integer(texts.heldOut.count)),
              ("seed", .string(String(seed))), ("repeats", .integer(repeats)), ("run_sha256", .string(identity.digest)),
              ("labels", .array(dataset.labels.map { .string($0) })),
            ] + report.json.members)))
    } else {
      let width = StandardOutput.size?.columns
      let what =
        "Trained on parts of \(counted(texts.training.count)), asked about \(grouped(texts.heldOut.count)) of the \(texts.split.rawValue) split"
      for line in wrapped(what, width: width) + [""] + report.lines(width: width) { Output.print(line) }
    }
  }

  private func texts(_ dataset: Dataset) throws -> Texts {
    let (train, validation, test) = (dataset.labelled(.train), dataset.labelled(.validation), dataset.labelled(.test))
    guard !train.isEmpty else { throw Failure(.badData, "'\(trials.data)' has no texts to train on") }
    guard !test.isEmpty || !validation.isEmpty else {
      throw Failure(
        .badData,
        "'\(trials.data)' has neither a test nor a validation split to ask about: move some texts into one, or use 'dibit crossvalidate'")
    }
    if test.isEmpty { return Texts(training: train, validation: nil, split: .validation, heldOut: validation) }
    return Texts(training: train, validation: validation.isEmpty ? nil : validation, split: .test, heldOut: test)
  }

  /// The sizes, each twice the one before but for rounding.
  private func sizes(_ texts: Texts, labels: Int) throws -> [Int] {
    let count = texts.training.count
    let sizes = (0..<points).reversed().map { halvings in (count + (1 << halvings) / 2) >> halvings }
    guard let first = sizes.first, first >= labels else {
      throw Failure(
        .badData,
        "'\(trials.data)': \(count) training texts are too few for \(points) sizes: the smallest would be \(sizes[0]), "
          + "less than the \(labels) labels; ask for fewer --points")
    }
    return sizes
  }

  private func describe(_ texts: Texts, _ dataset: Dataset) {
    if texts.split == .validation {
      Terminal.note("there is no test split, so the validation split is asked about and no training watches it")
    }
    let all = texts.training + texts.heldOut
    let close = NearDuplicates(count: all.count) { all[$0].text }.groups.reduce(0) { sum, group in
      group[0] < texts.training.count ? sum + group.count { $0 >= texts.training.count } : sum
    }
    if close > 0 {
      Terminal.note("\(close) of the texts asked about are nearly the same as training texts: accuracies are too good by that")
    }
  }
}
