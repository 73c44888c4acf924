package import DibitKernels
package import DibitModel
internal import DibitTensor

/// One sequence in progress: a decoder, an adapter or none, and the keys and values of the tokens so far.
///
/// Sessions over the same weights share them; each has its own cache. Everything is allocated when the session is made.
package struct Session: ~Copyable {
  /// The model's shape.
  package let configuration: ModelConfiguration
  /// The most tokens that fit.
  package let context: Int
  /// The number of tokens so far.
  package private(set) var count = 0
  private let decoder: Decoder
  private var adapter: LoadedAdapter?
  private var runner: ModelRunner
  private var last: Matrix  // [1, V] the logits behind the last token; scoring leaves them alone

  /// Rows of one pass: longer prompts go through in chunks.
  private static let chunk = 512
  /// Rows of logits that exist at a time.
  private static let logitRows = 32
  /// Choices that are scored in one pass.
  private static let segmentCapacity = 256

  /// A session for up to `context` tokens, by default as many as the model allows.
  package init(
    _ configuration: ModelConfiguration, weights: DecoderWeights, adapter: LoadedAdapter? = nil, context: Int? = nil,
    precision: KeyValuePrecision? = nil, on compute: Compute
  ) {
    self.configuration = configuration
    self.context = min(context ?? configuration.contextLength, configuration.contextLength)
    decoder = Decoder(configuration, weights: weights)
    self.adapter = adapter
    // Choices are scored behind the context, in rows of their own.
    runner = ModelRunner(
      decoder,
      ModelRunner.Limits(
        rows: Self.chunk, segments: Self.segmentCapacity, cacheRows: self.context + Self.chunk, logitRows: Self.logitRows),
      precision: precision ?? compute.keysAndValues, on: compute)
    last = Matrix(rows: 1, columns: configuration.vocabularySize)
  }

  /// A session with an adapter of its own.
  package init(
    _ configuration: ModelConfiguration, weights: DecoderWeights, adapter: consuming Adapter, context: Int? = nil,
    precision: KeyValuePrecision? = nil, on compute: Compute
  ) {
    self.init(configuration, weights: weights, adapter: LoadedAdapter(adapter), context: context, precision: precision, on: compute)
  }

  /// Forgets all tokens from `count` on.
  package mutating func rewind(to count: Int = 0) { self.count = min(self.count, max(0, count)) }

  /// Adds tokens; afterwards ``lastLogits`` holds the logits behind the last one.
  package mutating func append(_ tokens: [Int32]) throws(InferenceError) { try append(tokens.span) }

  /// Adds one token, as ``append(_:)-([Int32])`` does. Nothing is allocated.
  package mutating func append(_ token: Int32) throws(InferenceError) { try append(CollectionOfOne(token).span) }

  /// Adds tokens, as ``append(_:)-([Int32])`` does. Nothing is allocated.
  package mutating func append(_ tokens: Span<Int32>) throws(InferenceError) { _ = try append(tokens) { _ in true } }

  /// Adds tokens, as ``append(_:)-([Int32])`` does, and tells `reading` after each pass how many of them have been read. Where it returns
  /// false before the last one, the rest is left out and so is the result: nothing is known of what comes next.
  mutating func append(_ tokens: Span<Int32>, reading: (Int) -> Bool) throws(InferenceError) -> Bool {
    try check(tokens)
    for first in stride(from: 0, to: tokens.count, by: Self.chunk) {
      let end = min(first + Self.chunk, tokens.count)
      runner.removeAll()
      runner.append(tokens.extracting(first..<end), start: 0, past: count, adapter: adapter)
      decoder.forward(&runner, wanted: end == tokens.count ? .last : .rows([]))
      count += end - first
      guard reading(end) || end == tokens.count else { return false }
    }
    decoder.logits(of: 0, in: &runner, into: &last)
    // One sum finds a NaN or an infinity anywhere in the row.
    guard last.sumOfSquares(on: runner.compute).isFinite else { throw .notFinite(position: count - 1) }
    return true
  }

  /// The logits behind the last token.
  package var lastLogits: [Float] { last.values }

  /// Calls `body` with the logits behind the last token, without copying them.
  package func withLastLogits<Result, Failure: Error>(_ body: (Span<Float>) throws(Failure) -> Result) throws(Failure) -> Result {
    try body(last.span)
  }

  /// The log-probability, in nats, of each choice when the answer must be one of them: at each token the probabilities of those that
  /// can still lead to a choice are scaled to sum to one.
  ///
  /// All choices are scored in one pass over the tokens that tell them apart; the session stays where it is.
  package mutating func score(_ choices: ChoiceSet) throws(InferenceError) -> [Double] {
    require(count > 0, "Session.score: append a prompt first")
    guard count + choices.longestPath <= context, choices.longestPath <= Self.chunk else {
      throw .contextFull(tokens: count + choices.longestPath, context: min(context, count + Self.chunk))
    }
    var childLogits = [Float](repeating: 0, count: choices.childCount)
    if let root = choices.rootBranch { Self.read(last, row: 0, choices.branches[root], &childLogits) }
    for group in choices.groups(rows: Self.chunk, segments: Self.segmentCapacity) { scoreGroup(group, choices, &childLogits) }
    let scores = choices.scores(childLogits)
    guard scores.allSatisfy(\.isFinite) else { throw .notFinite(position: count) }
    return scores
  }

  /// Runs some paths of the trie behind the prompt and reads the branches that lie on them.
  private mutating func scoreGroup(_ group: Range<Int>, _ choices: ChoiceSet, _ childLogits: inout [Float]) {
    runner.removeAll()
    var wanted: [(row: Int, branch: Int)] = []
    for path in choices.paths[group] {
      let first = runner.appendedRows
      runner.append(path.tokens.span, start: context + first, prefix: 0..<count, adapter: adapter)
      wanted += path.branches.map { (row: first + $0.depth - 1, branch: $0.branch) }
    }
    decoder.forward(&runner, wanted: .rows(wanted.map(\.row)))
    for start in stride(from: 0, to: wanted.count, by: Self.logitRows) {
      let piece = wanted[start..<min(start + Self.logitRows, wanted.count)]
      decoder.logits(of: start..<start + piece.count, in: &runner)
      for (index, item) in piece.enumerated() { Self.read(runner.logits, row: index, choices.branches[item.branch], &childLogits) }
    }
  }

  /// Keeps the logits of a branch's children.
  private static func read(_ logits: borrowing Matrix, row: Int, _ branch: ChoiceSet.Branch, _ childLogits: inout [Float]) {
    for (index, child) in zip(branch.childIndices, branch.children) { childLogits[index] = logits[row, Int(child)] }
  }
}

extension Session {
  /// Runs the tokens that come next under another adapter, or under none; the base model stays as it is.
  ///
  /// Keys and values of one adapter mean nothing to another: unless it is the one in use already, the session goes back to its beginning,
  /// as if by ``rewind(to:)``.
  ///
  /// - Parameter adapter: an adapter of the session's own base model. It is shared, not copied.
  package mutating func use(_ adapter: LoadedAdapter?) {
    guard adapter !== self.adapter, (adapter?.rank ?? 0) > 0 || (self.adapter?.rank ?? 0) > 0 else { return }
    rewind()
    self.adapter = adapter
  }

  /// Adds tokens, as ``append(_:)`` does, and tells how likely each was behind those before it; nil for a token with nothing before it.
  ///
  /// Costs a row of logits for each token; 32 of them exist at a time. `alternatives` is how many of the most likely tokens to list beside
  /// each.
  package mutating func logProbabilities(of tokens: [Int32], alternatives: Int = 0) throws(InferenceError) -> [ScoredToken?] {
    try check(tokens.span)
    var softmax = LogSoftmax()
    var scores: [ScoredToken?] = []
    if count > 0 { scores.append(softmax.score(last.span, token: tokens[0], alternatives: alternatives)) } else { scores.append(nil) }
    for first in stride(from: 0, to: tokens.count, by: Self.chunk) {
      let piece = Array(tokens[first..<min(first + Self.chunk, tokens.count)])
      runner.removeAll()
      runner.append(piece.span, start: 0, past: count, adapter: adapter)
      decoder.forward(&runner)
      for start in stride(from: 0, to: piece.count, by: Self.logitRows) {
        let some = min(Self.logitRows, piece.count - start)
        decoder.logits(of: start..<start + some, in: &runner)
        guard runner.logits.sumOfSquares(on: runner.compute).isFinite else { throw .notFinite(position: count + start + some - 1) }
        for row in 0..<some where first + start + row + 1 < tokens.count {
          let values = runner.logits.span.extracting(row * runner.logits.columns..<(row + 1) * runner.logits.columns)
          scores.append(softmax.score(values, token: tokens[first + start + row + 1], alternatives: alternatives))
        }
      }
      count += piece.count
    }
    last.copyRow(runner.logits.rows - 1, of: runner.logits, to: 0)
    return scores
  }

  /// Checks that these tokens can be added.
  private func check(_ tokens: Span<Int32>) throws(InferenceError) {
    guard !tokens.isEmpty else { throw .emptyPrompt }
    guard count + tokens.count <= context else { throw .contextFull(tokens: count + tokens.count, context: context) }
    for index in tokens.indices where tokens[index] < 0 || Int(tokens[index]) >= configuration.vocabularySize {
      throw .unknownToken(tokens[index], vocabulary: configuration.vocabularySize)
    }
  }
}
