package import DibitDataset
internal import DibitFailure
internal import DibitInference
internal import DibitJSON
package import DibitKernels
internal import DibitModel
package import DibitModelStore
internal import DibitTensor
internal import DibitTokenizer
package import DibitTraining

/// The writing of texts like those of a dataset: a model reads a list of texts of one label, and goes on with the list.
///
/// What attempt `k` reads and draws follows from `k` and the seed, so that a job goes on behind any of its attempts.
package struct SynthesisJob {
  /// Texts that are read in an attempt.
  private static let shown = 10
  /// The most tokens that are read, and that are written behind them: four texts or five where they are short, for behind its own texts a model
  /// loses the thread. Fewer where the context is short.
  private let (mostRead, mostWritten): (Int, Int)
  /// Attempts for each text that is wanted, behind which there is no point in more.
  private static let patience = 5

  /// A text of the list.
  private struct Item {
    let tokens: [Int32]
    let isCut: Bool
  }

  private let model: StoredModel
  private let compute: Compute
  private let options: Synthesis.Options
  /// Begins a text in the list.
  private let mark: [Int32]
  private let endTokens: Set<Int32>
  private let labels: [(name: String, items: [Item])]
  /// Texts that are there already.
  private var known: Set<TextDigest>
  /// The identity of the job: all that its texts depend on.
  package let identity: RunIdentity

  /// A job that reads the training texts of `dataset`, and none that training holds out.
  ///
  /// - Throws: ``DibitError`` for data without labels.
  package init(_ model: StoredModel, like dataset: Dataset, at path: String, options: Synthesis.Options, on compute: Compute) throws {
    guard dataset.kind == .labelled else { throw DatasetError.notLabelled(path: path) }
    let context = model.configuration.contextLength
    let written = min(200, context / 4)
    let read = min(1_024, context - written)
    let longest = min(200, read / 2)
    (mostRead, mostWritten) = (read, written)
    var dataset = dataset
    dataset.splitAutomatically(seed: options.seed)
    let tokenizer = model.tokenizer
    let mark = tokenizer.encode("-", addingSpecialTokens: false)
    self.mark = mark
    let end = tokenizer.encode("\n", addingSpecialTokens: false)
    let examples = dataset.labelled(.train)
    labels = dataset.labels.compactMap { label in
      let items = examples.filter { $0.labels.contains { $0.utf8.elementsEqual(label.utf8) } }.map { example in
        let line = example.text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let tokens = tokenizer.encode(" " + line, addingSpecialTokens: false, parsingSpecialTokens: false)
        return Item(tokens: mark + tokens.prefix(longest) + end, isCut: tokens.count > longest)
      }
      return items.isEmpty ? nil : (label, items)
    }
    guard !labels.isEmpty else { throw DibitError(.invalidData, "'\(path)': expected texts with labels to learn from, found none") }
    known = Set(SplitName.allCases.flatMap { dataset.labelled($0).map(\.digest) })
    endTokens = try model.chatFormat().endTokens
    identity = RunIdentity(
      model: model.digest ?? model.path, data: dataset.digest + dataset.digest(of: .train),
      options: JSONObject([
        ("temperature", .number(options.temperature)), ("top-p", .number(options.topP)), ("seed", .string("\(options.seed)")),
      ]))
    (self.model, self.options) = (model, options)
    self.compute = Compute(isa: compute.isa, threads: compute.threads, usesBLAS: false, floats: .bfloat16)
  }

  /// Writes texts until there are as many as were asked for; `receive` is told those of each attempt in its order, often none, and stops the
  /// writing by returning false. Texts that are in the data or come again are passed over, as are those that find no end.
  ///
  /// - Parameter kept: Those that an earlier job wrote.
  /// - Returns: The attempts in all; nil where it was stopped.
  package mutating func run(behind kept: [Synthesis.Text] = [], receive: ([Synthesis.Text]) throws -> Bool) throws -> Int? {
    known.formUnion(kept.map { Self.digest($0.text) })
    let first = kept.last.map { $0.attempt + 1 } ?? 0
    let end = Self.patience * options.limit
    var (count, attempt, done) = (kept.count, first, first)
    guard count < options.limit else { return first }
    var generation = GenerationOptions()
    (generation.maximumTokens, generation.stopTokens) = (mostWritten, endTokens)
    (generation.sampling.temperature, generation.sampling.topP) = (Float(options.temperature), Float(options.topP))
    generation.sampling.seed = seed(of: first)
    var writer = BatchWriter(
      MeasuredModel(model.configuration, weights: model.weights), context: mostRead + mostWritten, on: compute)
    // Attempts end in any order, and count in theirs.
    var (waiting, fault, isStopped): ([Int: Result<Generation, InferenceError>], (any Error)?, Bool) = ([:], nil, false)
    writer.write(tokenizer: model.tokenizer, options: generation) {
      guard attempt < end else { return nil }
      attempt += 1
      return prompt(attempt - 1).tokens
    } receive: { index, result in
      waiting[first + index] = result
      do {
        while let result = waiting.removeValue(forKey: done), !isStopped, count < options.limit {
          let texts = try texts(of: result.get(), attempt: done).prefix(options.limit - count)
          (count, done) = (count + texts.count, done + 1)
          isStopped = try !receive(Array(texts))
        }
      } catch { fault = error }
      return fault == nil && !isStopped && count < options.limit
    }
    if let fault { throw fault }
    return isStopped ? nil : done
  }

  /// The seed of an attempt: one seed's attempts have nothing in common with those of its neighbour.
  private func seed(of attempt: Int) -> UInt64 { (options.seed &* 0x9E37_79B9_7F4A_7C15) &+ UInt64(attempt) }

  /// The tokens that the model goes on behind in an attempt, the number of the label, and whether texts among them were cut.
  private func prompt(_ attempt: Int) -> (tokens: [Int32], label: Int, isCut: Bool) {
    let label = attempt % labels.count
    let items = labels[label].items
    var rng = SplitMix64(seed: seed(of: attempt), purpose: "synthesis.examples")
    var order = Array(items.indices)
    rng.shuffle(&order)
    var (tokens, isCut) = (model.tokenizer.encode(""), false)
    for index in order.prefix(Self.shown) where tokens.count + items[index].tokens.count + mark.count <= mostRead {
      tokens += items[index].tokens
      isCut = isCut || items[index].isCut
    }
    return (tokens + mark, label, isCut)
  }

  /// The texts of an attempt that are worth keeping: they are new and have an end, or are as long as those that were cut.
  private mutating func texts(of generation: Generation, attempt: Int) -> [Synthesis.Text] {
    let (_, label, isCut) = prompt(attempt)
    var lines = generation.text.split(separator: "\n", omittingEmptySubsequences: false)
    if generation.finishReason != .stop, lines.count > 1 || !isCut { lines.removeLast() }
    return lines.enumerated().compactMap { number, line in
      var words = line.split(whereSeparator: \.isWhitespace)
      if number > 0 {
        // What does not go on with the list is something else.
        guard words.first == "-" else { return nil }
        words.removeFirst()
      }
      let text = String(words.joined(separator: " ").unicodeScalars.filter(Self.isText))
      guard text.contains(where: { !$0.isWhitespace }), known.insert(Self.digest(text)).inserted else { return nil }
      return Synthesis.Text(text: text, label: labels[label].name, attempt: attempt)
    }
  }

  /// True but for control characters and for what stands for broken ones, as a model of bytes may write.
  private static func isText(_ scalar: Unicode.Scalar) -> Bool { scalar.properties.generalCategory != .control && scalar != "\u{FFFD}" }

  private static func digest(_ text: String) -> TextDigest { LabelledExample(path: "", text: text, labels: []).digest }
}
