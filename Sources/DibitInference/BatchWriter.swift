package import DibitConstraint
package import DibitKernels
internal import DibitModel
internal import DibitTensor
package import DibitTokenizer

/// Continues many prompts side by side, each by its own rules: a pass has the next token of every text that is being written, and beginnings
/// of prompts in the rows that are left, so that the weights are read once for all of them.
///
/// A text is the one that a ``Session`` would write, bit by bit, as long as the matrices are packed and no adapter's products round differently
/// for another number of rows.
package struct BatchWriter: ~Copyable {
  /// Texts that are written side by side.
  package static let width = 16
  /// Rows of a pass.
  private static let rows = 256

  private var passes: PackedPasses
  private let head: Weight
  private var logits: Matrix  // [width, V]

  /// A writer of texts that, with their prompts, have up to `context` tokens; by default as many as the model allows.
  package init(_ model: MeasuredModel, context: Int? = nil, precision: KeyValuePrecision? = nil, on compute: Compute) {
    let longest = min(context ?? model.configuration.contextLength, model.configuration.contextLength)
    // Most texts are shorter than the longest may be; those that find no room wait.
    passes = PackedPasses(
      model, context: context, rows: Self.rows, textRows: Self.width * min(longest, Self.rows), precision: precision, on: compute)
    head = model.weights.output.weight
    logits = Matrix(rows: Self.width, columns: model.configuration.vocabularySize)
  }

  /// The most tokens of a prompt and the text behind it.
  package var context: Int { passes.context }

  /// A text under way.
  private struct Text {
    let index: Int
    var tokens: [Int32]  // the prompt and what was written behind it
    let slot: Range<Int>
    var done: Int  // tokens whose keys and values lie in the cache, or are in the pass
    var growing: GrowingText
    var fault: InferenceError?

    var isDone: Bool { growing.isOver || fault != nil }

    mutating func end() -> Result<Generation, InferenceError> {
      if let fault { .failure(fault) } else { .success(growing.end()) }
    }

    /// Adds tokens, and those that come behind them whatever the model says.
    mutating func add(_ next: [Int32]) {
      var next = next
      while !next.isEmpty {
        growing.add(next)
        next = growing.isOver ? [] : growing.forced()
      }
      tokens += growing.result.tokens[(tokens.count - promptCount)...]
    }

    private let promptCount: Int

    init(index: Int, prompt: [Int32], slot: Range<Int>, done: Int, growing: GrowingText) {
      (self.index, self.slot, self.done, self.growing) = (index, slot, done, growing)
      (tokens, promptCount) = (prompt, prompt.count)
      if !self.growing.isOver { add(self.growing.forced()) }
    }
  }

  /// Continues the prompts that `next` gives until it has no more; `receive` is told each one's number and text, in any order, and stops the
  /// writing by returning false. A prompt that cannot be run has an error and stops no other. Text `k` draws with the seed of `options` and `k`
  /// more.
  ///
  /// - Parameters:
  ///   - beginning: what most prompts begin with; it is computed once.
  ///   - constraint: what each text must satisfy; nil for any.
  package mutating func write(
    sharing beginning: [Int32] = [], tokenizer: Tokenizer, options: GenerationOptions, constraint: TokenConstraint? = nil,
    next: () -> [Int32]?, receive: (_ index: Int, _ result: Result<Generation, InferenceError>) -> Bool
  ) {
    passes.begin(with: beginning)
    var texts: [Text] = []
    defer { for text in texts { passes.release(text.slot) } }
    var waiting = next()
    var count = 0
    while true {
      passes.beginPass()
      var asking: [Int] = []
      for index in texts.indices where append(&texts[index]) { asking.append(index) }
      while texts.count < Self.width, passes.freeRows > 0, let prompt = waiting {
        do throws(InferenceError) {
          try check(prompt)
          var options = options
          options.sampling.seed &+= UInt64(count)
          let growing = try GrowingText(
            behind: prompt, limit: context - prompt.count, tokenizer: tokenizer, options: options, constraint: constraint)
          let capacity = min(context, prompt.count + max(0, options.maximumTokens))
          guard let (slot, done) = passes.start(prompt, capacity: capacity) else { break }
          texts.append(Text(index: count, prompt: prompt, slot: slot, done: done, growing: growing))
          if append(&texts[texts.count - 1]) { asking.append(texts.count - 1) }
        } catch {
          guard receive(count, .failure(error)) else { return }
        }
        waiting = next()
        count += 1
      }
      guard !texts.isEmpty else { return }
      passes.run()
      choose(for: asking, &texts)
      // Those that go on stay in order, so that none is overtaken for ever.
      var (kept, stops): ([Text], Bool) = ([], false)
      for index in texts.indices {
        guard !stops, texts[index].isDone else {
          kept.append(texts[index])
          continue
        }
        stops = !receive(texts[index].index, texts[index].end())
        passes.release(texts[index].slot)
      }
      texts = kept
      if stops { return }
    }
  }

  /// Adds as much of a text to the pass as fits; true where its last token is there, and what comes behind it is asked for.
  private mutating func append(_ text: inout Text) -> Bool {
    let piece = text.tokens[text.done..<min(text.done + passes.freeRows, text.tokens.count)]
    guard !piece.isEmpty else { return false }
    passes.append(piece, slot: text.slot, past: text.done)
    text.done += piece.count
    guard text.done == text.tokens.count else { return false }
    _ = passes.want(passes.lastRow)
    return true
  }

  /// Chooses the next token of some texts, whose hidden states are the last pass's.
  private mutating func choose(for asking: [Int], _ texts: inout [Text]) {
    guard !asking.isEmpty else { return }
    passes.logits(head, into: &logits)
    for (row, index) in asking.enumerated() where !texts[index].growing.isOver {
      do throws(InferenceError) {
        let values = logits.span.extracting(row * logits.columns..<(row + 1) * logits.columns)
        texts[index].add([try texts[index].growing.choose(values)])
      } catch {
        texts[index].fault = error
      }
    }
  }

  /// Checks that a prompt can be run.
  private func check(_ prompt: [Int32]) throws(InferenceError) {
    guard !prompt.isEmpty else { throw .emptyPrompt }
    guard prompt.count <= context else { throw .contextFull(tokens: prompt.count, context: context) }
    if let token = prompt.first(where: { !passes.isKnown($0) }) {
      throw .unknownToken(token, vocabulary: passes.model.configuration.vocabularySize)
    }
  }
}
