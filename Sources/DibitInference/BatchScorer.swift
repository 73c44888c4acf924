package import DibitKernels
package import DibitModel
internal import DibitTensor

/// Scores closed sets of answers behind many prompts, packed into passes: each prompt goes through the model once, what prompts begin with
/// once for all, and all answers to a prompt share its keys and values.
///
/// Behind a prompt runs only what tells answers apart: answers that differ in their first token cost nothing beyond the logits, others the
/// rows of their trie. Logits exist for the tokens that answers can go on with and for no other: see ``ChoiceSet`` for what is normalised.
/// The scores do not depend on what else is scored, on the size of a pass or on the number of threads, bit by bit, as long as the matrices
/// are packed and no adapter's products round differently for another number of rows.
package struct BatchScorer: ~Copyable {
  /// A prompt and the set of choices that is scored behind it.
  package struct Query: Equatable, Sendable {
    /// The prompt; of a query that follows another one, the tokens that go on behind it.
    package var tokens: [Int32]
    /// The index of the choices among those of the scorer.
    package var set: Int
    /// Choices that count as if they were not there.
    package var excluded: Set<Int>

    /// A query of one prompt.
    package init(_ tokens: [Int32], set: Int = 0, excluding excluded: Set<Int> = []) {
      (self.tokens, self.set, self.excluded) = (tokens, set, excluded)
    }
  }

  /// The work that the scorer has done so far.
  package struct Statistics: Equatable, Sendable {
    /// Tokens of prompts, whether they were run or shared.
    package var promptTokens = 0
    /// Rows of prompts that were run.
    package var promptRows = 0
    /// Rows of choices that were run.
    package var choiceRows = 0
    /// Passes of the model.
    package var passes = 0
  }

  /// The sets that queries name.
  package let sets: [ChoiceSet]
  /// The work that has been done so far.
  package private(set) var statistics = Statistics()
  private var passes: PackedPasses
  private let head: Weight
  private let columns: [[Int]]  // of each set's children, among the head's tokens
  private var logits: Matrix  // [r, m]

  /// A scorer of prompts that, with all that follows them, have up to `context` tokens; by default as many as the model allows.
  ///
  /// - Parameter rows: rows of a pass; more of them take more memory and are no faster from some hundreds on.
  package init(
    _ model: MeasuredModel, sets: [ChoiceSet], context: Int? = nil, rows: Int = 512, precision: KeyValuePrecision? = nil,
    on compute: Compute
  ) {
    self.sets = sets
    passes = PackedPasses(model, context: context, rows: rows, precision: precision, on: compute)
    let tokens = Set(sets.flatMap { $0.branches.flatMap(\.children) }).filter { $0 >= 0 && Int($0) < model.configuration.vocabularySize }
      .sorted()
    let columnOf = Dictionary(uniqueKeysWithValues: zip(tokens, tokens.indices))
    columns = sets.map { $0.branches.flatMap { $0.children.map { columnOf[$0] ?? -1 } } }
    head = model.weights.output.weight.gatheringRows(tokens.map { Int($0) })
    logits = Matrix(rows: passes.rows, columns: tokens.count)
  }

  /// Scores what comes next under another adapter of the same model, or under none.
  package mutating func use(_ adapter: LoadedAdapter?) { passes.use(adapter) }

  /// The most tokens of a text with all that follows it.
  package var context: Int { passes.context }

  /// The log-probabilities of a set's choices behind each prompt, in nats. A prompt that cannot be run has an error and stops no other.
  package mutating func score(_ prompts: [[Int32]], set: Int = 0) -> [Result<[Double], InferenceError>] {
    var results = [Result<[Double], InferenceError>](repeating: .failure(.emptyPrompt), count: prompts.count)
    var next = 0
    run(sharing: Self.commonStart(of: prompts)) {
      guard next < prompts.count else { return nil }
      next += 1
      return Query(prompts[next - 1], set: set)
    } receive: { index, result in
      results[index] = result
      return .end
    }
    return results
  }

  /// The continuation after a result.
  package enum Reply: Equatable, Sendable {
    /// Nothing: the text is forgotten.
    case end
    /// Another query behind the same text, whose tokens go on where it ended.
    case query(Query)
    /// No text is scored any more.
    case stop
  }

  /// Scores the queries that `next` gives until it has no more; `receive` is told each one's number and result, in any order, and may go on
  /// behind the same text.
  ///
  /// - Parameters:
  ///   - beginning: what most prompts begin with; it is computed once.
  ///   - growth: the most tokens that queries of one text add behind the first.
  package mutating func run(
    sharing beginning: [Int32] = [], growth: Int = 0, next: () -> Query?,
    receive: (_ index: Int, _ result: Result<[Double], InferenceError>) -> Reply
  ) {
    var texts: [Text] = []
    var waiting: Text?
    var (count, isOver, stops) = (0, false, false)
    passes.begin(with: beginning)
    while !stops {
      passes.beginPass()
      var reads: [Read] = []
      for index in texts.indices { append(&texts[index], index, &reads) }
      while passes.freeRows > 0, !isOver || waiting != nil {
        if waiting == nil {
          guard let query = next() else {
            isOver = true
            break
          }
          waiting = Text(index: count, query: query)
          count += 1
          if let text = waiting, let fault = fault(text) {
            waiting = nil
            stops = receive(text.index, .failure(fault)) == .stop
            if stops { break }
            continue
          }
        }
        guard var text = waiting else { break }
        let capacity = min(passes.context, text.tokens.count + growth)
        guard let started = passes.start(text.tokens, capacity: capacity) else { break }
        waiting = nil
        (text.slot, text.done) = started
        text.logits = [Float](repeating: 0, count: sets[text.query.set].childCount)
        statistics.promptTokens += text.tokens.count
        append(&text, texts.count, &reads)
        texts.append(text)
      }
      if stops || (passes.isEmpty && texts.isEmpty) { break }
      run(&texts, reads)
      // Those that go on stay where they are, in order, so that a text is not overtaken for ever.
      var kept: [Text] = []
      for var text in texts {
        guard !stops, text.isDone(sets) else {
          kept.append(text)
          continue
        }
        switch receive(text.index, result(text)) {
        case .end: passes.release(text.slot)
        case .query(let query):
          let added = query.tokens.count
          statistics.promptTokens += added
          text.go(on: query, childCount: sets[query.set].childCount)
          if let fault = fault(text, capacity: text.slot.count) {
            passes.release(text.slot)
            if receive(text.index, .failure(fault)) == .stop { stops = true }
          } else {
            kept.append(text)
          }
        case .stop:
          stops = true
          kept.append(text)
        }
      }
      texts = kept
    }
    for text in texts { passes.release(text.slot) }
  }

  /// The longest beginning that all prompts share, without the last token of any.
  static func commonStart(of prompts: [[Int32]]) -> [Int32] {
    guard prompts.count > 1, var start = prompts.first?.dropLast() else { return [] }
    for prompt in prompts.dropFirst() {
      let same = zip(start, prompt.dropLast()).prefix { $0 == $1 }.count
      start = start.prefix(same)
    }
    return Array(start)
  }
}

extension BatchScorer {
  /// A text under way.
  private struct Text {
    let index: Int
    var query: Query
    var tokens: [Int32]
    var slot = 0..<0
    var done = 0  // tokens whose keys and values lie in the cache, or are in the pass
    var hasRoot = false
    var path = 0  // the next one to run
    var logits: [Float] = []

    init(index: Int, query: Query) {
      (self.index, self.query, tokens) = (index, query, query.tokens)
    }

    mutating func go(on next: Query, childCount: Int) {
      query = next
      tokens += next.tokens
      (path, hasRoot) = (0, false)
      logits = [Float](repeating: 0, count: childCount)
    }

    func isDone(_ sets: [ChoiceSet]) -> Bool { done == tokens.count && path == sets[query.set].paths.count }
  }

  /// The source of the logits of a branch's children.
  private struct Read {
    let text: Int
    let branch: Int
    let row: Int
  }

  /// Returns the reason for which a text cannot be run.
  private func fault(_ text: Text, capacity: Int? = nil) -> InferenceError? {
    require(sets.indices.contains(text.query.set), "BatchScorer: set \(text.query.set) of \(sets.count)")
    let set = sets[text.query.set]
    if text.tokens.isEmpty || (text.done == text.tokens.count && text.query.tokens.isEmpty && set.rootBranch != nil) { return .emptyPrompt }
    let needed = text.tokens.count + set.longestPath
    if needed > passes.context || text.tokens.count > capacity ?? .max || set.longestPath > passes.rows {
      return .contextFull(tokens: needed, context: min(passes.context, text.tokens.count + passes.rows, capacity ?? .max))
    }
    if let token = text.query.tokens.first(where: { !passes.isKnown($0) })
      ?? set.paths.lazy.flatMap(\.tokens).first(where: { !passes.isKnown($0) })
    {
      return .unknownToken(token, vocabulary: passes.model.configuration.vocabularySize)
    }
    return nil
  }

  /// Adds as much of a text to the pass as fits, and what tells its answers apart.
  private mutating func append(_ text: inout Text, _ index: Int, _ reads: inout [Read]) {
    let set = sets[text.query.set]
    if text.done < text.tokens.count {
      let piece = text.tokens[text.done..<min(text.done + passes.freeRows, text.tokens.count)]
      guard !piece.isEmpty else { return }
      passes.append(piece, slot: text.slot, past: text.done)
      text.done += piece.count
      statistics.promptRows += piece.count
      guard text.done == text.tokens.count else { return }
      if let root = set.rootBranch { reads.append(Read(text: index, branch: root, row: passes.want(passes.lastRow))) }
    }
    while text.path < set.paths.count, set.paths[text.path].tokens.count <= passes.freeRows {
      let path = set.paths[text.path]
      let first = passes.append(path.tokens, behind: text.slot, count: text.tokens.count)
      for (branch, depth) in path.branches { reads.append(Read(text: index, branch: branch, row: passes.want(first + depth - 1))) }
      statistics.choiceRows += path.tokens.count
      text.path += 1
    }
  }

  /// Runs the pass and hands the logits of branches to their texts.
  private mutating func run(_ texts: inout [Text], _ reads: [Read]) {
    passes.run()
    statistics.passes += 1
    guard !reads.isEmpty else { return }
    passes.logits(head, into: &logits)
    for read in reads {
      let set = texts[read.text].query.set
      for child in sets[set].branches[read.branch].childIndices {
        let column = columns[set][child]
        // A token outside of the vocabulary can never come.
        texts[read.text].logits[child] = column < 0 ? -.infinity : logits[read.row, column]
      }
    }
  }

  private func result(_ text: Text) -> Result<[Double], InferenceError> {
    let scores = sets[text.query.set].scores(text.logits, excluding: text.query.excluded)
    guard scores.indices.allSatisfy({ scores[$0].isFinite || text.query.excluded.contains($0) }) else {
      return .failure(.notFinite(position: text.tokens.count))
    }
    return .success(scores)
  }
}
