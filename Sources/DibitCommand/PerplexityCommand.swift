internal import ArgumentParser
internal import Dibit
internal import DibitCheckpoint
internal import DibitDataset
internal import DibitFailure
internal import DibitInference
internal import DibitModel
internal import DibitModelStore

struct PerplexityCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "perplexity",
    abstract: "Measure how well a model predicts a text.",
    discussion: """
      Example: dibit perplexity ./model --data ./texts --reference ./checkpoint

      Every file, or row of a .csv, .tsv or .jsonl file, is a document of its own and goes through in windows that do not overlap. A window begins with the token that begins a \
      text, if the tokenizer has one; otherwise its first token is not predicted. Of conversations, {"messages": [...]} on each line of a \
      .jsonl file, the answers are measured, in the model's chat template and each conversation by itself.

      With --reference the two models are compared: divergence of their probabilities at each token, and how often both have the same most \
      likely token.
      """)

  @Argument(help: "A model, converted or not: a directory or a file.") var model: String
  @Option(help: "An adapter of this model.") var adapter: String?
  @Option(help: "A file or a folder of text; .csv, .tsv and .jsonl files are rows: texts, or conversations.") var data: String
  @Option(help: ArgumentHelp("A model with the same tokenizer to compare with, such as the float checkpoint.", valueName: "model"))
  var reference: String?
  @Option(help: ArgumentHelp("Tokens of a window; by default the model's context, 512 at most.", valueName: "tokens")) var window: Int?
  @Option(help: ArgumentHelp("Use only the first tokens of the text, or of answers.", valueName: "n")) var limit: Int?
  @Flag(help: "Print the result as JSON.") var json = false
  @OptionGroup var compute: RuntimeOptions

  func validate() throws {
    if let window, window < 2 { throw ValidationError("--window: expected at least 2, found \(window)") }
    if let limit, limit < 2 { throw ValidationError("--limit: expected at least 2, found \(limit)") }
  }

  func run() throws {
    Interrupt.listen()
    let compute = try compute.makeCompute()
    let model = try OpenedModels.open(model)
    let adapter = try adapter.map { LoadedAdapter(try StoredAdapter.open($0, for: model, on: compute)) }
    let reference = try reference.map { try OpenedModels.open($0) }
    if let window, case let context = PerplexityJob.context(model, reference), window > context, context >= 2 {
      Terminal.note("windows have \(counted(context, "token")), the model's context; --window asked for \(grouped(window))")
    }
    let job = try PerplexityJob(model, adapter: adapter, reference: reference, at: data, window: window, limit: limit)
    for finding in job.notes { Terminal.note(finding) }
    var line = ProgressLine("measuring")
    let found = try job.run(on: compute) { done in
      line.update(done, of: job.text.tokens, counted(done, "token"))
      return !Interrupt.isRequested
    }
    line.finish()
    guard let found else { throw Failure(.interrupted, "interrupted") }
    let result = PerplexityResult(text: job.text, extent: job.extent, model: found.model, comparison: found.comparison)
    if json {
      printJSON(result.json)
    } else if let reference = self.reference {
      result.show(model: self.model, reference: reference)
    } else {
      result.show()
    }
  }
}
