internal import ArgumentParser
internal import Dibit
internal import DibitDataset
internal import DibitFailure
internal import DibitFiles
internal import DibitJSON
internal import DibitTraining

struct CrossValidateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "crossvalidate",
    abstract: "Say how good a recipe is on few texts, with an honest spread.",
    discussion: """
      Example: dibit crossvalidate ./model --data ./notes --folds 5 --epochs 4 --output ./notes-folds

      The labelled texts are dealt into folds with the same labels in each; texts that say nearly the same stay in one fold. For each fold
      an adapter is trained on the others and asked about the fold, beside the model without it and cheap classifiers that have seen the
      same texts. No adapter is kept: 'dibit train' makes one of all texts, of which the scores here are a cautious estimate.
      Texts of a test split stay untouched. As 'dibit train' does, each training holds a part of its texts out for validation: none
      below 50, a tenth below 200, a twentieth above. Below the scores stands how many texts would tell the adapter from what is beside it \
      where it is --difference points better. Folds follow from the seed and the texts, whatever the files are called.

      With --output every finished fold is kept; after Ctrl-C or a crash the same command with --resume goes on behind them.
      """)

  @Option(help: "The number of folds, and of trainings.") var folds = 5
  @OptionGroup var trials: TrialArguments

  func validate() throws {
    try checkRange("folds", folds, 2...100)
  }

  func run() throws {
    Interrupt.listen()
    let inputs = try trials.open()
    let (seed, dataset) = (inputs.options.optimization.seed, inputs.dataset)
    let texts = try pool(dataset)
    let labels = texts.distinctLabels
    let task = try trials.task(inputs, labels: labels)
    let folds = try Folds(texts, count: folds, seed: seed)
    let names = (1...folds.count).map { "fold-\($0)-of-\(folds.count)" }
    let identity = trials.identity(
      "crossvalidate", of: inputs, task, texts: texts.digestOfTexts, own: [("folds", .integer(folds.count))])
    var completed = try trials.keep.parts(trials.inputs, identity: identity, names: names, of: .training)
    describe(folds, texts, labels, dataset)
    let trial = try inputs.trial(task, labels: labels, examples: texts)
    var outcomes: [TrialOutcome] = []
    for (fold, name) in names.enumerated() {
      let title = "fold \(fold + 1) of \(folds.count)"
      let heldOut = folds.indices(in: fold).map { texts[$0] }
      let outcome = try completed.outcome(name, labels: labels.count, heldOut: heldOut.count) {
        let parts = folds.indices(outside: fold).map { texts[$0] }.splitForTraining(seed: seed)
        return try trial.run(
          title, training: parts.training, validation: parts.validation, heldOut: heldOut, options: inputs.options, includesBase: true)
      }
      guard let outcome else { throw completed.interruption(title) }
      outcomes.append(outcome)
    }
    let report = CrossValidationReport(outcomes, labels: labels, difference: trials.difference / 100, seed: seed)
    if trials.json {
      printJSON(
        .object(
          JSONObject(
            [
              ("schema", 1), ("folds", .integer(folds.count)), ("seed", .string(String(seed))), ("texts", .integer(texts.count)),
              ("untouched_test_texts", .integer(untouched(dataset))),
              ("near_duplicate_groups", .integer(folds.groups.count)), ("run_sha256", .string(identity.digest)),
            ] + report.json.members)))
    } else {
      let width = StandardOutput.size?.columns
      let what =
        "\(counted(texts.count)) in \(folds.count) folds, \(labels.count) labels; each text is asked about once, by what has not seen it"
      for line in wrapped(what, width: width) + [""] + report.lines(width: width) { Output.print(line) }
    }
  }

  /// The texts that folds are made of, in an order that does not depend on what files are called.
  private func pool(_ dataset: Dataset) throws -> [LabelledExample] {
    var texts = dataset.labelled(.train) + dataset.labelled(.validation)
    if texts.isEmpty { texts = dataset.labelled(.test) }
    let labels = texts.distinctLabels
    guard labels.count > 1 else {
      throw Failure(
        .badData, "'\(trials.data)': all texts outside of the test split have the label '\(labels.first ?? "")', expected two at least")
    }
    return texts.orderOfTexts.map { texts[$0] }
  }

  /// Texts of a test split that are kept for later.
  private func untouched(_ dataset: Dataset) -> Int { dataset.train.isEmpty && dataset.validation.isEmpty ? 0 : dataset.test.count }

  private func describe(_ folds: Folds, _ texts: [LabelledExample], _ labels: [String], _ dataset: Dataset) {
    if untouched(dataset) > 0 {
      Terminal.note(
        "texts of the train and validation splits are used; the \(grouped(dataset.test.count)) of the test split stay untouched")
    }
    var counts: [[UInt8]: Int] = [:]
    for text in texts { counts[Array((text.labels.first ?? "").utf8), default: 0] += 1 }
    let rare = labels.filter { (1..<folds.count).contains(counts[Array($0.utf8)] ?? 0) }
    if !rare.isEmpty {
      let names = rare.prefix(5).joined(separator: ", ") + (rare.count > 5 ? ", …" : "")
      let some = rare.count == 1 ? "1 label has" : "\(rare.count) labels have"
      Terminal.note("\(some) fewer texts than there are folds, so that some folds lack them: \(names)")
    }
    if !folds.groups.isEmpty {
      let count = folds.groups.reduce(0) { $0 + $1.count }
      let groups = counted(folds.groups.count, "group")
      Terminal.note("\(counted(count)) in \(groups) say nearly the same; the texts of a group stay in one fold")
    }
    let sizes = (0..<folds.count).map { folds.indices(in: $0).count }
    let (least, most) = (sizes.min() ?? 0, sizes.max() ?? 0)
    Terminal.write("\(counted(texts.count)) in \(folds.count) folds of \(least == most ? "" : "\(grouped(least)) to ")\(grouped(most))\n")
  }
}
