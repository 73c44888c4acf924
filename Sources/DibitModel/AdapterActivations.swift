internal import BasicContainers
internal import DibitTensor

/// What the backward pass needs of the adapted linear layers of a block, by ``LinearKind``. What is not needed is empty.
struct AdapterActivations: ~Copyable, Sendable {
  var low: UniqueArray<Matrix>  // [N, R] x Aᵀ
  var outputs: UniqueArray<Matrix>  // [N, out] what a magnitude is multiplied with

  /// `savesOutputs` where a backward pass follows and the adapter has magnitudes.
  init(_ c: ModelConfiguration, rows N: Int, rank R: Int, savesOutputs: Bool) {
    let kinds = c.linearKinds
    low = UniqueArray()
    outputs = UniqueArray()
    for kind in LinearKind.allCases {
      let exists = R > 0 && kinds.contains(kind)
      low.append(Matrix(rows: N, columns: R, if: exists))
      outputs.append(Matrix(rows: N, columns: exists ? c.shape(of: kind).rows : 0, if: exists && savesOutputs))
    }
  }

  /// Calls `body` with each matrix.
  mutating func forEachMatrix(_ body: (inout Matrix) -> Void) {
    for i in 0..<low.count { body(&low[i]) }
    for i in 0..<outputs.count { body(&outputs[i]) }
  }
}
