internal import ArgumentParser
internal import Dibit
internal import DibitFailure
internal import DibitFiles
internal import DibitModelStore
internal import DibitReport

struct CompareCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compare",
    abstract: "Show what became of a model in other forms: size, predictions, matrices, and what they say.",
    discussion: """
      Example: dibit compare ./model-2bit ./model-4bit --reference ./checkpoint --data ./texts --html comparison.html

      Each MODEL is measured beside the reference on the same text: perplexity, divergence of the probabilities of each token, and how often both \
      have the same most likely token; for each matrix what rounding lost, with each input counted by its energy on the text; and what every \
      model says behind ten beginnings from the text. Of conversations, {"messages": [...]} on each line of a .jsonl file, the answers are \
      measured, and every model answers what ten of them ask first.
      """)

  @Argument(help: ArgumentHelp("Models with the same tokenizer, converted or not.", valueName: "model")) var models: [String]
  @Option(help: ArgumentHelp("The model that they come from, such as the float checkpoint.", valueName: "model")) var reference: String
  @Option(help: "A file or a folder of text; .csv, .tsv and .jsonl files are rows: texts, or conversations.") var data: String
  @Option(help: ArgumentHelp("Tokens of a window; by default the models' context, 512 at most.", valueName: "tokens")) var window: Int?
  @Option(help: ArgumentHelp("Use only the first tokens of the text, or of answers; by default 8,192.", valueName: "n")) var limit = 8192
  @Option(help: ArgumentHelp("Write the comparison as a page for a browser.", valueName: "file")) var html: String?
  @Flag(help: "Replace an existing page.") var overwrite = false
  @Flag(help: "Print the comparison as JSON.") var json = false
  @OptionGroup var compute: RuntimeOptions

  func validate() throws {
    if let window, window < 2 { throw ValidationError("--window: expected at least 2, found \(window)") }
    if limit < 2 { throw ValidationError("--limit: expected at least 2, found \(limit)") }
    if overwrite, html == nil { throw ValidationError("--overwrite: expected --html beside it") }
  }

  func run() throws {
    Interrupt.listen()
    let compute = try compute.makeCompute()
    let inputs = JobInputs(models + [reference], searched: [data])
    let mark = overwrite ? OutputMark("a comparison", text: ModelComparisonPage.generator) : nil
    // A page that may not be written is told before the minutes that it takes.
    if let html { _ = try StagedFile(destination: html, replacing: mark, inputs: inputs) }
    let reference = try OpenedModels.open(reference)
    let models = try self.models.map { (name: $0, model: try OpenedModels.open($0)) }
    let job = try ComparisonJob(models, reference: (self.reference, reference), at: data, window: window, limit: limit)
    for finding in job.notes { Terminal.note(finding) }
    var line = ProgressLine("comparing")
    var done = -1
    let comparison = try job.run(on: compute) { progress in
      let share = Int((Double(progress.index) + progress.fraction) * 1000)
      if share > done { line.update(share, of: 1000 * self.models.count, self.models[progress.index]) }
      done = max(done, share)
      return !Interrupt.isRequested
    }
    line.finish()
    guard let comparison else { throw Failure(.interrupted, "interrupted") }
    if let html {
      try writeFileAtomically(path: html, bytes: Array(ModelComparisonPage(comparison).html.utf8), replacing: mark, inputs: inputs)
      Terminal.wrote(html)
    }
    if json { printJSON(comparison.json) } else { show(comparison) }
  }

  private func show(_ comparison: ModelComparison) {
    Output.print("\(comparison.text)\n")
    func row(_ form: ModelComparison.Form, _ rest: [String]) -> [String] {
      [form.name, size(form.bytes), decimal(form.bitsPerWeight, 2), decimal(form.perplexity, 2)] + rest
    }
    let header = ["", "size", "bits/weight", "perplexity", "ratio", "divergence", "same token", "signal/noise"]
    printTable(
      [header, row(comparison.reference, ["1", "0", "100.0 %", ""])]
        + comparison.entries.map { entry in
          row(
            entry.form,
            [
              decimal(comparison.ratio(entry), 3), "\(decimal(entry.divergence, 4)) ± \(decimal(entry.standardError, 4))",
              percent(entry.agreement), entry.decibels.map { $0.isFinite ? "\(decimal($0, 2)) dB" : "exact" } ?? "",
            ])
        })
    for entry in comparison.entries where !entry.tensors.isEmpty {
      Output.print("\nWhat lost most in '\(entry.form.name)', inputs counted by their energy:")
      printTable(entry.tensors.prefix(5).map { ["  " + $0.name, $0.storage, "\(decimal($0.decibels, 2)) dB"] })
    }
    for continuation in comparison.continuations.prefix(3) {
      Output.print("\n\(Self.line(continuation.beginning)) …")
      let spoken = [(comparison.reference.name, continuation.reference)] + zip(comparison.entries.map(\.form.name), continuation.models)
      for (name, words) in spoken { Output.print("  \(name): \(Self.line(words))") }
    }
    if comparison.continuations.count > 3 {
      Output.print("\nand \(comparison.continuations.count - 3) more, which --html and --json hold")
    }
  }

  private static func line(_ text: String) -> String { TerminalText.clean(text) }
}
