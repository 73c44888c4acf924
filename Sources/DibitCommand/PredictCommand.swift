internal import ArgumentParser
internal import DibitCheckpoint
internal import DibitDataset
internal import DibitEvaluation
internal import DibitInference
internal import DibitJSON
internal import DibitModelStore
internal import Glibc

struct PredictCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "predict",
    abstract: "Print the tags of files.",
    discussion: """
      Example: dibit predict ./model --adapter ./notes-adapter note.txt letter.txt

      One line for each file: its path, the tag, and the tag's probability among all labels.
      """)

  @Argument(help: "The model: the output of 'dibit convert'.") var model: String
  @Option(help: "The adapter, which knows the labels.") var adapter: String
  @Argument(help: "The files to tag.") var files: [String]
  @Flag(help: "Print the result as JSON.") var json = false
  @OptionGroup var compute: RuntimeOptions

  /// Far longer than any text that fits a model.
  private static let largestFile = 16 << 20

  func run() throws {
    let compute = try compute.makeCompute()
    let model = try StoredModel.openConverted(model)
    let description = try AdapterDescription(adapter: adapter)
    let session = Session(
      model.configuration, weights: model.weights, adapter: try StoredAdapter.open(adapter, for: model),
      context: description.task.maximumTokens, on: compute)
    let task = TokenizedTask(description.task, tokenizer: model.tokenizer)
    var tagger = try Tagger(labels: description.labels, task: task, session: session)
    var results: [JSONValue] = []
    for file in files {
      guard let decoded = TextDecoding.decode(try readFile(file, limit: Self.largestFile)) else {
        throw Failure(.badData, "'\(file)' is not text")
      }
      let prediction = try Failure.context("tagging '\(file)'") { try tagger.predict(decoded.text) }
      let (label, probability) = (tagger.labels[prediction.best], exp(prediction.scores[prediction.best]))
      if json {
        results.append([
          "file": .string(file), "topics": [.string(label)], "probability": .number(probability),
          "truncated_tokens": .integer(prediction.truncatedTokens),
          "scores": .object(JSONObject(zip(tagger.labels, prediction.scores).map { (key: $0, value: .number(exp($1))) })),
        ])
      } else {
        print("\(file)\t\(label)\t\(decimal(probability, 3))")
      }
    }
    if json { printJSON(.array(results)) }
  }
}
