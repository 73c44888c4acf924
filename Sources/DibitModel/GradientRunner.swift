package import DibitKernels
internal import DibitTensor

/// Runs batches of whole sequences forward, to what an objective says of them, and backward. Everything is allocated when it is made.
package struct GradientRunner: ~Copyable {
  /// The forward pass.
  package var runner: ModelRunner
  /// The gradients.
  package var backward: BackwardState
  private var head: LossHead
  private let objective: Objective

  /// A runner of batches of up to `rows` rows in `sequences` sequences, that trains what `list` says; `adapter` is the shape of an adapter
  /// among it. `chunk` rows of logits exist at a time.
  package init(
    _ decoder: borrowing Decoder, rows: Int, sequences: Int, adapter: AdapterConfiguration?, training list: TrainableList,
    objective: Objective = .crossEntropy, recording: Recording = .all, chunk: Int? = nil, on compute: Compute
  ) {
    runner = ModelRunner(
      decoder, ModelRunner.Limits(rows: rows, segments: sequences), adapter: adapter, recording: recording, on: compute)
    backward = BackwardState(decoder, rows: rows, adapter: adapter, training: list)
    head = LossHead(decoder.configuration, chunk: chunk)
    self.objective = objective
  }

  /// Bytes of the loss.
  package var lossByteCount: Int { head.byteCount }

  /// Runs sequences of `lengths` tokens, one after the other in `tokens`, forward. The adapter is only lent.
  package mutating func forward(
    _ tokens: Span<Int32>, lengths: [Int], _ decoder: borrowing Decoder, adapter: inout Adapter, dropout: DropoutStep? = nil
  ) {
    runner.removeAll()
    var start = 0
    for length in lengths {
      runner.append(tokens.extracting(start..<start + length), start: start)
      start += length
    }
    runner.setDropout(dropout)
    runner.exchange(&adapter)
    decoder.forward(&runner, through: objective.layers)
    runner.exchange(&adapter)
    objective.teacher?.run(tokens, lengths: lengths)
  }

  /// The sum of `weight[i] · loss[i]` over the rows of the last forward pass whose target is not negative; `body` is told each one's loss.
  package mutating func loss(
    targets: Span<Int32>, weights: Span<Float>, _ decoder: borrowing Decoder,
    eachRow body: (_ row: Int, _ loss: Float) -> Void = { _, _ in }
  ) -> Double {
    if case .squaredError(let teacher, let layers) = objective {
      backward.setRows(runner.rows)
      return squaredError(teacher, layers, targets, weights, total: 1, body)
    }
    return head.forward(
      decoder, hidden: runner.hidden, targets: targets, weights: weights, objective: objective, on: runner.compute, eachRow: body)
  }

  /// As ``loss(targets:weights:_:eachRow:)`` with weights divided by `total`, and begins the backward pass with the gradient of that sum.
  package mutating func beginBackward(
    targets: Span<Int32>, weights: Span<Float>, total: Float = 1, _ decoder: borrowing Decoder,
    eachRow body: (_ row: Int, _ loss: Float) -> Void = { _, _ in }
  ) -> Double {
    backward.setRows(runner.rows)
    if case .squaredError(let teacher, let layers) = objective {
      return squaredError(teacher, layers, targets, weights, total: total, body)
    }
    return head.forwardBackward(
      decoder, hidden: runner.hidden, targets: targets, weights: weights, objective: objective, total: total,
      dHidden: &backward.dHidden, gradients: &backward.work.gradients, on: runner.compute, eachRow: body)
  }

  /// Adds the gradients of the last batch to those of ``BackwardState/work``.
  package mutating func endBackward(_ decoder: borrowing Decoder, adapter: inout Adapter) {
    runner.exchange(&adapter)
    if let layers = objective.layers {
      decoder.backward(&runner, layers: 0..<layers, &backward)
      decoder.endBackward(runner, &backward)
    } else {
      decoder.backward(&runner, &backward)
    }
    runner.exchange(&adapter)
  }

  /// `Σ weight / total · Σ (x - t)² / C` of the residual stream `x`, whose gradient goes to ``BackwardState/dStream``.
  private mutating func squaredError(
    _ teacher: any Teacher, _ layers: Int, _ targets: Span<Int32>, _ weights: Span<Float>, total: Float,
    _ body: (_ row: Int, _ loss: Float) -> Void
  ) -> Double {
    let columns = runner.stream.columns
    var sum = 0.0
    backward.dStream.fill(0)
    for row in targets.indices where targets[row] >= 0 {
      teacher.copyStream(behind: layers, row: row, to: row, of: &backward.dStream)
      let weight = weights[row] / total
      var loss: Float = 0
      for column in 0..<columns {
        let difference = runner.stream[row, column] - backward.dStream[row, column]
        loss += difference * difference / Float(columns)
        backward.dStream[row, column] = 2 * weight * difference / Float(columns)
      }
      sum += Double(loss * weight)
      body(row, loss)
    }
    return sum
  }
}
