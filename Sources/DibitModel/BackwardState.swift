internal import BasicContainers
internal import DibitKernels
package import DibitTensor

/// Working memory of the backward pass, shared by all layers; allocated once. What a family does not need is empty.
@safe
package struct BackwardState: ~Copyable, Sendable {
  /// The gradient of the final normed hidden states `[N, C]`: the loss writes it, the backward pass reads it.
  package var dHidden: Matrix
  var dStream: Matrix  // [N, C]
  var dNormed: Matrix  // [N, C]
  var dProjected: Matrix  // [N, C] before the norm of what is added to the stream
  var dAttention: Matrix  // [N, H D]
  var dQuery: Matrix  // [N, H D]
  var dRawQuery: Matrix  // [N, H D] before the head norm
  var dKey: Matrix  // [N, K D]
  var dRawKey: Matrix  // [N, K D]
  var dValue: Matrix  // [N, K D]
  var dQueryKeyValue: Matrix  // [N, H D + 2 K D] of a fused projection
  var dGate: Matrix  // [N, F]
  var dUp: Matrix  // [N, F]
  var dGateUp: Matrix  // [N, 2 F] of a fused projection
  var dActivated: Matrix  // [N, F]
  var work: Work
  /// Bytes of the allocations.
  package private(set) var byteCount = 0

  /// What the backward pass of one linear layer uses.
  struct Work: ~Copyable, Sendable {
    var dLow: Matrix  // [N, R]
    var bfloat: BFloatWork
    private var scaled: UniqueArray<Matrix>  // [N, out] of each width, for adapters with magnitudes

    init(_ c: ModelConfiguration, capacity N: Int, rank R: Int, includesWeights: Bool, savesOutputs: Bool) {
      dLow = Matrix(rows: N, columns: R, if: R > 0)
      let (q, k) = (c.queryColumns, c.keyColumns)
      let fused = max(c.fusesQueryKeyValue ? q + 2 * k : 0, c.fusesGateUp ? 2 * c.feedForwardSize : 0)
      bfloat = BFloatWork(capacity: N, columns: max(c.hiddenSize, q, c.feedForwardSize, fused), rank: R, includesWeights: includesWeights)
      scaled = UniqueArray()
      guard savesOutputs else { return }
      for width in Set(c.linearKinds.map { c.shape(of: $0).rows }).sorted() { scaled.append(Matrix(rows: N, columns: width)) }
    }

    /// Bytes of what is no matrix of ``BackwardState`` itself.
    var byteCount: Int {
      var total = bfloat.byteCount
      for i in 0..<scaled.count { total += scaled[i].byteCount }
      return total
    }

    /// Working memory of a width, for as long as it is not put back.
    mutating func takeScaled(rows: Int, columns: Int) -> Matrix {
      for i in 0..<scaled.count where scaled[i].columns == columns {
        var matrix = scaled.remove(at: i)
        matrix.setRows(rows)
        return matrix
      }
      fatalError("BackwardState: no adapter has \(columns) outputs")
    }

    mutating func putBack(_ matrix: consuming Matrix) { scaled.append(matrix) }
  }

  /// Gradients of batches of up to `N` rows with adapters of up to rank `R`; with `includesWeights`, of all weights too, and
  /// with `savesOutputs` of an adapter's magnitudes.
  package init(_ c: ModelConfiguration, capacity N: Int, rank R: Int, includesWeights: Bool = false, savesOutputs: Bool = false) {
    let (q, k) = (c.queryColumns, c.keyColumns)
    dHidden = Matrix(rows: N, columns: c.hiddenSize)
    dStream = Matrix(rows: N, columns: c.hiddenSize)
    dNormed = Matrix(rows: N, columns: c.hiddenSize)
    dProjected = Matrix(rows: N, columns: c.hiddenSize, if: c.normPlacement != .before)
    dAttention = Matrix(rows: N, columns: q)
    dQuery = Matrix(rows: N, columns: q)
    dRawQuery = Matrix(rows: N, columns: q, if: c.normalizesHeads)
    dKey = Matrix(rows: N, columns: k)
    dRawKey = Matrix(rows: N, columns: k, if: c.normalizesHeads)
    dValue = Matrix(rows: N, columns: k)
    dQueryKeyValue = Matrix(rows: N, columns: q + 2 * k, if: c.fusesQueryKeyValue)
    dGate = Matrix(rows: N, columns: c.feedForwardSize, if: c.isGated)
    dUp = Matrix(rows: N, columns: c.feedForwardSize)
    dGateUp = Matrix(rows: N, columns: 2 * c.feedForwardSize, if: c.fusesGateUp)
    dActivated = Matrix(rows: N, columns: c.feedForwardSize)
    work = Work(c, capacity: N, rank: R, includesWeights: includesWeights, savesOutputs: savesOutputs)
    var bytes = 0
    forEachMatrix { bytes += $0.byteCount }
    byteCount = bytes + work.byteCount
  }

  /// Uses the first `n` rows of everything.
  package mutating func setRows(_ n: Int) { forEachMatrix { $0.use(n) } }

  /// Calls `body` with each matrix.
  private mutating func forEachMatrix(_ body: (inout Matrix) -> Void) {
    body(&dHidden)
    body(&dStream)
    body(&dNormed)
    body(&dProjected)
    body(&dAttention)
    body(&dQuery)
    body(&dRawQuery)
    body(&dKey)
    body(&dRawKey)
    body(&dValue)
    body(&dQueryKeyValue)
    body(&dGate)
    body(&dUp)
    body(&dGateUp)
    body(&dActivated)
    body(&work.dLow)
  }
}
