internal import ArgumentParser
internal import DibitCheckpoint
internal import DibitDataset
internal import DibitEvaluation
internal import DibitInference
internal import DibitJSON
internal import DibitModel
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
  /// Files that are read at a time.
  private static let batch = 64

  func run() throws {
    let compute = try compute.makeCompute(usesBLAS: false)
    let model = try StoredModel.openConverted(model)
    let description = try AdapterDescription(adapter: adapter)
    let loaded = LoadedAdapter(try StoredAdapter.open(adapter, for: model))
    let subject = EvaluationSubject(
      name: adapter, model: MeasuredModel(model.configuration, weights: model.weights, adapter: loaded),
      task: TokenizedTask(description.task, tokenizer: model.tokenizer))
    var tagger = try BatchTagger(labels: description.labels, subject: subject, on: compute)
    var results: [JSONValue] = []
    // Lines appear as files are read: a batch is enough to fill passes.
    for first in stride(from: 0, to: files.count, by: Self.batch) {
      let some = files[first..<min(first + Self.batch, files.count)]
      var texts: [String] = []
      var fault: (any Error)?
      for file in some where fault == nil {
        do { texts.append(try text(of: file)) } catch { fault = error }
      }
      // What stands before a file that cannot be read is told all the same.
      for (file, result) in zip(some, tagger.predict(texts)) {
        let scores = try Failure.context("tagging '\(file)'") { try result.get() }
        let (label, probability) = (tagger.labels[scores.best], exp(scores.logProbabilities[scores.best]))
        if json {
          results.append([
            "file": .string(file), "topics": [.string(label)], "probability": .number(probability),
            "truncated_tokens": .integer(scores.truncatedTokens),
            "scores": .object(JSONObject(zip(tagger.labels, scores.logProbabilities).map { (key: $0, value: .number(exp($1))) })),
          ])
        } else {
          print("\(file)\t\(label)\t\(decimal(probability, 3))")
        }
      }
      if let fault { throw fault }
    }
    if json { printJSON(.array(results)) }
  }

  private func text(of file: String) throws -> String {
    guard let decoded = TextDecoding.decode(try readFile(file, limit: Self.largestFile)) else {
      throw Failure(.badData, "'\(file)' is not text")
    }
    return decoded.text
  }
}
