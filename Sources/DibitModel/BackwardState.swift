internal import BasicContainers
internal import DibitKernels
package import DibitTensor

/// The matrices that the backward pass writes; allocated once.
@safe
package struct BackwardState: ~Copyable, Sendable {
  /// The gradient of the final normed hidden states `[n, C]`: the loss writes it, the backward pass reads it.
  package var dHidden: Matrix
  /// The gradient of the residual stream `[n, C]`.
  package var dStream: Matrix
  /// The gradients of what is trained, and what all blocks share.
  package var work: BackwardWork
  /// Bytes of the allocations but for the gradients of what is trained.
  package let byteCount: Int

  /// Room for passes of `rows` rows that train what `list` says; of an adapter, `adapter` is the shape.
  package init(_ decoder: borrowing Decoder, rows: Int, adapter: AdapterConfiguration?, training list: TrainableList) {
    let (configuration, blocks, saved) = (decoder.configuration, decoder.layout.blocks, SavedTerms(adapter, isRecording: true))
    let linears = blocks.flatMap(\.linears)
    dHidden = Matrix(rows: rows, columns: configuration.hiddenSize)
    dStream = Matrix(rows: rows, columns: configuration.hiddenSize)
    work = BackwardWork(
      dKey: Matrix(rows: rows, columns: configuration.keyColumns), dValue: Matrix(rows: rows, columns: configuration.keyColumns),
      dProjected: Matrix(rows: saved.rank > 0 ? rows : 0, columns: saved.rank),
      dRecovered: Matrix(rows: configuration.recoveryRank > 0 ? rows : 0, columns: configuration.recoveryRank),
      bfloat: BFloatWork(
        capacity: rows, columns: linears.map { max($0.rows, $0.columns) }.max() ?? 0,
        rank: max(saved.rank, configuration.recoveryRank),
        includesWeights: list.includesWeights),
      scratch: MatrixPool(
        rows: rows,
        widths: MatrixPool.widths(blocks.flatMap { $0.widths(saved, dropsInputs: adapter?.dropout ?? 0 > 0, backward: true) })),
      gradients: TrainableTensors(list))
    byteCount = dHidden.byteCount + dStream.byteCount + work.byteCount
  }

  /// Uses the first `n` rows of everything.
  package mutating func setRows(_ n: Int) {
    dHidden.setRows(n)
    dStream.setRows(n)
    work.dKey.setRows(n)
    work.dValue.setRows(n)
    work.dKey.fill(0)
    work.dValue.fill(0)
  }
}

/// The memory that all blocks share on the way back.
@safe
package struct BackwardWork: ~Copyable, Sendable {
  /// Of keys and values, `[N, K D]`: collected from every layer that attends to the same ones, zero where no layer does.
  var dKey: Matrix
  var dValue: Matrix
  /// `[N, R]` of what an adapter's `A` makes.
  var dProjected: Matrix
  /// `[N, R]` of what a recovery's `A` makes.
  var dRecovered: Matrix
  var bfloat: BFloatWork
  var scratch: MatrixPool
  /// The gradients of what is trained; passes add to them.
  package var gradients: TrainableTensors

  /// Bytes but for the gradients.
  fileprivate var byteCount: Int {
    dKey.byteCount + dValue.byteCount + dProjected.byteCount + dRecovered.byteCount + bfloat.byteCount
      + scratch.byteCount
  }

  /// Adds to `dx: [n, in]` what the factors of a recovery make of `dy: [n, out]`: `dx += (dy B) A`. With `usesBFloat` ``bfloat`` has rounded `dy`.
  mutating func backward(
    _ dy: borrowing Matrix, through factors: (a: Weight, b: Weight), _ usesBFloat: Bool, dx: inout Matrix, on compute: Compute
  ) {
    dRecovered.reshape(rows: dy.rows, columns: factors.a.rows)
    if usesBFloat {
      Linear.backward(bfloat.rows, weight: factors.b, dx: &dRecovered, accumulating: false, on: compute)
      bfloat.rankRows.round(dRecovered, on: compute)
      Linear.backward(bfloat.rankRows, weight: factors.a, dx: &dx, accumulating: true, on: compute)
    } else {
      dRecovered.fill(0)
      Linear.backward(dy, weight: factors.b, dx: &dRecovered, on: compute)
      Linear.backward(dRecovered, weight: factors.a, dx: &dx, on: compute)
    }
  }
}
