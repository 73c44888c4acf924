internal import BasicContainers
public import DibitTensor

/// Working memory of the backward pass, shared by all layers; allocated once.
@safe
public struct BackwardState: ~Copyable, Sendable {
  /// The gradient of the final normed hidden states `[N, C]`: the loss writes it, the backward pass reads it.
  public var dHidden: Matrix
  var dStream: Matrix  // [N, C]
  var dNormed: Matrix  // [N, C]
  var dAttention: Matrix  // [N, H D]
  var dQuery: Matrix  // [N, H D]
  var dRotatedQuery: Matrix  // [N, H D]
  var dKey: Matrix  // [N, K D]
  var dRotatedKey: Matrix  // [N, K D]
  var dValue: Matrix  // [N, K D]
  var dGate: Matrix  // [N, F]
  var dUp: Matrix  // [N, F]
  var dActivated: Matrix  // [N, F]
  var dLow: Matrix  // [N, R]

  /// Gradients of batches of up to `N` rows with adapters of up to rank `R`.
  public init(_ c: ModelConfiguration, capacity N: Int, rank R: Int) {
    let (q, k) = (c.heads * c.headSize, c.keyValueHeads * c.headSize)
    dHidden = Matrix(rows: N, columns: c.hiddenSize)
    dStream = Matrix(rows: N, columns: c.hiddenSize)
    dNormed = Matrix(rows: N, columns: c.hiddenSize)
    dAttention = Matrix(rows: N, columns: q)
    dQuery = Matrix(rows: N, columns: q)
    dRotatedQuery = Matrix(rows: N, columns: q)
    dKey = Matrix(rows: N, columns: k)
    dRotatedKey = Matrix(rows: N, columns: k)
    dValue = Matrix(rows: N, columns: k)
    dGate = Matrix(rows: N, columns: c.feedForwardSize)
    dUp = Matrix(rows: N, columns: c.feedForwardSize)
    dActivated = Matrix(rows: N, columns: c.feedForwardSize)
    dLow = Matrix(rows: R > 0 ? N : 0, columns: R)
  }

  /// Uses the first `n` rows of everything.
  public mutating func setRows(_ n: Int) {
    dHidden.setRows(n)
    dStream.setRows(n)
    dNormed.setRows(n)
    dAttention.setRows(n)
    dQuery.setRows(n)
    dRotatedQuery.setRows(n)
    dKey.setRows(n)
    dRotatedKey.setRows(n)
    dValue.setRows(n)
    dGate.setRows(n)
    dUp.setRows(n)
    dActivated.setRows(n)
    if dLow.capacity > 0 { dLow.setRows(n) }
  }
}
