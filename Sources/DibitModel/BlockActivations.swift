internal import DibitTensor

/// What one block computes, `N` rows at most: the forward pass writes it, the backward pass reads it.
///
/// Inference keeps one and overwrites it at each layer; training keeps one for each layer. What a family does not need is empty.
struct BlockActivations: ~Copyable, Sendable {
  var input: Matrix  // [N, C] residual stream before the block, where a norm reads it
  var middle: Matrix  // [N, C] after attention, where a norm reads it and it is not the input
  var inputMoments: Matrix  // [N, 1 or 2] of the norms
  var middleMoments: Matrix
  var normed: Matrix  // [N, C] input of q, k, v
  var middleNormed: Matrix  // [N, C] input of gate, up
  var attended: Matrix  // [N, C] what attention adds, before its norm
  var attendedMoments: Matrix
  var fed: Matrix  // [N, C] what the feed-forward adds, before its norm
  var fedMoments: Matrix
  var rawQuery: Matrix  // [N, H D] before the head norm
  var rawKey: Matrix  // [N, K D]
  var queryMoments: Matrix  // [N, H or 1]
  var keyMoments: Matrix  // [N, K or 1]
  var query: Matrix  // [N, H D]
  var key: Matrix  // [N, K D]
  var value: Matrix  // [N, K D]
  var logSumExp: Matrix  // [N, H]
  var attention: Matrix  // [N, H D]
  var gate: Matrix  // [N, F]
  var up: Matrix  // [N, F]
  var activated: Matrix  // [N, F] input of down
  var adapted: AdapterActivations

  /// Bytes of the allocations.
  private(set) var byteCount = 0

  init(_ c: ModelConfiguration, rows N: Int, rank R: Int, savesOutputs: Bool = false) {
    let (q, k, moments) = (c.queryColumns, c.keyColumns, c.momentColumns)
    let (before, after) = (c.normPlacement != .after, c.normPlacement != .before)
    input = Matrix(rows: N, columns: c.hiddenSize, if: before)
    middle = Matrix(rows: N, columns: c.hiddenSize, if: before && !c.isParallel)
    inputMoments = Matrix(rows: N, columns: moments, if: before)
    middleMoments = Matrix(rows: N, columns: moments, if: before)
    normed = Matrix(rows: N, columns: c.hiddenSize)
    middleNormed = Matrix(rows: N, columns: c.hiddenSize)
    attended = Matrix(rows: N, columns: c.hiddenSize, if: after)
    attendedMoments = Matrix(rows: N, columns: moments, if: after)
    fed = Matrix(rows: N, columns: c.hiddenSize, if: after)
    fedMoments = Matrix(rows: N, columns: moments, if: after)
    let whole = c.headNorm == .wholeProjection
    rawQuery = Matrix(rows: N, columns: q, if: c.normalizesHeads)
    rawKey = Matrix(rows: N, columns: k, if: c.normalizesHeads)
    queryMoments = Matrix(rows: N, columns: whole ? 1 : c.heads, if: c.normalizesHeads)
    keyMoments = Matrix(rows: N, columns: whole ? 1 : c.keyValueHeads, if: c.normalizesHeads)
    query = Matrix(rows: N, columns: q)
    key = Matrix(rows: N, columns: k)
    value = Matrix(rows: N, columns: k)
    logSumExp = Matrix(rows: N, columns: c.heads)
    attention = Matrix(rows: N, columns: q)
    gate = Matrix(rows: N, columns: c.feedForwardSize, if: c.isGated)
    up = Matrix(rows: N, columns: c.feedForwardSize)
    activated = Matrix(rows: N, columns: c.feedForwardSize)
    adapted = AdapterActivations(c, rows: N, rank: R, savesOutputs: savesOutputs)
    var bytes = 0
    forEachMatrix { bytes += $0.byteCount }
    byteCount = bytes
  }

  /// Uses the first `n` rows of everything.
  mutating func setRows(_ n: Int) { forEachMatrix { $0.use(n) } }

  /// Calls `body` with each matrix.
  private mutating func forEachMatrix(_ body: (inout Matrix) -> Void) {
    body(&input)
    body(&middle)
    body(&inputMoments)
    body(&middleMoments)
    body(&normed)
    body(&middleNormed)
    body(&attended)
    body(&attendedMoments)
    body(&fed)
    body(&fedMoments)
    body(&rawQuery)
    body(&rawKey)
    body(&queryMoments)
    body(&keyMoments)
    body(&query)
    body(&key)
    body(&value)
    body(&logSumExp)
    body(&attention)
    body(&gate)
    body(&up)
    body(&activated)
    adapted.forEachMatrix(body)
  }
}
