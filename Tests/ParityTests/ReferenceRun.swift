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
  private(set) var adapter: Adapter
  var logits: Matrix
  let sequences: Int
  let columns: Int
  private let tokens: [Int32]
  private let labels: [Int32]
  private var passes: GradientRunner

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
    let list = TrainableList(weights, adapter: adapter.layout, includesWeights: true)
    passes = GradientRunner(
      decoder, rows: rows, sequences: sequences, adapter: adapter.configuration, training: list, recording: recording, chunk: 16,
      on: compute)
    self.adapter = adapter
    logits = Matrix(rows: rows, columns: configuration.vocabularySize)
  }

  private static func makeAdapter(_ path: String?, _ given: AdapterConfiguration?, _ weights: DecoderWeights) throws -> Adapter {
    if let path { return try StoredAdapter.readPEFT(path, weights: weights, on: Compute(threads: 1)) }
    guard let given else { return .none(for: weights) }
    var fresh = Adapter(given, for: weights)
    var rng = SplitMix64(seed: 1)
    fresh.initialize(using: &rng)
    return fresh
  }

  private var lengths: [Int] { [Int](repeating: columns, count: sequences) }

  mutating func forward() {
    let tokens = tokens
    passes.forward(tokens.span, lengths: lengths, decoder, adapter: &adapter)
    decoder.logits(in: &passes.runner, into: &logits)
  }

  /// The mean loss over labelled positions, shifted by one; afterwards there are gradients.
  mutating func backward() -> Double {
    var targets = [Int32](repeating: -1, count: tokens.count)
    for sequence in 0..<sequences {
      for column in 0..<columns - 1 { targets[sequence * columns + column] = labels[sequence * columns + column + 1] }
    }
    let labelled = targets.reduce(0) { $0 + ($1 >= 0 ? 1 : 0) }
    let weights = [Float](repeating: 1 / Float(labelled), count: targets.count)
    passes.backward.work.gradients.clear()
    let tokens = tokens
    passes.forward(tokens.span, lengths: lengths, decoder, adapter: &adapter)
    let loss = passes.beginBackward(targets: targets.span, weights: weights.span, decoder)
    passes.endBackward(decoder, adapter: &adapter)
    return loss
  }

  /// The gradient of one trained tensor.
  func gradient(_ index: (TrainableList) -> Int) -> [Float] {
    passes.backward.work.gradients.values[index(passes.backward.work.gradients.list)].values
  }

  /// All gradients.
  var gradients: [[Float]] { (0..<passes.backward.work.gradients.values.count).map { index in gradient { _ in index } } }

  /// A runner of passes that nothing is trained by, over as many rows as the reference has.
  private func makeRunner(_ limits: ModelRunner.Limits, _ precision: KeyValuePrecision) -> ModelRunner {
    ModelRunner(decoder, limits, precision: precision, on: compute)
  }

  /// The logits of one sequence, decoded a token at a time with a cache for decoding; the first `prefix` tokens lie in rows apart.
  func decodeStepwise(row: Int, prefix: Int = 0, precision: KeyValuePrecision = .float32) -> [Float] {
    var runner = makeRunner(ModelRunner.Limits(rows: max(1, prefix), segments: 1, cacheRows: columns + 3), precision)
    var logits = Matrix(rows: max(1, prefix), columns: decoder.configuration.vocabularySize)
    var values: [Float] = []
    var first = 0
    while first < columns {
      let count = first == 0 ? max(1, prefix) : 1
      let start = row * columns + first
      let next = Array(tokens[start..<start + count])
      runner.removeAll()
      if prefix == 0 || first == 0 {
        runner.append(next.span, start: 0, past: first)
      } else {
        runner.append(next.span, start: prefix + 3, past: first - prefix, prefix: 0..<prefix)
      }
      decoder.forward(&runner)
      decoder.logits(in: &runner, into: &logits)
      values += logits.values
      first += count
    }
    return values
  }

  /// The logits of some rows of all sequences, through a pass that is asked for no others; `fork` first moves the first half of each
  /// sequence to other rows of the cache and goes on there.
  func selectedLogits(_ wanted: HiddenRows, rows: [Int], precision: KeyValuePrecision = .float32, fork: Bool = false) -> [Float] {
    var runner = makeRunner(ModelRunner.Limits(rows: tokens.count, segments: sequences, cacheRows: 2 * tokens.count), precision)
    for sequence in 0..<sequences {
      let start = sequence * columns
      runner.append(Array(tokens[start..<start + columns]).span, start: start)
    }
    decoder.forward(&runner, wanted: fork ? .rows([]) : wanted)
    if fork {
      runner.copyCacheRows(0..<tokens.count, to: tokens.count)
      runner.removeAll()
      for sequence in 0..<sequences {
        let (start, half) = (sequence * columns, columns / 2)
        runner.append(Array(tokens[start + half..<start + columns]).span, start: tokens.count + start, past: half)
      }
      decoder.forward(&runner, wanted: wanted)
    }
    var logits = Matrix(rows: rows.count, columns: decoder.configuration.vocabularySize)
    decoder.logits(in: &runner, into: &logits)
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
