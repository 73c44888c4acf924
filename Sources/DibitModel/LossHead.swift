internal import BasicContainers
package import DibitKernels
package import DibitTensor

/// Logits and cross-entropy of the positions that have a label, a chunk of rows at a time: the logits of a whole batch never exist.
@safe
package struct LossHead: ~Copyable, Sendable {
  private let chunk: Int
  private var rows: Matrix  // [chunk, C] hidden states of labelled positions
  private var dRows: Matrix  // [chunk, C]
  private var rounded: QuantizedRows  // what a packed head is multiplied with
  private var logits: Matrix  // [chunk, V]
  private var dLogits: BFloatRows  // [chunk, V]
  private var inputs: BFloatPairs  // [chunk, C] for the gradient of the head
  private var capped: Matrix  // [chunk, V] a copy of soft-capped logits; empty without a cap
  private var weights: Matrix  // [chunk, 1]
  private var losses: Matrix  // [chunk, 1]
  private var teacherLogits = Matrix(rows: 0, columns: 0)  // [chunk, V], from the first time that a teacher is asked
  private var targets: Buffer<Int32>
  private var positions: Buffer<Int>

  /// Bytes of the allocations.
  package var byteCount: Int {
    rows.byteCount + dRows.byteCount + rounded.byteCount + logits.byteCount + dLogits.byteCount + inputs.byteCount + capped.byteCount
  }

  /// `chunk` rows of logits at a time; by default so many that they take 32 MB, and not fewer than 128: what a head costs to expand is
  /// shared by the rows of a chunk.
  package init(_ configuration: ModelConfiguration, chunk: Int? = nil) {
    let chunk = chunk ?? min(max((1 << 23) / configuration.vocabularySize, 128), 1024)
    self.chunk = chunk
    rows = Matrix(rows: chunk, columns: configuration.hiddenSize)
    dRows = Matrix(rows: chunk, columns: configuration.hiddenSize)
    rounded = QuantizedRows(capacity: chunk, columns: configuration.hiddenSize)
    logits = Matrix(rows: chunk, columns: configuration.vocabularySize)
    dLogits = BFloatRows(capacity: chunk, columns: configuration.vocabularySize)
    inputs = BFloatPairs(capacity: chunk, columns: configuration.hiddenSize)
    capped = Matrix(rows: configuration.logitSoftCap == nil ? 0 : chunk, columns: configuration.vocabularySize)
    weights = Matrix(rows: chunk, columns: 1)
    losses = Matrix(rows: chunk, columns: 1)
    targets = Buffer(count: chunk)
    positions = Buffer(count: chunk)
  }

  /// The sum of `weight[i] · loss[i]` in nats over the rows whose target is not negative: the loss of the target, or the divergence from
  /// the teacher of `objective`.
  ///
  /// `hidden: [n, C]`, `targets` and `weights` have `n` entries; `body` is told each labelled row's own loss.
  package mutating func forward(
    _ decoder: borrowing Decoder, hidden: borrowing Matrix, targets all: Span<Int32>, weights allWeights: Span<Float>,
    objective: Objective = .crossEntropy, on compute: Compute, eachRow body: (_ row: Int, _ loss: Float) -> Void = { _, _ in }
  ) -> Double {
    var total = 0.0
    forEachChunk(hidden, all, allWeights) { head, count in
      decoder.logits(head.rows, rounded: &head.rounded, into: &head.logits, on: compute)
      if let teacher = objective.teacher {
        head.ask(teacher, count)
        head.mixTargets(share: objective.targetShare, compute)
        Divergence.forward(&head.logits, from: head.teacherLogits, losses: &head.losses, on: compute)
      } else {
        Self.loss(&head.logits, head.targets, &head.losses, compute)
      }
      for i in 0..<count {
        total += Double(head.losses[i, 0] * head.weights[i, 0])
        body(head.positions[i], head.losses[i, 0])
      }
    }
    return total
  }

  /// As ``forward(_:hidden:targets:weights:objective:on:eachRow:)`` with weights divided by `total`, and overwrites `dHidden: [n, C]` with the
  /// gradient of that sum; accumulates the output weight's where it is trained.
  package mutating func forwardBackward(
    _ decoder: borrowing Decoder, hidden: borrowing Matrix, targets all: Span<Int32>, weights allWeights: Span<Float>,
    objective: Objective = .crossEntropy, total weight: Float = 1, dHidden: inout Matrix, gradients: inout TrainableTensors,
    on compute: Compute,
    eachRow body: (_ row: Int, _ loss: Float) -> Void = { _, _ in }
  ) -> Double {
    var total = 0.0
    dHidden.fill(0)
    forEachChunk(hidden, all, allWeights, total: weight) { head, count in
      decoder.logits(head.rows, rounded: &head.rounded, into: &head.logits, on: compute)
      let cap = decoder.configuration.logitSoftCap
      if cap != nil { head.capped.copy(head.logits) }
      if let teacher = objective.teacher {
        head.ask(teacher, count)
        head.mixTargets(share: objective.targetShare, compute)
        Divergence.forwardBackward(&head.logits, from: head.teacherLogits, weights: head.weights, losses: &head.losses, on: compute)
      } else {
        Self.lossAndGradient(&head.logits, head.targets, head.weights, &head.losses, compute)
      }
      if let cap { SoftCap.backward(&head.logits, y: head.capped, cap: cap, on: compute) }
      for i in 0..<count {
        total += Double(head.losses[i, 0] * head.weights[i, 0])
        body(head.positions[i], head.losses[i, 0])
      }
      let output = decoder.weights.output
      let usesBFloat = Linear.usesBFloat(output.weight, on: compute)
      if usesBFloat {
        head.dLogits.round(head.logits, on: compute)
        Linear.backward(head.dLogits, weight: output.weight, dx: &head.dRows, accumulating: false, on: compute)
      } else {
        head.dRows.fill(0)
        Linear.backward(head.logits, weight: output.weight, dx: &head.dRows, on: compute)
      }
      for i in 0..<count { dHidden.addRow(i, of: head.dRows, to: head.positions[i], on: compute) }
      gradients.addProduct(head.logits, head.rows, pairs: &head.inputs, of: output.weight, output.index, on: compute)
    }
    return total
  }

  /// Fills ``teacherLogits`` for the first `count` rows.
  private mutating func ask(_ teacher: any Teacher, _ count: Int) {
    if teacherLogits.elementCapacity == 0 { teacherLogits = Matrix(rows: chunk, columns: logits.columns) }
    teacherLogits.setRows(count)
    Self.ask(teacher, positions, count, &teacherLogits)
  }

  /// Mixes ``teacherLogits`` with the targets.
  private mutating func mixTargets(share: Float, _ compute: Compute) {
    if share > 0 { Self.mix(&teacherLogits, targets, share, compute) }
  }

  // The owners come apart here: a span of one field would lock the whole struct.

  private static func mix(_ logits: inout Matrix, _ targets: borrowing Buffer<Int32>, _ share: Float, _ compute: Compute) {
    Divergence.mix(&logits, with: targets.span.extracting(0..<logits.rows), share: share, on: compute)
  }

  private static func ask(_ teacher: any Teacher, _ positions: borrowing Buffer<Int>, _ count: Int, _ logits: inout Matrix) {
    teacher.logits(of: positions.span.extracting(0..<count), into: &logits)
  }

  private static func loss(_ logits: inout Matrix, _ targets: borrowing Buffer<Int32>, _ losses: inout Matrix, _ compute: Compute) {
    CrossEntropy.forward(&logits, targets: targets.span.extracting(0..<logits.rows), losses: &losses, on: compute)
  }

  private static func lossAndGradient(
    _ logits: inout Matrix, _ targets: borrowing Buffer<Int32>, _ weights: borrowing Matrix, _ losses: inout Matrix, _ compute: Compute
  ) {
    CrossEntropy.forwardBackward(
      &logits, targets: targets.span.extracting(0..<logits.rows), weights: weights, losses: &losses, on: compute)
  }

  /// Gathers labelled rows and calls `body` for each full or last chunk.
  private mutating func forEachChunk(
    _ hidden: borrowing Matrix, _ all: Span<Int32>, _ allWeights: Span<Float>, total: Float = 1,
    _ body: (inout LossHead, _ count: Int) -> Void
  ) {
    require(all.count == hidden.rows && allWeights.count == hidden.rows, "LossHead: hidden \(hidden.shape), \(all.count) targets")
    var count = 0
    for i in all.indices {
      if all[i] >= 0 {
        if count == 0 { rows.setRows(chunk) }
        rows.copyRow(i, of: hidden, to: count)
        positions[count] = i
        targets[count] = all[i]
        weights.setRows(chunk)
        weights[count, 0] = allWeights[i] / total
        count += 1
      }
      guard count == chunk || (i == all.count - 1 && count > 0) else { continue }
      rows.setRows(count)
      dRows.setRows(count)
      logits.setRows(count)
      if capped.capacity > 0 { capped.setRows(count) }
      weights.setRows(count)
      losses.setRows(count)
      body(&self, count)
      count = 0
    }
  }
}
