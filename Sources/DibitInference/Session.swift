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
  private var adapter: LoadedAdapter
  private let compute: Compute
  private var state: DecoderState
  private var rank: Int  // that `state` has room for
  private var cache: KeyValueCache
  private var segments: Segments
  private var rows: Matrix  // [r, C] hidden states whose logits are wanted
  private var rounded: QuantizedRows  // what a packed head is multiplied with
  private var logits: Matrix  // [r, V]
  private var last: Matrix  // [1, V] the logits behind the last token; scoring leaves them alone

  /// Rows of one pass: longer prompts go through in chunks.
  private static let chunk = 512
  /// Rows of logits that exist at a time.
  private static let logitRows = 32
  /// Choices that are scored in one pass.
  private static let segmentCapacity = 256

  /// A session for up to `context` tokens, by default as many as the model allows.
  package init(
    _ configuration: ModelConfiguration, weights: DecoderWeights, adapter: consuming Adapter, context: Int? = nil,
    precision: KeyValuePrecision? = nil, on compute: Compute
  ) {
    self.configuration = configuration
    self.context = min(context ?? configuration.contextLength, configuration.contextLength)
    self.compute = compute
    decoder = Decoder(configuration, weights: weights)
    rank = adapter.configuration.rank
    state = DecoderState(configuration, capacity: Self.chunk, rank: rank, recording: .none)
    self.adapter = LoadedAdapter(adapter)
    // Choices are scored behind the context, in rows of their own.
    cache = KeyValueCache(
      configuration, weights: weights, capacity: self.context + Self.chunk, forTraining: false,
      precision: precision ?? compute.keysAndValues)
    segments = Segments(capacity: Self.segmentCapacity)
    rows = Matrix(rows: Self.logitRows, columns: configuration.hiddenSize)
    rounded = QuantizedRows(capacity: Self.logitRows, columns: configuration.hiddenSize)
    logits = Matrix(rows: Self.logitRows, columns: configuration.vocabularySize)
    last = Matrix(rows: 1, columns: configuration.vocabularySize)
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
      segments.removeAll()
      segments.append(rows: end - first, start: 0, past: count)
      decoder.forward(
        tokens.extracting(first..<end), segments: segments, cache: &cache, adapter: adapter.adapter, state: &state,
        wanted: end == tokens.count ? .last : .rows([]), on: compute)
      count += end - first
      guard reading(end) || end == tokens.count else { return false }
    }
    rows.setRows(1)
    rows.copyRow(0, of: state.hidden, to: 0)
    decoder.logits(rows, rounded: &rounded, into: &last, on: compute)
    // One sum finds a NaN or an infinity anywhere in the row.
    guard last.sumOfSquares(on: compute).isFinite else { throw .notFinite(position: count - 1) }
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
    var places = [Float](repeating: 0, count: choices.placeCount)
    if let root = choices.rootBranch { Self.read(last, row: 0, choices.branches[root], &places) }
    for group in choices.groups(rows: Self.chunk, segments: Self.segmentCapacity) { scoreGroup(group, choices, &places) }
    let scores = choices.scores(places)
    guard scores.allSatisfy(\.isFinite) else { throw .notFinite(position: count) }
    return scores
  }

  /// Runs some paths of the trie behind the prompt and reads the branches that lie on them.
  private mutating func scoreGroup(_ group: Range<Int>, _ choices: ChoiceSet, _ places: inout [Float]) {
    var tokens: [Int32] = []
    segments.removeAll()
    for path in choices.paths[group] {
      segments.append(rows: path.tokens.count, start: context + tokens.count, prefix: 0..<count)
      tokens += path.tokens
    }
    var wanted: [(row: Int, branch: Int)] = []
    var first = 0
    for path in choices.paths[group] {
      wanted += path.branches.map { (row: first + $0.depth - 1, branch: $0.branch) }
      first += path.tokens.count
    }
    decoder.forward(
      tokens.span, segments: segments, cache: &cache, adapter: adapter.adapter, state: &state, wanted: .rows(wanted.map(\.row)), on: compute
    )
    for start in stride(from: 0, to: wanted.count, by: Self.logitRows) {
      let piece = wanted[start..<min(start + Self.logitRows, wanted.count)]
      rows.setRows(piece.count)
      logits.setRows(piece.count)
      for index in 0..<piece.count { rows.copyRow(start + index, of: state.hidden, to: index) }
      decoder.logits(rows, rounded: &rounded, into: &logits, on: compute)
      for (index, item) in piece.enumerated() { Self.read(logits, row: index, choices.branches[item.branch], &places) }
    }
  }

  /// Keeps the logits of a branch's children.
  private static func read(_ logits: borrowing Matrix, row: Int, _ branch: ChoiceSet.Branch, _ places: inout [Float]) {
    for (place, child) in zip(branch.places, branch.children) { places[place] = logits[row, Int(child)] }
  }
}

extension Session {
  /// Runs the tokens that come next under another adapter, or under none; the base model stays as it is.
  ///
  /// Keys and values of one adapter mean nothing to another: unless it is the one in use already, the session goes back to its beginning,
  /// as if by ``rewind(to:)``. Adapters of different ranks need working memory of different sizes, which is then made anew.
  ///
  /// - Parameter adapter: an adapter of the session's own base model. It is shared, not copied.
  package mutating func use(_ adapter: LoadedAdapter?) {
    guard adapter !== self.adapter, adapter != nil || self.adapter.rank > 0 else { return }
    let next = adapter ?? LoadedAdapter(.none(for: decoder.weights))
    rewind()
    if next.rank > 0, next.rank != rank {
      state = DecoderState(configuration, capacity: Self.chunk, rank: next.rank, recording: .none)
      rank = next.rank
    }
    self.adapter = next
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
      segments.removeAll()
      segments.append(rows: piece.count, start: 0, past: count)
      decoder.forward(piece.span, segments: segments, cache: &cache, adapter: adapter.adapter, state: &state, on: compute)
      for start in stride(from: 0, to: piece.count, by: Self.logitRows) {
        let some = min(Self.logitRows, piece.count - start)
        rows.setRows(some)
        logits.setRows(some)
        for row in 0..<some { rows.copyRow(start + row, of: state.hidden, to: row) }
        decoder.logits(rows, rounded: &rounded, into: &logits, on: compute)
        guard logits.sumOfSquares(on: compute).isFinite else { throw .notFinite(position: count + start + some - 1) }
        for row in 0..<some where first + start + row + 1 < tokens.count {
          let values = logits.span.extracting(row * logits.columns..<(row + 1) * logits.columns)
          scores.append(softmax.score(values, token: tokens[first + start + row + 1], alternatives: alternatives))
        }
      }
      count += piece.count
    }
    last.copyRow(logits.rows - 1, of: logits, to: 0)
    return scores
  }

  /// Whether these tokens can be added.
  private func check(_ tokens: Span<Int32>) throws(InferenceError) {
    guard !tokens.isEmpty else { throw .emptyPrompt }
    guard count + tokens.count <= context else { throw .contextFull(tokens: count + tokens.count, context: context) }
    for index in tokens.indices where tokens[index] < 0 || Int(tokens[index]) >= configuration.vocabularySize {
      throw .unknownToken(tokens[index], vocabulary: configuration.vocabularySize)
    }
  }
}
