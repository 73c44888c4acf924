internal import BasicContainers
internal import DibitTensor

/// What one block computes, `N` rows at most: the forward pass writes it, the backward pass reads it.
///
/// Inference keeps one and overwrites it at each layer; training keeps one for each layer.
struct BlockActivations: ~Copyable, Sendable {
  var input: Matrix  // [N, C] residual stream before the block
  var middle: Matrix  // [N, C] after attention
  var inputInverseRMS: Matrix  // [N, 1]
  var middleInverseRMS: Matrix  // [N, 1]
  var normed: Matrix  // [N, C] input of q, k, v
  var middleNormed: Matrix  // [N, C] input of gate, up
  var rotatedQuery: Matrix  // [N, H D] before the head norm; empty without one
  var rotatedKey: Matrix  // [N, K D]
  var queryInverseRMS: Matrix  // [N, H]
  var keyInverseRMS: Matrix  // [N, K]
  var query: Matrix  // [N, H D]
  var key: Matrix  // [N, K D]
  var value: Matrix  // [N, K D]
  var logSumExp: Matrix  // [N, H]
  var attention: Matrix  // [N, H D]
  var gate: Matrix  // [N, F]
  var up: Matrix  // [N, F]
  var activated: Matrix  // [N, F] input of down
  var low: UniqueArray<Matrix>  // [N, R] x Aᵀ of each adapted linear, by kind

  init(_ c: ModelConfiguration, rows N: Int, rank R: Int) {
    let (q, k) = (c.heads * c.headSize, c.keyValueHeads * c.headSize)
    input = Matrix(rows: N, columns: c.hiddenSize)
    middle = Matrix(rows: N, columns: c.hiddenSize)
    inputInverseRMS = Matrix(rows: N, columns: 1)
    middleInverseRMS = Matrix(rows: N, columns: 1)
    normed = Matrix(rows: N, columns: c.hiddenSize)
    middleNormed = Matrix(rows: N, columns: c.hiddenSize)
    let heads = c.normalizesHeads ? N : 0
    rotatedQuery = Matrix(rows: heads, columns: q)
    rotatedKey = Matrix(rows: heads, columns: k)
    queryInverseRMS = Matrix(rows: heads, columns: c.heads)
    keyInverseRMS = Matrix(rows: heads, columns: c.keyValueHeads)
    query = Matrix(rows: N, columns: q)
    key = Matrix(rows: N, columns: k)
    value = Matrix(rows: N, columns: k)
    logSumExp = Matrix(rows: N, columns: c.heads)
    attention = Matrix(rows: N, columns: q)
    gate = Matrix(rows: N, columns: c.feedForwardSize)
    up = Matrix(rows: N, columns: c.feedForwardSize)
    activated = Matrix(rows: N, columns: c.feedForwardSize)
    low = UniqueArray()
    for _ in LinearKind.allCases { low.append(Matrix(rows: R > 0 ? N : 0, columns: R)) }
  }

  /// Uses the first `n` rows of everything.
  mutating func setRows(_ n: Int) {
    input.setRows(n)
    middle.setRows(n)
    inputInverseRMS.setRows(n)
    middleInverseRMS.setRows(n)
    normed.setRows(n)
    middleNormed.setRows(n)
    if rotatedQuery.capacity > 0 {
      rotatedQuery.setRows(n)
      rotatedKey.setRows(n)
      queryInverseRMS.setRows(n)
      keyInverseRMS.setRows(n)
    }
    query.setRows(n)
    key.setRows(n)
    value.setRows(n)
    logSumExp.setRows(n)
    attention.setRows(n)
    gate.setRows(n)
    up.setRows(n)
    activated.setRows(n)
    for i in 0..<low.count where low[i].capacity > 0 { low[i].setRows(n) }
  }
}
