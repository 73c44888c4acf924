internal import ArgumentParser
internal import DibitDataset
internal import DibitInference
internal import DibitJSON
internal import DibitModel
internal import DibitModelStore
internal import DibitTokenizer
internal import Glibc

struct PerplexityCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "perplexity",
    abstract: "Measure how well a model predicts a text.",
    discussion: """
      Example: dibit perplexity ./model --data story.txt --window 256

      The text goes through in windows that do not overlap; the first token of each is not predicted.
      """)

  @Argument(help: "A model, converted or not: a directory or a file.") var model: String
  @Option(help: "A text file, or a folder of text files.") var data: String
  @Option(help: ArgumentHelp("Tokens of a window; by default the model's context, 512 at most.", valueName: "tokens")) var window: Int?
  @Option(help: ArgumentHelp("Use only the first tokens of the text.", valueName: "n")) var limit: Int?
  @Flag(help: "Print the result as JSON.") var json = false
  @OptionGroup var compute: ComputeOptions

  func run() throws {
    Interrupt.listen()
    let compute = try compute.makeCompute()
    let model = try StoredModel.open(model)
    let window = min(window ?? 512, model.configuration.contextLength)
    guard window >= 2 else { throw Failure(.usage, "--window: expected at least 2, found \(window)") }
    var tokens: [Int32] = []
    var bytes = 0
    for piece in try TextFolder.open(path: data) where limit.map({ tokens.count < $0 }) ?? true {
      tokens += model.tokenizer.encode(piece.text, addingSpecialTokens: false, parsingSpecialTokens: false)
      bytes += piece.text.utf8.count
    }
    if let limit, tokens.count > limit {
      tokens = Array(tokens.prefix(limit))
      bytes = model.tokenizer.decode(tokens).utf8.count
    }
    guard tokens.count > 1 else { throw Failure(.badData, "'\(data)' has \(tokens.count) tokens; at least 2 are needed") }
    var line = ProgressLine("measuring")
    let result = Perplexity.measure(tokens, configuration: model.configuration, weights: model.weights, window: window, on: compute) {
      done in
      line.update(done, of: tokens.count, "\(done) tokens")
      return !Interrupt.isRequested
    }
    line.finish()
    if Interrupt.isRequested { throw Failure(.interrupted, "interrupted") }
    guard result.loss.isFinite else { throw Failure(.badData, "the loss is not a number: the weights of '\(self.model)' are damaged") }
    let bitsPerByte = result.loss / log(2) * Double(tokens.count) / Double(max(bytes, 1))
    if json {
      printJSON([
        "tokens": .integer(result.tokens), "window": .integer(window), "loss": .number(result.loss), "perplexity": .number(result.value),
        "bits_per_byte": .number(bitsPerByte),
      ])
    } else {
      print(
        "perplexity \(decimal(result.value, 3)) over \(result.tokens) tokens (\(decimal(result.loss, 4)) nats/token, \(decimal(bitsPerByte, 3)) bits/byte)"
      )
    }
  }
}
