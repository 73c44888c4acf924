internal import DibitQuantization
internal import DibitTensor

/// The order in which inputs are rounded, and what errors of those before them do to those that come: `H = R D Rᵀ` in that order, with an upper
/// `R` whose diagonal is one.
final class RoundingOrder: Sendable {
  /// The inputs in the order of rounding. In chains they are as many as whole chains have: those beyond the last one are none.
  let inputs: [Int]
  /// The second moments `[n, n]` in that order, with the damping.
  let moments: Matrix
  /// Row `k` of `[n, n]`: what errors of inputs before it add to input `k`, `R[i, k]`.
  let factor: Matrix
  /// `D` and that of each chain alone, `[2, n]`; zero where there is no input. No rows without chains.
  let energies: Matrix
  /// Row `k` of `[n, 32]`: the factor of the moments of its chain alone.
  let within: Matrix
  /// Row `k` of `[n, 32]`: that of the inverse of the moments of its chain.
  let inverse: Matrix

  /// The order for these moments: what matters most is rounded first, when most is left to make up for it. Inputs that hang together in the
  /// chains of a trellis stay together.
  ///
  /// - Returns: nil where the moments have no factor, because they are not finite.
  init?(moments h: borrowing Matrix, inChains: Bool, damping: Float, on compute: Compute) {
    let columns = h.rows
    let own = (0..<columns).map { h[$0, $0] }
    guard own.allSatisfy(\.isFinite) else { return nil }
    // Inputs that never come get a little, so that there is a factor.
    let least = max(own.sorted()[columns / 2] * 1e-5, own.reduce(0, max) * 1e-9, Float.leastNormalMagnitude)
    let inputs = inChains ? Self.chains(of: own) : own.indices.sorted { (own[$0], $1) > (own[$1], $0) }
    let n = inputs.count
    func energy(_ input: Int) -> Float { input < columns ? own[input] : 0 }
    var ordered = Matrix(rows: n, columns: n)
    let (moments, orderedMoments) = unsafe (h.pointer, ordered.mutablePointer)
    compute.forEachRange(n, step: 16) { rows, _ in
      for row in rows where inputs[row] < columns {
        let (from, to) = unsafe (moments + inputs[row] * columns, orderedMoments + row * n)
        for column in 0..<n where inputs[column] < columns { unsafe to[column] = from[inputs[column]] }
      }
    }
    var share = damping
    // Backwards, because the factor is to be an upper one.
    var factor = Matrix(rows: n, columns: n)
    repeat {
      if share > 10 { return nil }
      let factors = unsafe factor.mutablePointer
      compute.forEachRange(n, step: 16) { rows, _ in
        for row in rows {
          let (from, to) = unsafe (orderedMoments + (n - row) * n - 1, factors + row * n)
          for column in 0...row { unsafe to[column] = from[-column] }
        }
      }
      for row in 0..<n { factor[row, row] += share * energy(inputs[n - 1 - row]) + least }
      if Cholesky.factor(&factor, on: compute) { break }
      share = share * 2 + 0.01
    } while true
    let diagonal = (0..<n).map { factor[n - 1 - $0, n - 1 - $0] }
    Self.turn(&factor, diagonal, on: compute)
    for k in 0..<n { ordered[k, k] += share * energy(inputs[k]) + least }
    let size = inChains ? n : 0
    var energies = Matrix(rows: inChains ? 2 : 0, columns: n)
    var within = Matrix(rows: size, columns: Grid.chain)
    var inverse = Matrix(rows: size, columns: Grid.chain)
    for first in stride(from: 0, to: size, by: Grid.chain) {
      var chain = ChainMoments(ordered, from: first)
      chain.factor()
      for k in 0..<Grid.chain where inputs[first + k] < columns {
        (energies[0, first + k], energies[1, first + k]) = (diagonal[first + k] * diagonal[first + k], Float(chain.energies[k]))
      }
      for k in 0..<Grid.chain {
        for i in 0..<k { within[first + k, i] = Float(chain.upper[i][k]) }
        let row = chain.inverse(row: k)
        for i in 0..<Grid.chain { inverse[first + k, i] = Float(row[i]) }
      }
    }
    self.inputs = inputs
    self.moments = ordered
    self.factor = factor
    self.energies = energies
    self.within = within
    self.inverse = inverse
  }

  /// Turns a lower factor of the moments backwards into row `k` of what errors of inputs before it add to input `k`, in its memory: as large as
  /// all moments of a layer it is most of what rounding needs.
  ///
  /// - Parameter diagonal: the factor's, forwards.
  private static func turn(_ factor: inout Matrix, _ diagonal: [Float], on compute: Compute) {
    let n = diagonal.count
    let factors = unsafe factor.mutablePointer
    // No two pairs have an element in common, so that it does not matter who meets them.
    compute.forEachRange(n, step: 16) { rows, _ in
      for k in rows {
        for i in 0..<k {
          // Its mirror image is `[n - 1 - i, n - 1 - k]`, and each pair is met twice.
          let (row, column) = (n - 1 - i, n - 1 - k)
          guard (k, i) <= (row, column) else { continue }
          let (own, mirrored) = unsafe (factors[k * n + i], factors[row * n + column])
          unsafe factors[k * n + i] = mirrored * (1 / diagonal[k])
          unsafe factors[row * n + column] = own * (1 / diagonal[row])
        }
        for i in k..<n { unsafe factors[k * n + i] = 0 }
      }
    }
  }

  /// Whole chains, those with the most energy first, and each in the order of its codes.
  private static func chains(of own: [Float]) -> [Int] {
    let count = (own.count + Grid.chain - 1) / Grid.chain
    var energy = [Float](repeating: 0, count: count)
    for (input, value) in own.enumerated() { energy[input / Grid.chain] += value }
    var order = [Int](repeating: 0, count: Grid.chain)
    for input in 0..<Grid.chain { order[Grid.position(inChain: input)] = input }
    return energy.indices.sorted { (energy[$0], $1) > (energy[$1], $0) }.flatMap { chain in order.map { chain * Grid.chain + $0 } }
  }
}

/// The moments of the inputs of a chain, and their factor `R D Rᵀ`.
private struct ChainMoments {
  private let moments: [[Double]]
  private(set) var energies = [Double](repeating: 0, count: Grid.chain)
  private(set) var upper = [[Double]](repeating: [Double](repeating: 0, count: Grid.chain), count: Grid.chain)

  init(_ ordered: borrowing Matrix, from first: Int) {
    moments = (0..<Grid.chain).map { row in (0..<Grid.chain).map { column in Double(ordered[first + row, first + column]) } }
  }

  mutating func factor() {
    for column in stride(from: Grid.chain - 1, through: 0, by: -1) {
      for row in stride(from: column, through: 0, by: -1) {
        var rest = moments[row][column]
        for k in column + 1..<Grid.chain { rest -= upper[row][k] * upper[column][k] * energies[k] }
        if row == column { energies[column] = rest }
        upper[row][column] = row == column ? 1 : rest / energies[column]
      }
    }
  }

  /// A row of the inverse: the solution `x` of `R D Rᵀ x` with a one in that row.
  func inverse(row: Int) -> [Double] {
    var x = (0..<Grid.chain).map { $0 == row ? 1.0 : 0 }
    for k in stride(from: Grid.chain - 1, through: 0, by: -1) { for i in k + 1..<Grid.chain { x[k] -= upper[k][i] * x[i] } }
    for k in 0..<Grid.chain { x[k] /= energies[k] }
    for k in 0..<Grid.chain { for i in 0..<k { x[k] -= upper[i][k] * x[i] } }
    return x
  }
}
