internal import DibitKernels
internal import DibitTensor

/// The terms that a recovery adds to linear layers, `y += (x Aᵀ) Bᵀ` with packed factors, and the memory of a pass for them.
///
/// Factors are multiplied as the weights beside them are, with rounded activations, and gradients go through them in the same way: they are
/// as frozen as these.
struct RecoveryWork: ~Copyable, Sendable {
  /// The index of `A` of each linear layer, by that of its weight; that of `B` is the next one.
  private let factors: [Int: Int]
  private var projected: Matrix  // [n, R] x Aᵀ
  private var rounded: QuantizedRows  // the same, rounded
  private var output: Matrix  // [n, out]

  /// Room for `rows` rows of any layer of a decoder; none where it has no recovery.
  init(_ layout: DecoderLayout, rows: Int) {
    factors = layout.recoveries
    let rank = factors.values.first.map { layout.declarations[$0].rows } ?? 0
    let outputs = factors.keys.map { layout.declarations[$0].rows }.max() ?? 0
    projected = Matrix(rows: rank > 0 ? rows : 0, columns: rank)
    rounded = QuantizedRows(capacity: rank > 0 ? rows : 0, columns: rank)
    output = Matrix(rows: rank > 0 ? rows : 0, columns: outputs)
  }

  /// Bytes of the allocations.
  var byteCount: Int { projected.byteCount + rounded.byteCount + output.byteCount }

  /// The factors beside a weight among `parameters`; nil where nothing is added to it.
  func factors(of weight: Int, _ parameters: [Parameter]) -> (a: Weight, b: Weight)? {
    factors.isEmpty ? nil : factors[weight].map { (parameters[$0].weight, parameters[$0 + 1].weight) }
  }

  /// Adds to `y: [n, out]` the terms of the weight at an index; `xs` is `x: [n, in]`, rounded for packed weights.
  mutating func add(
    to weight: Int, _ parameters: [Parameter], _ x: borrowing Matrix, rounded xs: borrowing QuantizedRows, into y: inout Matrix,
    on compute: Compute
  ) {
    guard let (a, b) = factors(of: weight, parameters) else { return }
    projected.reshape(rows: x.rows, columns: a.rows)
    Linear.forward(x, rounded: xs, weight: a, into: &projected, on: compute)
    rounded.round(projected, for: b, on: compute)
    output.reshape(rows: x.rows, columns: b.rows)
    Linear.forward(projected, rounded: rounded, weight: b, into: &output, on: compute)
    y.add(output, on: compute)
  }
}
