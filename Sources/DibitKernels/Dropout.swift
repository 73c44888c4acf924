public import DibitTensor

/// Which inputs of a layer are left out (Srivastava et al., "Dropout", 2014): drawn from a key and the place of the element, so that the
/// same mask can be made again, by any number of threads and after a restart.
public struct DropoutMask: Equatable, Sendable {
  /// What tells this mask from all others.
  public var key: UInt64
  /// The share of elements that are left out; the others are multiplied by `1 / (1 - rate)`.
  public var rate: Float
  /// The place of a matrix's first row among all rows that share the key.
  public var firstRow: Int

  /// A mask for the rows from `firstRow` on.
  public init(key: UInt64, rate: Float, firstRow: Int) {
    require(rate >= 0 && rate < 1, "DropoutMask: rate \(rate) outside 0..<1")
    (self.key, self.rate, self.firstRow) = (key, rate, firstRow)
  }

  /// Overwrites `y: [n, k]` with `x: [n, k]` without the elements that are left out.
  public func forward(_ x: borrowing Matrix, into y: inout Matrix, on compute: Compute) {
    require(x.rows == y.rows && x.columns == y.columns, "DropoutMask: \(x.shape) into \(y.shape)")
    // SAFETY: each range lies within the `count` floats of both matrices, which are not the same.
    let (from, to) = unsafe (x.pointer, y.mutablePointer)
    let columns = x.columns
    compute.forEachRange(x.count, step: Self.step) { range, _ in
      apply(range, columns: columns) { index, factor in unsafe to[index] = from[index] * factor }
    }
  }

  /// Accumulates `dx: [n, k]` from `dy: [n, k]`.
  public func backward(_ dy: borrowing Matrix, dx: inout Matrix, on compute: Compute) {
    require(dx.rows == dy.rows && dx.columns == dy.columns, "DropoutMask: \(dy.shape) into \(dx.shape)")
    // SAFETY: as in `forward`.
    let (from, to) = unsafe (dy.pointer, dx.mutablePointer)
    let columns = dy.columns
    compute.forEachRange(dy.count, step: Self.step) { range, _ in
      apply(range, columns: columns) { index, factor in unsafe to[index] += from[index] * factor }
    }
  }

  /// Elements of a task; a multiple of the four that share a draw.
  private static let step = 16_384

  /// Calls `body` with every index of `range` and its factor: 0 or `1 / (1 - rate)`. Sixteen bits of a draw decide on an element.
  @inline(__always)
  private func apply(_ range: Range<Int>, columns: Int, _ body: (Int, Float) -> Void) {
    let threshold = UInt64((rate * 65_536).rounded())
    let factor = 1 / (1 - Float(threshold) / 65_536)
    let offset = firstRow * columns
    var draw: UInt64 = 0
    for index in range {
      let place = (offset + index) & 3
      if place == 0 || index == range.lowerBound {
        draw = Self.mix(key &+ UInt64(truncatingIfNeeded: (offset + index) >> 2) &* 0x9E37_79B9_7F4A_7C15) >> UInt64(16 * place)
      }
      body(index, draw & 0xFFFF < threshold ? 0 : factor)
      draw >>= 16
    }
  }

  /// The finaliser of SplitMix64.
  private static func mix(_ value: UInt64) -> UInt64 {
    var z = value
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
