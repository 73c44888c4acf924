import BasicContainers
import DibitInference
import DibitKernels
import DibitModel
import DibitModelStore
import DibitQuantization
import DibitTensor
import DibitTestSupport
import Glibc
import Testing

/// Prompts of many lengths that begin alike, some of them longer than a pass.
private func makePrompts(_ count: Int = 24) -> [[Int32]] {
  let start = tokens(7, seed: 40)
  return (0..<count).map { start + tokens([1, 3, 60, 17, 150, 33][$0 % 6] + $0, seed: UInt64($0)) }
}

private let labels: [[Int32]] = [
  [10, 11, 12, 2], [10, 11, 13, 2], [10, 14, 2], [15, 2], [15, 16, 2], [17, 18, 19, 20, 2], [17, 18, 19, 21, 2], [17, 18, 22, 2], [23, 2],
]

@Suite struct BatchScorerTests {
  static let families = ["llama", "afm7"]

  private func scorer(
    _ family: String, _ sets: [[[Int32]]] = [labels], rows: Int = 64, threads: Int = 2, context: Int? = nil,
    precision: KeyValuePrecision = .int8
  ) throws -> BatchScorer {
    let (configuration, weights) = try makePackedModel(family)
    return BatchScorer(
      MeasuredModel(configuration, weights: weights), sets: try sets.map { try #require(ChoiceSet($0)) }, context: context, rows: rows,
      precision: precision, on: Compute(threads: threads))
  }

  /// Each step of each choice in a session of its own that runs all tokens before it, and the logits of the whole vocabulary.
  private func plainScores(_ family: String, _ prompt: [Int32], _ choices: [[Int32]], _ precision: KeyValuePrecision) throws -> [Double] {
    let (configuration, weights) = try makePackedModel(family)
    var session = Session(
      configuration, weights: weights, adapter: .none(for: weights), precision: precision, on: Compute(threads: 1))
    return try choices.map { choice in
      var sum = 0.0
      for depth in choice.indices {
        let allowed = Set(choices.filter { $0.count > depth && $0.prefix(depth) == choice.prefix(depth) }.map { $0[depth] })
        guard allowed.count > 1 else { continue }
        session.rewind()
        try session.append(prompt + choice.prefix(depth))
        let logits = session.lastLogits.map { Double($0) }
        sum += logits[Int(choice[depth])] - log(allowed.reduce(0.0) { $0 + exp(logits[Int($1)]) })
      }
      return sum
    }
  }

  @Test("token by token, without trie, cache or batch", arguments: families, KeyValuePrecision.allCases)
  func tokenByToken(family: String, precision: KeyValuePrecision) throws {
    let prompts = makePrompts(8)
    var scorer = try scorer(family, precision: precision)
    for (prompt, result) in zip(prompts, scorer.score(prompts)) {
      let scores = try result.get()
      let expected = try plainScores(family, prompt, labels, precision)
      // The same logits, and sums of a few logarithms in another order.
      #expect(zip(scores, expected).allSatisfy { abs($0 - $1) <= 1e-9 })
      #expect(abs(scores.reduce(0) { $0 + exp($1) } - 1) <= 1e-9)
    }
  }

  @Test("neither the size of a pass, nor threads, nor the other texts change a bit", arguments: families)
  func invariance(family: String) throws {
    let prompts = makePrompts()
    var reference = try scorer(family, rows: 512, threads: 1)
    let expected = try reference.score(prompts).map { try $0.get() }
    #expect(Set(expected.map { $0[0] }).count == prompts.count)
    for (rows, threads) in [(4, 2), (17, 1), (64, 3), (300, 2)] {
      var scorer = try scorer(family, rows: rows, threads: threads)
      #expect(try scorer.score(prompts).map { try $0.get() } == expected, "\(rows) rows, \(threads) threads")
    }
    var one = try scorer(family, rows: 100)
    for (prompt, scores) in zip(prompts, expected) { #expect(try one.score([prompt])[0].get() == scores) }
    #expect(try one.score(prompts.reversed()).map { try $0.get() } == expected.reversed())
    let (configuration, weights) = try makePackedModel(family)
    var session = Session(configuration, weights: weights, adapter: .none(for: weights), on: Compute(threads: 2))
    let choices = try #require(ChoiceSet(labels))
    for (prompt, scores) in zip(prompts, expected) {
      session.rewind()
      try session.append(prompt)
      #expect(try session.score(choices) == scores)
    }
  }

  @Test("an adapter's products on Dibit's own kernels do not depend on the batch either")
  func adapters() throws {
    let (configuration, weights) = try makePackedModel("llama")
    var rank = AdapterConfiguration()
    rank.rank = 4
    func adapter(_ seed: UInt64) -> LoadedAdapter {
      var adapter = Adapter(rank, for: weights)
      var rng = SplitMix64(seed: seed)
      adapter.initialize(using: &rng)
      for entry in 0..<adapter.count {
        for row in 0..<adapter.b[entry].rows {
          for column in 0..<adapter.b[entry].columns { adapter.b[entry][row, column] = rng.uniform(bound: 0.5) }
        }
      }
      return LoadedAdapter(adapter)
    }
    let prompts = makePrompts()
    let set = try #require(ChoiceSet(labels))
    func scorer(rows: Int, threads: Int, _ adapter: LoadedAdapter?) -> BatchScorer {
      BatchScorer(
        MeasuredModel(configuration, weights: weights, adapter: adapter), sets: [set], rows: rows,
        on: Compute(threads: threads, usesBLAS: false))
    }
    let (one, other) = (adapter(1), adapter(2))
    var whole = scorer(rows: 512, threads: 1, one)
    let expected = try whole.score(prompts).map { try $0.get() }
    var pieces = scorer(rows: 23, threads: 2, other)
    let others = try pieces.score(prompts).map { try $0.get() }
    #expect(others != expected)
    // What prompts begin with was computed under the other adapter.
    pieces.use(one)
    #expect(try pieces.score(prompts).map { try $0.get() } == expected)
    pieces.use(nil)
    var base = scorer(rows: 512, threads: 1, nil)
    #expect(try pieces.score(prompts).map { try $0.get() } == base.score(prompts).map { try $0.get() })
    pieces.use(other)
    #expect(try pieces.score(prompts).map { try $0.get() } == others)
  }

  @Test("one prompt's fault stops no other")
  func faults() throws {
    let long = tokens(80)
    var scorer = try scorer("llama", context: 64)
    let results = scorer.score([[1, 2], [], long, [3, 320], [-1], Array(long.prefix(61)), [1, 2]])
    #expect(try results[0].get().count == labels.count)
    #expect(results[1] == .failure(.emptyPrompt))
    #expect(results[2] == .failure(.contextFull(tokens: 83, context: 64)))
    #expect(results[3] == .failure(.unknownToken(320, vocabulary: 320)))
    #expect(results[4] == .failure(.unknownToken(-1, vocabulary: 320)))
    #expect(try results[5].get().allSatisfy(\.isFinite))
    #expect(results[6] == results[0])
    #expect(scorer.score([]).isEmpty)
    // A choice that is longer than a pass cannot be run.
    var narrow = try self.scorer("llama", rows: 2)
    #expect(narrow.score([[1, 2, 3]]) == [.failure(.contextFull(tokens: 6, context: 5))])
  }

  @Test func damagedWeights() throws {
    var checkpoint = try TinyCheckpoint.llama()
    checkpoint["model.embed_tokens.weight"].values[7 * 64] = .nan
    let scratch = Scratch()
    let model = try StoredModel.open(try checkpoint.write(to: scratch))
    var scorer = BatchScorer(
      MeasuredModel(model.configuration, weights: model.weights), sets: [try #require(ChoiceSet(labels))], on: compute)
    let results = scorer.score([[1, 2], [1, 7], [1, 3]])
    #expect(results[1] == .failure(.notFinite(position: 2)))
    #expect(try results[0].get() != results[2].get())
  }

  @Test("choices that are left out count as if they were not in the set", arguments: families)
  func exclusion(family: String) throws {
    let prompts = makePrompts(6)
    var scorer = try scorer(family, [labels, labels.enumerated().filter { ![0, 5, 6, 8].contains($0.offset) }.map(\.element)])
    let expected = try scorer.score(prompts, set: 1).map { try $0.get() }
    var results: [[Double]] = Array(repeating: [], count: prompts.count)
    var next = 0
    scorer.run {
      guard next < prompts.count else { return nil }
      next += 1
      return .init(prompts[next - 1], excluding: [0, 5, 6, 8])
    } receive: { index, result in
      results[index] = (try? result.get()) ?? []
      return .end
    }
    for (scores, kept) in zip(results, expected) {
      #expect([0, 5, 6, 8].allSatisfy { scores[$0] == -.infinity })
      #expect(scores.filter(\.isFinite) == kept)
    }
  }

  @Test("queries that go on behind a text equal those of the longer text", arguments: families)
  func goingOn(family: String) throws {
    let prompts = makePrompts(12)
    let endings: [[Int32]] = [[30, 31], [30, 32, 33], [34]]
    var scorer = try scorer(family, [labels, endings], rows: 48)
    var found = [[[Double]]](repeating: [], count: prompts.count)
    var next = 0
    scorer.run(growth: 5) {
      guard next < prompts.count else { return nil }
      next += 1
      return .init(prompts[next - 1])
    } receive: { index, result in
      found[index].append((try? result.get()) ?? [])
      switch found[index].count {
      case 1: return .query(.init([40, 41, 42], set: 1))
      case 2 where index % 2 == 0: return .query(.init([43, 44], excluding: [1]))
      default: return .end
      }
    }
    for (index, prompt) in prompts.enumerated() {
      #expect(found[index].count == (index % 2 == 0 ? 3 : 2))
      #expect(try scorer.score([prompt])[0].get() == found[index][0])
      #expect(try scorer.score([prompt + [40, 41, 42]], set: 1)[0].get() == found[index][1])
    }
    // More than the text was given room for.
    var results: [Result<[Double], InferenceError>] = []
    var given = false
    scorer.run(growth: 1) {
      defer { given = true }
      return given ? nil : .init([1, 2, 3])
    } receive: {
      results.append($1)
      return results.count == 1 ? .query(.init([4, 5], set: 1)) : .end
    }
    #expect(results.count == 2)
    #expect(results[1] == .failure(.contextFull(tokens: 6, context: 4)))
  }

  @Test func stopping() throws {
    var scorer = try scorer("llama", rows: 16)
    var (given, received) = (0, 0)
    scorer.run {
      given += 1
      return .init([1, 2, Int32(given % 300)])
    } receive: { _, _ in
      received += 1
      return received == 10 ? .stop : .end
    }
    #expect(received == 10)
    // So does a fault, which leaves no text's slot taken.
    for _ in 0..<50 {
      var given = 0
      scorer.run {
        given += 1
        return .init(given < 3 ? tokens(300) : [])
      } receive: { _, result in
        result == .failure(.emptyPrompt) ? .stop : .end
      }
    }
    // The scorer is as good as new.
    var fresh = try self.scorer("llama")
    #expect(try scorer.score([[1, 2, 3]])[0].get() == fresh.score([[1, 2, 3]])[0].get())
  }

  @Test("what is run and what is not")
  func statistics() throws {
    let prompts = makePrompts(10)
    let total = prompts.reduce(0) { $0 + $1.count }
    var single = try scorer("llama", [[[10, 2], [11, 2], [12, 2]], labels], rows: 50)
    _ = single.score(prompts)
    #expect(single.statistics.promptTokens == total)
    #expect(single.statistics.promptRows == total - 7 * prompts.count)
    #expect(single.statistics.choiceRows == 0)
    #expect(single.statistics.passes == (total - 7 * prompts.count + 49) / 50)
    _ = single.score(prompts, set: 1)
    // [10 11], [15], [17 18 19]: nothing behind them is in doubt.
    #expect(single.statistics.choiceRows == 6 * prompts.count)
    #expect(single.sets[1].rows == 6)
    #expect(single.sets[1].longestPath == 3)
  }

  @Test("scoring allocates no Buffer once it has run")
  func allocations() throws {
    var scorer = try scorer("llama", rows: 48)
    let prompts = makePrompts(10)
    _ = scorer.score(prompts)
    for _ in 0..<20 {
      let before = bufferAllocationCount()
      _ = scorer.score(prompts)
      #expect(bufferAllocationCount() == before)
    }
  }
}

@Suite struct TextEmbedderTests {
  /// The final hidden states of a text that runs alone.
  private func hidden(_ family: String, _ tokens: [Int32]) throws -> [[Float]] {
    let (configuration, weights) = try makePackedModel(family)
    let compute = Compute(threads: 1)
    let decoder = Decoder(configuration, weights: weights)
    var runner = ModelRunner(
      decoder, ModelRunner.Limits(rows: tokens.count, segments: 1), precision: compute.keysAndValues, on: compute)
    runner.append(tokens.span, start: 0)
    decoder.forward(&runner)
    return (0..<tokens.count).map { row in (0..<configuration.hiddenSize).map { runner.hidden[row, $0] } }
  }

  @Test(arguments: ["llama", "afm7"], Pooling.allCases)
  func pooling(family: String, pooling: Pooling) throws {
    let (configuration, weights) = try makePackedModel(family)
    let texts = makePrompts(9)
    var expected: [[Float]] = []
    for text in texts {
      let rows = try hidden(family, text)
      expected.append(
        pooling == .last
          ? rows[rows.count - 1]
          : rows[0].indices.map { column in Float(rows.reduce(0.0) { $0 + Double($1[column]) } / Double(rows.count)) })
    }
    for rows in [5, 64, 512] {
      var embedder = TextEmbedder(
        MeasuredModel(configuration, weights: weights), pooling: pooling, rows: rows, on: Compute(threads: 2))
      #expect(embedder.size == configuration.hiddenSize)
      #expect(try embedder.embed(texts).map { try $0.get() } == expected, "\(rows) rows")
    }
  }

  @Test("a text without an embedding is told for itself, the others have theirs")
  func faults() throws {
    let (configuration, weights) = try makePackedModel("llama")
    var embedder = TextEmbedder(MeasuredModel(configuration, weights: weights), context: 20, on: compute)
    let long = tokens(50)
    let results = embedder.embed([[], [1], [400], long, Array(long.prefix(20))])
    #expect(results[0] == .failure(.emptyText))
    #expect(try results[1].get().count == 64)
    #expect(results[2] == .failure(.unknownToken(400, vocabulary: 320)))
    #expect(results[3] == results[4])
    #expect(embedder.embed([]).isEmpty)
  }
}

@Suite struct GatheredRowsTests {
  @Test("a head of some rows gives the same logits bit by bit", arguments: ["llama", "afm7"])
  func logits(family: String) throws {
    let (configuration, weights) = try makePackedModel(family)
    let indices = [319, 0, 17, 16, 15, 200, 17, 31, 32, 33, 64, 5, 6, 7, 8, 9, 10, 255]
    var rng = SplitMix64(seed: 9)
    var hidden = Matrix(rows: 11, columns: configuration.hiddenSize)
    for row in 0..<11 { for column in 0..<hidden.columns { hidden[row, column] = rng.uniform(bound: 2) } }
    let weight = weights.output.weight
    #expect(weight.format != .f32)
    var all = Matrix(rows: 11, columns: weight.rows)
    Linear.forward(hidden, weight: weight, into: &all, on: compute)
    let some = weight.gatheringRows(indices)
    #expect(some.format == weight.format)
    var few = Matrix(rows: 11, columns: indices.count)
    Linear.forward(hidden, weight: some, into: &few, on: compute)
    for row in 0..<11 { for (column, index) in indices.enumerated() { #expect(few[row, column] == all[row, index]) } }
  }

  @Test func floats() {
    let weight = Weight(rows: 3, columns: 2, values: [1, 2, 3, 4, 5, 6])
    #expect(Array(copying: weight.gatheringRows([2, 0, 2]).values) == [5, 6, 1, 2, 5, 6])
  }
}
