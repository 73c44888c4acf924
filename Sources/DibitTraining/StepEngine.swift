internal import DibitKernels
internal import DibitModel
internal import DibitTensor

/// Forward and backward passes over batches, measured; everything is allocated when the engine is made.
struct StepEngine: ~Copyable {
  private var passes: GradientRunner
  private let ones: [Float]  // a weight for each row of a batch

  /// An engine for batches of up to `rows` tokens in `sequences` sequences, that trains what `list` says; `adapter` is the shape of an
  /// adapter among it.
  init(
    _ decoder: borrowing Decoder, rows: Int, sequences: Int, adapter: AdapterConfiguration?, training list: TrainableList,
    objective: Objective = .crossEntropy, recording: Recording = .all, on compute: Compute
  ) {
    passes = GradientRunner(
      decoder, rows: rows, sequences: sequences, adapter: adapter, training: list, objective: objective, recording: recording, on: compute)
    ones = [Float](repeating: 1, count: rows)
  }

  /// Begins a step: sets all gradients to zero.
  mutating func clearGradients() { passes.backward.work.gradients.clear() }

  /// Calls `body` with the gradients of the step so far.
  func withGradients<Result>(_ body: (borrowing TrainableTensors) -> Result) -> Result { body(passes.backward.work.gradients) }

  /// Calls `body` with the gradients of the step so far, for writing.
  mutating func updateGradients(_ body: (inout TrainableTensors) -> Void) { body(&passes.backward.work.gradients) }

  /// Adds the gradients of the batch's share of a step's loss, the sum of `weight · loss / total` over its labelled rows; returns that sum,
  /// and adds each row's loss to `losses`. `total` is the weight of all batches of the step.
  mutating func accumulate(
    _ batch: Batch, _ decoder: borrowing Decoder, adapter: inout Adapter, total: Float, dropout: DropoutStep? = nil, losses: inout LossSums
  ) -> Float {
    let profiler = passes.runner.compute.profiler
    let begin = ContinuousClock.now
    passes.forward(batch.tokens.span, lengths: batch.lengths, decoder, adapter: &adapter, dropout: dropout)
    profiler?.record(.forward, since: begin, rows: batch.tokens.count)
    let middle = ContinuousClock.now
    let loss = passes.beginBackward(targets: batch.targets.span, weights: batch.weights.span, total: total, decoder) { row, loss in
      losses.add(loss, isContent: batch.isContent[row])
    }
    profiler?.record(.loss, since: middle, rows: batch.labelled)
    let last = ContinuousClock.now
    passes.endBackward(decoder, adapter: &adapter)
    profiler?.record(.backward, since: last, rows: batch.tokens.count)
    return Float(loss)
  }

  /// The summed losses of the labelled rows and of those that are content, with their numbers.
  mutating func evaluate(_ batch: Batch, _ decoder: borrowing Decoder, adapter: inout Adapter) -> LossSums {
    passes.forward(batch.tokens.span, lengths: batch.lengths, decoder, adapter: &adapter)
    let ones = ones
    var sums = LossSums()
    _ = passes.loss(targets: batch.targets.span, weights: ones.span.extracting(first: batch.tokens.count), decoder) { row, loss in
      sums.add(loss, isContent: batch.isContent[row])
    }
    return sums
  }

  /// The largest key and value magnitudes of `layer` in the last pass.
  func largestMagnitudes(layer: Int) -> (key: Float, value: Float) { passes.runner.largestMagnitudes(layer: layer) }
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
