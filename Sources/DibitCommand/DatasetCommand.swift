internal import ArgumentParser
internal import Dibit
internal import DibitDataset
internal import DibitModelStore
internal import DibitTokenizer
internal import DibitTraining

struct DatasetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "dataset",
    abstract: "Say what is in a dataset, and what is wrong with it.",
    discussion: """
      Example: dibit dataset ./notes --model ./model --preview 3

      PATH is what 'dibit train --data' takes. Rows that are no example are counted here instead of being refused. With a model or
      a tokenizer, lengths are counted in tokens too, and --preview shows examples as training sees them: what is given, what holds
      the answer together, and what the answer says.
      """)

  @Argument(help: "A folder of labelled texts, or a file or folder of rows in CSV, TSV or JSONL.") var path: String
  @Option(help: "A model, for lengths in tokens.") var model: String?
  @Option(help: ArgumentHelp("A tokenizer file, for lengths in tokens.", valueName: "file")) var tokenizer: String?
  @Option(help: ArgumentHelp("Show the tokens of n examples, spread over the training texts.", valueName: "n")) var preview = 0
  @Option(help: "The most tokens of an example, as for 'dibit train'.") var maxTokens = TaggingTask().maximumTokens
  @Option(
    help: ArgumentHelp("What prompts are put into, as for 'dibit train': chat or plain.", valueName: "form"),
    transform: { try choice($0, "--prompt-form") })
  var promptForm: AdapterTraining.PromptForm?
  @Option(help: "The seed of the automatic validation split.") var seed: UInt64 = 0
  @Flag(inversion: .prefixedNo, help: "Look for texts that say nearly the same.") var nearDuplicates = true
  @Flag(help: "Print the result as JSON.") var json = false
  @OptionGroup var rows: RowArguments

  func validate() throws {
    guard model == nil || tokenizer == nil else { throw ValidationError("--tokenizer: expected either it or --model, found both") }
    guard (0...10_000).contains(preview) else { throw ValidationError("--preview: expected a number from 0 to 10000, found \(preview)") }
    guard preview == 0 || model != nil || tokenizer != nil else {
      throw ValidationError("--preview: expected --model or --tokenizer beside it")
    }
    guard (8...1 << 20).contains(maxTokens) else {
      throw ValidationError("--max-tokens: expected a number from 8 to \(1 << 20), found \(maxTokens)")
    }
  }

  func run() throws {
    var options = rows.options
    options.toleratesFaults = true
    let clock = ContinuousClock()
    let start = clock.now
    var dataset = try Dataset.read(path, rows: options)
    let read = clock.now
    let survey = DatasetSurvey(dataset, findingNearDuplicates: nearDuplicates)
    let split = dataset.splitAutomatically(seed: seed)
    var report = DatasetReport(path: path, dataset: dataset, split: split, survey: survey)
    report.readSeconds = (read - start).inSeconds
    report.surveySeconds = (clock.now - read).inSeconds
    if let source = model ?? tokenizer {
      let encoder = try encoder(source, dataset)
      (report.tokens, report.unfit) = try Self.tokens(dataset, encoder)
      report.preview = try examples(dataset).compactMap { example in
        (try? encoder.encode(example)).map { TokenPreview(location: example.location, example: $0, tokenizer: encoder.task.tokenizer) }
      }
    }
    if json { printJSON(report.json) } else { report.lines.forEach { Output.print($0) } }
  }

  private func encoder(_ source: String, _ dataset: Dataset) throws -> ExampleEncoder {
    let prompts = try ModelPrompts(source, tokenizer: try TokenizerSource.open(source).tokenizer)
    var task = TaggingTask()
    task.maximumTokens = maxTokens
    task.allowsNone = dataset.unlabelledCount(.train) > 0
    if dataset.kind == .labelled { task.form = try prompts.form(promptForm) }
    return try prompts.encoder(task, for: dataset.train + dataset.validation)
  }

  /// Lengths of all examples, and those that cannot be learnt at all.
  private static func tokens(_ dataset: Dataset, _ encoder: ExampleEncoder) throws -> (TokenLengths, [String]) {
    var (lengths, unfit) = (TokenLengths(), [String]())
    for split in SplitName.allCases {
      for example in dataset[split] {
        do throws(TrainingError) { lengths.add(try encoder.encode(example)) } catch {
          if case .conversation(.template) = error { throw error }
          unfit.append(Advice.sentence(of: error))
        }
      }
    }
    return (lengths, unfit)
  }

  /// The examples to show, from the first training text to the last.
  private func examples(_ dataset: Dataset) throws -> [DatasetExample] {
    let all = dataset.train.isEmpty ? dataset.evaluationSplit.examples : dataset.train
    let shown = min(preview, all.count)
    return (0..<shown).map { all[$0 * all.count / shown] }
  }
}

/// The lengths of tokenized examples.
struct TokenLengths {
  private(set) var lengths: [Int] = []
  /// Tokens that are learnt, and those of them that are content.
  private(set) var (learnt, content) = (0, 0)
  /// Examples that were cut, and the tokens they lost.
  private(set) var (truncated, truncatedTokens) = (0, 0)

  mutating func add(_ example: TrainingExample) {
    lengths.append(example.tokens.count)
    for role in example.roles where role != .given {
      learnt += 1
      if role == .content { content += 1 }
    }
    if example.truncatedTokens > 0 { truncated += 1 }
    truncatedTokens += example.truncatedTokens
  }
}

/// The tokens of an example in runs of one role.
struct TokenPreview {
  let location: String
  let truncatedTokens: Int
  /// The role, and the tokens that have it with their spellings.
  let runs: [(role: TokenRole, ids: [Int32], tokens: [String])]

  init(location: String, example: TrainingExample, tokenizer: Tokenizer) {
    self.location = location
    truncatedTokens = example.truncatedTokens
    var runs: [(role: TokenRole, ids: [Int32], tokens: [String])] = []
    for (token, role) in zip(example.tokens, example.roles) {
      if runs.last?.role != role { runs.append((role, [], [])) }
      runs[runs.count - 1].ids.append(token)
      runs[runs.count - 1].tokens.append(Self.shown(token, tokenizer))
    }
    self.runs = runs
  }

  /// The token's text on one line: what is no text as \xNN.
  private static func shown(_ token: Int32, _ tokenizer: Tokenizer) -> String {
    let bytes = tokenizer.bytes(of: token)
    guard let text = String(validating: bytes, as: UTF8.self) else {
      return bytes.map { "\\x" + ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
    }
    return text.unicodeScalars.map { scalar in
      switch scalar {
      case "\n": "\\n"
      case "\t": "\\t"
      case "\\": "\\\\"
      case "|": "\\|"
      default:
        scalar.value < 0x20 || 0x7F...0x9F ~= scalar.value || 0x2028...0x2029 ~= scalar.value
          ? "\\u{\(String(scalar.value, radix: 16, uppercase: true))}" : String(scalar)
      }
    }.joined()
  }
}
