import BasicContainers
import DibitInference
import DibitKernels
import DibitModel
import DibitModelStore
import DibitTensor
import DibitTokenizer
import Testing

@Suite struct AdapterSwitchTests {
  /// An adapter whose B is not zero.
  private func adapter(_ model: StoredModel, rank: Int, seed: UInt64) -> LoadedAdapter {
    var configuration = AdapterConfiguration()
    configuration.rank = rank
    var adapter = Adapter(configuration, for: model.weights)
    var rng = SplitMix64(seed: seed)
    adapter.initialize(using: &rng)
    for entry in 0..<adapter.count {
      for row in 0..<adapter.b[entry].rows {
        for column in 0..<adapter.b[entry].columns { adapter.b[entry][row, column] = rng.uniform(bound: 0.5) }
      }
    }
    return LoadedAdapter(adapter)
  }

  private func generate(_ session: inout Session, _ model: StoredModel) throws -> [Int32] {
    var options = GenerationOptions()
    (options.maximumTokens, options.sampling.temperature, options.sampling.seed) = (20, 1, 4)
    return try session.generate(model.tokenizer.encode("the goal"), tokenizer: model.tokenizer, options: options).tokens
  }

  @Test("switching gives the same tokens as sessions of their own", arguments: ["llama", "afm7"])
  func switching(family: String) throws {
    let model = try makeModel(family)
    // Ranks that differ, and one twice.
    let adapters = [adapter(model, rank: 4, seed: 1), adapter(model, rank: 8, seed: 2), adapter(model, rank: 4, seed: 3)]
    var alone: [[Int32]] = []
    for one in adapters {
      var session = makeSession(model)
      session.use(one)
      alone.append(try generate(&session, model))
    }
    var base = makeSession(model)
    let plain = try generate(&base, model)
    #expect(Set(alone + [plain]).count == 4)

    var session = makeSession(model)
    for index in [0, 2, 1, 0, 2] {
      session.use(adapters[index])
      #expect(session.count == 0)
      #expect(try generate(&session, model) == alone[index])
      session.use(nil)
      #expect(session.count == 0)
      #expect(try generate(&session, model) == plain)
    }
  }

  @Test("an adapter of one session may be another's too, and equals one that is handed over")
  func sharing() throws {
    let model = try makeModel("llama")
    let shared = adapter(model, rank: 4, seed: 1)
    var (first, second) = ([Int32](), [Int32]())
    do {
      var session = makeSession(model)
      session.use(shared)
      first = try generate(&session, model)
      var other = makeSession(model)
      other.use(shared)
      second = try generate(&other, model)
    }
    #expect(first == second)
    let choices = try #require(ChoiceSet([[1, 2, 9], [1, 3, 9], [4, 9]]))
    var session = makeSession(model)
    session.use(shared)
    try session.append(tokens(30))
    var configuration = AdapterConfiguration()
    configuration.rank = 4
    var own = Adapter(configuration, for: model.weights)
    for entry in 0..<own.count {
      own.a[entry].copy(shared.adapter.a[entry])
      own.b[entry].copy(shared.adapter.b[entry])
    }
    var owning = Session(model.configuration, weights: model.weights, adapter: own, precision: .float32, on: compute)
    try owning.append(tokens(30))
    #expect(session.lastLogits == owning.lastLogits)
    #expect(try session.score(choices) == owning.score(choices))
    #expect(try session.logProbabilities(of: [3, 4]) == owning.logProbabilities(of: [3, 4]))
  }

  @Test("keys and values stay while the adapter stays")
  func keeping() throws {
    let model = try makeModel("llama")
    let one = adapter(model, rank: 4, seed: 1)
    var session = makeSession(model)
    try session.append([1, 2])
    session.use(nil)
    #expect(session.count == 2)
    session.use(one)
    #expect(session.count == 0)
    try session.append([1, 2, 3])
    session.use(one)
    #expect(session.count == 3)
    session.use(nil)
    #expect(session.count == 0)
  }

  @Test("switching between adapters of one rank allocates no Buffer")
  func allocations() throws {
    let model = try makeModel("llama")
    let (one, other) = (adapter(model, rank: 4, seed: 1), adapter(model, rank: 4, seed: 2))
    var session = makeSession(model)
    session.use(one)
    for _ in 0..<20 {
      let before = bufferAllocationCount()
      session.use(other)
      session.use(one)
      #expect(bufferAllocationCount() == before)
    }
  }
}
