internal import ArgumentParser
internal import DibitDataset
internal import DibitFailure
internal import DibitInference
internal import DibitJSON
internal import DibitKernels
internal import DibitModel
internal import DibitModelStore
internal import DibitTokenizer

struct PerplexityCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "perplexity",
    abstract: "Measure how well a model predicts a text.",
    discussion: """
      Example: dibit perplexity ./model --data ./texts --reference ./checkpoint

      Every file is a document of its own and goes through in windows that do not overlap. A window begins with the token that begins a \
      text, if the tokenizer has one; otherwise its first token is not predicted.

      With --reference the two models are compared: divergence of their probabilities at each token, and how often both have the same most \
      likely token.
      """)

  @Argument(help: "A model, converted or not: a directory or a file.") var model: String
  @Option(help: "An adapter of this model.") var adapter: String?
  @Option(help: "A text file, or a folder of text files.") var data: String
  @Option(help: ArgumentHelp("A model with the same tokenizer to compare with, such as the float checkpoint.", valueName: "model"))
  var reference: String?
  @Option(help: ArgumentHelp("Tokens of a window; by default the model's context, 512 at most.", valueName: "tokens")) var window: Int?
  @Option(help: ArgumentHelp("Use only the first tokens of the text.", valueName: "n")) var limit: Int?
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
    if let reference { try check(reference, against: model) }
    let context = min(model.configuration.contextLength, reference?.configuration.contextLength ?? .max)
    guard context >= 2 else { throw Failure(.badData, "'\(self.model)' has a context of \(context); at least 2 are needed") }
    if let window, window > context {
      Terminal.write("note: windows have \(counted(context, "token")), the model's context; --window asked for \(grouped(window))\n")
    }
    let text = try read(model.tokenizer, reference?.tokenizer, window: min(window ?? 512, context))
    let measured = MeasuredModel(model.configuration, weights: model.weights, adapter: adapter)
    var line = ProgressLine("measuring")
    func report(_ done: Int) -> Bool {
      line.update(done, of: text.tokens, counted(done, "token"))
      return !Interrupt.isRequested
    }
    let result: PerplexityResult
    if let reference {
      let other = MeasuredModel(reference.configuration, weights: reference.weights)
      let comparison = PerplexityComparison.measure(text, model: measured, reference: other, on: compute, progress: report)
      result = PerplexityResult(text: text, model: comparison.model, comparison: comparison)
    } else {
      let alone = Perplexity.measure(text, model: measured, on: compute, progress: report)
      result = PerplexityResult(text: text, model: alone, comparison: nil)
    }
    line.finish()
    if Interrupt.isRequested { throw Failure(.interrupted, "interrupted") }
    try check(result.model, of: self.model)
    if let comparison = result.comparison, let path = self.reference {
      try check(comparison.reference, of: path)
      if json { printJSON(result.json) } else { result.show(model: self.model, reference: path) }
    } else {
      if json { printJSON(result.json) } else { result.show() }
    }
  }

  private func check(_ result: Perplexity, of path: String) throws {
    guard result.loss.isFinite else { throw Failure(.badData, "the loss is not a number: the weights of '\(path)' are damaged") }
  }

  /// Two models can be compared if the same token means the same to both.
  private func check(_ reference: StoredModel, against model: StoredModel) throws {
    let sizes = [reference, model].map(\.configuration.vocabularySize)
    guard sizes[0] == sizes[1] else {
      throw Failure(
        .badData,
        "'\(reference.path)' has a vocabulary of \(sizes[0]) tokens, '\(model.path)' one of \(sizes[1]): a reference needs the same tokenizer"
      )
    }
    for id in 0..<Int32(sizes[0]) where reference.tokenizer.bytes(of: id) != model.tokenizer.bytes(of: id) {
      throw Failure(.badData, "token \(id) of '\(reference.path)' is not that of '\(model.path)': a reference needs the same tokenizer")
    }
  }

  /// The documents, cut into windows.
  private func read(_ tokenizer: Tokenizer, _ other: Tokenizer?, window: Int) throws -> MeasuredText {
    var text = MeasuredText(window: window, tokenizer: tokenizer)
    var (tokens, bytes, total): ([Int32], Int, Int) = ([], 0, 0)
    var reader = try TextFolder.open(path: data).makeIterator()
    while total < limit ?? .max, let piece = reader.next() {
      var ids = tokenizer.encode(piece.text, addingSpecialTokens: false, parsingSpecialTokens: false)
      if let other, let reference, other.encode(piece.text, addingSpecialTokens: false, parsingSpecialTokens: false) != ids {
        throw Failure(
          .badData, "'\(reference)' and '\(model)' cut '\(piece.path)' into different tokens: a reference needs the same tokenizer")
      }
      bytes += piece.text.utf8.count
      if let limit, total + ids.count > limit {
        ids = Array(ids.prefix(limit - total))
        bytes = tokenizer.decode(tokens + ids).utf8.count
      }
      tokens += ids
      total += ids.count
      guard piece.endsDocument || total == limit else { continue }
      text.append(tokens, bytes: bytes, tokenizer: tokenizer)
      (tokens, bytes) = ([], 0)
    }
    guard text.tokens > 0 else { throw Failure(.badData, "'\(data)' has \(counted(total, "token")); at least 2 are needed") }
    for finding in reader.report.summary { Terminal.write("note: \(finding)\n") }
    return text
  }
}
