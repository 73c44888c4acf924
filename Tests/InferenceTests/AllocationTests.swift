import CAllocationCount
import DibitConstraint
import DibitInference
import DibitKernels
import DibitModel
import DibitModelStore
import DibitTensor
import DibitTestSupport
import DibitTokenizer
import Testing

/// A decoded token takes no memory from the heap: neither from the pool of threads, nor for a pass, a choice or a constraint's mask.
///
/// Allocations are counted for the thread of the caller, which runs tasks of every loop; with one thread, all of them.
@Suite struct AllocationTests {
  /// Unoptimised Swift puts captured variables and temporaries on the heap.
  static var counts: Bool {
    #if DEBUG
      false
    #else
      allocation_count_of_thread() >= 0
    #endif
  }

  private func session(_ family: String, threads: Int, rank: Int = 0, precision: KeyValuePrecision = .int8) throws -> Session {
    let (configuration, weights) = try makePackedModel(family)
    var adapter = AdapterConfiguration()
    adapter.rank = rank
    var matrices = Adapter(adapter, for: weights)
    var rng = SplitMix64(seed: 1)
    matrices.initialize(using: &rng)
    return Session(configuration, weights: weights, adapter: matrices, precision: precision, on: Compute(threads: threads))
  }

  /// What `body` allocates, called with each of `steps` numbers, after some calls that are not counted.
  private func allocations(warmUp: Int = 40, steps: Int = 40, _ body: (Int) throws -> Void) rethrows -> Int {
    for step in 0..<warmUp { try body(step) }
    let before = allocation_count_of_thread()
    for step in warmUp..<warmUp + steps { try body(step) }
    return allocation_count_of_thread() - before
  }

  @Test("the counter counts", .enabled(if: allocation_count_of_thread() >= 0))
  func counting() {
    var kept: [[Int]] = []
    kept.reserveCapacity(8)
    let before = (thread: allocation_count_of_thread(), process: allocation_count_of_process())
    for size in 1...8 { kept.append([Int](repeating: size, count: size)) }
    #expect(allocation_count_of_thread() - before.thread >= 8)
    #expect(allocation_count_of_process() - before.process >= 8)
    let buffers = allocation_count_of_thread()
    _ = Buffer<Float>(count: kept.count)
    #expect(allocation_count_of_thread() - buffers >= 1, "aligned memory is counted too")
  }

  struct Case: CustomTestStringConvertible, Sendable {
    var family: String
    var threads: Int
    var rank = 0
    var precision = KeyValuePrecision.int8
    var testDescription: String { "\(family), \(threads) threads, rank \(rank), \(precision)" }
  }

  static let cases: [Case] = ["llama", "afm7"].flatMap { family in
    [1, 2].flatMap { threads in
      [0, 4].flatMap { rank in
        KeyValuePrecision.allCases.map { Case(family: family, threads: threads, rank: rank, precision: $0) }
      }
    }
  }

  @Test("greedy decoding", .enabled(if: counts), arguments: cases)
  func greedy(_ one: Case) throws {
    var session = try session(one.family, threads: one.threads, rank: one.rank, precision: one.precision)
    var sampler = Sampler(SamplingOptions())
    try session.append([1, 2, 3])
    let made = try allocations { _ in
      let id = try session.withLastLogits { logits throws(InferenceError) in try sampler.next(logits) }
      sampler.record(id)
      try session.append(id)
    }
    #expect(made == 0)
    #expect(session.count == 83)
  }

  @Test(
    "sampling", .enabled(if: counts), arguments: [1, 1.3] as [Float], [(0, 1, 0), (40, 1, 0), (0, 0.9, 0), (0, 1, 0.05), (40, 0.9, 0.05)])
  func sampling(penalty: Float, _ kept: (topK: Int, topP: Float, minP: Float)) throws {
    var session = try session("llama", threads: 2)
    var options = SamplingOptions()
    (options.temperature, options.repetitionPenalty, options.seed) = (1, penalty, 5)
    (options.topK, options.topP, options.minP) = kept
    var sampler = Sampler(options)
    try session.append([1, 2, 3])
    let made = try allocations(warmUp: 70) { _ in
      let id = try session.withLastLogits { logits throws(InferenceError) in try sampler.next(logits) }
      sampler.record(id)
      try session.append(id)
    }
    #expect(made == 0)
  }

  @Test("a mask of a state that was met before", .enabled(if: counts))
  func constrained() throws {
    let model = try makeModel("llama")
    let guide = try TokenConstraint(
      Constraint(schema: #"{"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}"#),
      vocabulary: TokenVocabulary(model.tokenizer, endTokens: []))
    var state = guide.start()
    var mask = TokenMask(count: guide.vocabulary.count)
    var session = try session("llama", threads: 2)
    var options = SamplingOptions()
    (options.temperature, options.seed) = (1, 5)
    var sampler = Sampler(options)
    for id in model.tokenizer.encode(#"{"a":""#, addingSpecialTokens: false) { state.advance(id) }
    try session.append([1, 2, 3])
    // In a string: tokens that end it are not taken, so that it goes on.
    let letters = (0..<Int32(guide.vocabulary.count)).filter { id in
      let bytes = guide.vocabulary.bytes(of: id)
      return !bytes.isEmpty && bytes.allSatisfy { $0 >= 0x61 && $0 <= 0x7A }
    }
    var steps = 0
    let made = try allocations(warmUp: 100) { step in
      state.mask(into: &mask, remaining: 1000)
      let allowed = mask.words.span
      let id = try session.withLastLogits { logits throws(InferenceError) in try sampler.next(logits, allowed: allowed) }
      let next = mask[id] && letters.contains(id) ? id : letters[step % letters.count]
      if state.advance(next) { steps += 1 }
      try session.append(next)
    }
    #expect(made == 0)
    #expect(steps == 140)
  }
}
