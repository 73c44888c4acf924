internal import DibitKernels
internal import DibitModel
internal import DibitTensor

/// One forward and backward pass over a batch; everything is allocated when the engine is made.
struct StepEngine: ~Copyable {
  private var state: DecoderState
  private var backward: BackwardState
  private var cache: KeyValueCache
  private var head: LossHead
  private var segments: Segments
  private let compute: Compute

  /// An engine for batches of up to `rows` tokens in `sequences` sequences.
  init(
    _ decoder: borrowing Decoder, rows: Int, sequences: Int, rank: Int, trainsWeights: Bool = false, savesOutputs: Bool = false,
    recording: Recording = .all, on compute: Compute
  ) {
    let configuration = decoder.configuration
    state = DecoderState(configuration, capacity: rows, rank: rank, recording: recording, savesOutputs: savesOutputs)
    backward = BackwardState(configuration, capacity: rows, rank: rank, includesWeights: trainsWeights, savesOutputs: savesOutputs)
    cache = KeyValueCache(configuration, weights: decoder.weights, capacity: rows, forTraining: true)
    head = LossHead(configuration)
    segments = Segments(capacity: sequences)
    self.compute = compute
  }

  /// Adds the gradients of the batch's share of a step's loss, the sum of `weight · loss / total` over its labelled rows; returns that sum
  /// in nats per token, and adds each row's loss to `losses`. `total` is the weight of all batches of the step.
  mutating func accumulate(
    _ batch: Batch, _ decoder: borrowing Decoder, adapter: borrowing Adapter, total: Float, into gradients: inout Gradients,
    losses: inout LossSums
  ) -> Float {
    let begin = ContinuousClock.now
    run(batch, decoder, adapter)
    compute.profiler?.record(.forward, since: begin, rows: batch.tokens.count)
    backward.setRows(batch.tokens.count)
    let middle = ContinuousClock.now
    let loss = head.forwardBackward(
      decoder, hidden: state.hidden, targets: batch.targets.span, weights: batch.weights.span, total: total, dHidden: &backward.dHidden,
      gradients: &gradients, on: compute
    ) { row, loss in losses.add(loss, isContent: batch.isContent[row]) }
    compute.profiler?.record(.loss, since: middle, rows: batch.labelled)
    let last = ContinuousClock.now
    decoder.backward(segments: segments, cache: &cache, adapter: adapter, state: &state, d: &backward, gradients: &gradients, on: compute)
    compute.profiler?.record(.backward, since: last, rows: batch.tokens.count)
    return Float(loss)
  }

  /// The summed losses of the labelled rows and of those that are content, with their numbers.
  mutating func evaluate(_ batch: Batch, _ decoder: borrowing Decoder, adapter: borrowing Adapter) -> LossSums {
    run(batch, decoder, adapter)
    let weights = [Float](repeating: 1, count: batch.tokens.count)
    var sums = LossSums()
    _ = head.forward(decoder, hidden: state.hidden, targets: batch.targets.span, weights: weights.span, on: compute) { row, loss in
      sums.add(loss, isContent: batch.isContent[row])
    }
    return sums
  }

  /// The largest key and value magnitudes of `layer` in the last pass.
  func largestMagnitudes(layer: Int) -> (key: Float, value: Float) { cache.largestMagnitudes(layer: layer, rows: segments.cacheRows) }

  private mutating func run(_ batch: Batch, _ decoder: borrowing Decoder, _ adapter: borrowing Adapter) {
    segments.removeAll()
    var start = 0
    for length in batch.lengths {
      segments.append(rows: length, start: start)
      start += length
    }
    decoder.forward(batch.tokens.span, segments: segments, cache: &cache, adapter: adapter, state: &state, on: compute)
  }
}

/// Losses in nats, added up.
struct LossSums {
  private(set) var loss = 0.0
  private(set) var content = 0.0
  private var count = 0
  private var contentCount = 0

  mutating func add(_ value: Float, isContent: Bool) {
    loss += Double(value)
    count += 1
    guard isContent else { return }
    content += Double(value)
    contentCount += 1
  }

  mutating func add(_ other: LossSums) {
    loss += other.loss
    content += other.content
    count += other.count
    contentCount += other.contentCount
  }

  var mean: Float { Float(loss / Double(max(count, 1))) }
  var contentMean: Float { Float(content / Double(max(contentCount, 1))) }
}
