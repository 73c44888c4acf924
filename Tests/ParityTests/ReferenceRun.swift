import BasicContainers
import DibitCheckpoint
import DibitKernels
import DibitModel
import DibitModelStore
import DibitTensor
import Testing

/// One family's reference checkpoint, its inputs, and the passes that tests compare with it.
struct ReferenceRun: ~Copyable {
  let compute: Compute
  let reference: Checkpoint
  let decoder: Decoder
  let adapter: Adapter
  var gradients: Gradients
  var logits: Matrix
  let sequences: Int
  let columns: Int
  private let tokens: [Int32]
  private let labels: [Int32]
  private var state: DecoderState
  private var cache: KeyValueCache
  private var segments: Segments

  init(
    _ family: String, compute: Compute, adapter usesAdapter: Bool = false, configuration given: AdapterConfiguration? = nil,
    recording: Recording = .all
  ) throws {
    let path = ParityTests.folder + "/" + family
    let source = try ModelSource.open(path)
    let (configuration, weights) = (source.configuration, try source.weights())
    let reference = try Checkpoint.open(path + "/reference.safetensors")
    let ids = try #require(reference.info("input_ids"))
    let tokens = try reference.readVector("input_ids").map { Int32($0) }
    let labels = try reference.readVector("labels").map { Int32($0) }
    let adapter = try Self.makeAdapter(usesAdapter ? path + "/peft" : nil, given, weights)
    self.compute = compute
    self.reference = reference
    (self.tokens, self.labels) = (tokens, labels)
    (sequences, columns) = (ids.shape[0], ids.shape[1])
    decoder = Decoder(configuration, weights: weights)
    let rows = tokens.count
    let (rank, adapterConfiguration) = (adapter.configuration.rank, adapter.configuration)
    self.adapter = adapter
    gradients = Gradients(weights, adapter: rank > 0 ? adapterConfiguration : nil, includesWeights: true)
    logits = Matrix(rows: rows, columns: configuration.vocabularySize)
    state = DecoderState(configuration, capacity: rows, rank: rank, recording: recording)
    cache = KeyValueCache(configuration, weights: weights, capacity: rows, forTraining: true)
    segments = Segments(capacity: sequences)
    for sequence in 0..<sequences { segments.append(rows: columns, start: sequence * columns) }
  }

  private static func makeAdapter(_ path: String?, _ given: AdapterConfiguration?, _ weights: DecoderWeights) throws -> Adapter {
    if let path { return try StoredAdapter.readPEFT(path, weights: weights, on: Compute(threads: 1)) }
    guard let given else { return .none(for: weights) }
    var fresh = Adapter(given, for: weights)
    var rng = SplitMix64(seed: 1)
    fresh.initialize(using: &rng)
    return fresh
  }

  mutating func forward() {
    let tokens = tokens
    decoder.forward(tokens.span, segments: segments, cache: &cache, adapter: adapter, state: &state, on: compute)
    decoder.logits(state.hidden, into: &logits, on: compute)
  }

  /// The mean loss over labelled positions, shifted by one; fills ``gradients``.
  mutating func backward(includesWeights: Bool) -> Double {
    var targets = [Int32](repeating: -1, count: tokens.count)
    for sequence in 0..<sequences {
      for column in 0..<columns - 1 { targets[sequence * columns + column] = labels[sequence * columns + column + 1] }
    }
    let labelled = targets.reduce(0) { $0 + ($1 >= 0 ? 1 : 0) }
    let weights = [Float](repeating: 1 / Float(labelled), count: targets.count)
    gradients.clear()
    let tokens = tokens
    decoder.forward(tokens.span, segments: segments, cache: &cache, adapter: adapter, state: &state, on: compute)
    var d = BackwardState(decoder.configuration, capacity: tokens.count, rank: adapter.configuration.rank)
    var head = LossHead(decoder.configuration, chunk: 16)
    let loss = head.forwardBackward(
      decoder, hidden: state.hidden, targets: targets.span, weights: weights.span, dHidden: &d.dHidden, gradients: &gradients, on: compute)
    decoder.backward(segments: segments, cache: &cache, adapter: adapter, state: &state, d: &d, gradients: &gradients, on: compute)
    return loss
  }

  /// The logits of one sequence, decoded a token at a time with a cache for decoding; the first `prefix` tokens lie in rows apart.
  func decodeStepwise(row: Int, prefix: Int = 0, precision: KeyValuePrecision = .float32) -> [Float] {
    let configuration = decoder.configuration
    var state = DecoderState(configuration, capacity: max(1, prefix), rank: adapter.configuration.rank, recording: .none)
    var cache = KeyValueCache(configuration, weights: decoder.weights, capacity: columns + 3, forTraining: false, precision: precision)
    var logits = Matrix(rows: max(1, prefix), columns: configuration.vocabularySize)
    var segments = Segments(capacity: 1)
    var values: [Float] = []
    var first = 0
    while first < columns {
      let count = first == 0 ? max(1, prefix) : 1
      segments.removeAll()
      if prefix == 0 || first == 0 {
        segments.append(rows: count, start: 0, past: first)
      } else {
        segments.append(rows: 1, start: prefix + 3, past: first - prefix, prefix: 0..<prefix)
      }
      let start = row * columns + first
      decoder.forward(
        Array(tokens[start..<start + count]).span, segments: segments, cache: &cache, adapter: adapter, state: &state, on: compute)
      logits.setRows(count)
      decoder.logits(state.hidden, into: &logits, on: compute)
      values += logits.values
      first += count
    }
    return values
  }

  /// The logits of some rows of all sequences, through a pass that is asked for no others; `fork` first moves the first half of each
  /// sequence to another cache and goes on there.
  func selectedLogits(_ wanted: HiddenRows, rows: [Int], precision: KeyValuePrecision = .float32, fork: Bool = false) -> [Float] {
    let configuration = decoder.configuration
    var state = DecoderState(configuration, capacity: tokens.count, rank: adapter.configuration.rank, recording: .none)
    var cache = KeyValueCache(configuration, weights: decoder.weights, capacity: tokens.count, forTraining: false, precision: precision)
    if fork {
      var first = KeyValueCache(configuration, weights: decoder.weights, capacity: tokens.count, forTraining: false, precision: precision)
      decoder.forward(tokens.span, segments: segments, cache: &first, adapter: adapter, state: &state, wanted: .rows([]), on: compute)
      cache.copyRows(from: first, count: tokens.count)
      var later = Segments(capacity: sequences)
      var ids: [Int32] = []
      for sequence in 0..<sequences {
        let half = columns / 2
        later.append(rows: columns - half, start: sequence * columns, past: half)
        ids += tokens[sequence * columns + half..<(sequence + 1) * columns]
      }
      decoder.forward(ids.span, segments: later, cache: &cache, adapter: adapter, state: &state, wanted: wanted, on: compute)
    } else {
      decoder.forward(tokens.span, segments: segments, cache: &cache, adapter: adapter, state: &state, wanted: wanted, on: compute)
    }
    var logits = Matrix(rows: rows.count, columns: configuration.vocabularySize)
    decoder.logits(state.hidden, into: &logits, on: compute)
    return logits.values
  }

  func scalar(_ name: String) -> Float { (try? reference.readVector(name).first) ?? .nan }

  func relativeError(of found: [Float], _ name: String) -> Double {
    guard let expected = try? reference.readVector(name) else {
      Issue.record("the reference has no '\(name)'")
      return .infinity
    }
    return worstRelativeError(found, expected)
  }
}
