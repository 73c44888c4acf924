internal import CDibitKernels
public import DibitTensor

#if canImport(Glibc)
  internal import Glibc
#endif

/// Rotary position embedding (Su et al., "RoFormer", 2021): pairs of a head turn by `position · frequency`.
@safe
public struct RoPE: ~Copyable, Sendable {
  /// Which elements of a head of `D` form pair `i`.
  public enum Pairing: String, Sendable {
    /// `(2i, 2i + 1)`, "traditional".
    case interleaved
    /// `(i, i + D/2)`, as Hugging Face stores llama.
    case half
  }

  /// Elements of a head, `D`.
  public let headSize: Int
  /// Positions that the tables cover, from 0.
  public let positions: Int
  /// Which elements turn together.
  public let pairing: Pairing
  private let cosine: Matrix
  private let sine: Matrix

  /// Tables for `positions` positions; `frequencies` has one entry, in radians per position, for each of the `D/2` pairs.
  public init(frequencies: [Double], positions: Int, pairing: Pairing) {
    headSize = frequencies.count * 2
    self.positions = positions
    self.pairing = pairing
    var cosine = Matrix(rows: positions, columns: frequencies.count)
    var sine = Matrix(rows: positions, columns: frequencies.count)
    for position in 0..<positions {
      for (pair, frequency) in frequencies.enumerated() {
        let angle = Double(position) * frequency
        cosine[position, pair] = Float(cos(angle))
        sine[position, pair] = Float(sin(angle))
      }
    }
    self.cosine = cosine
    self.sine = sine
  }

  /// `θ^(-2i/D)` for `i` in `0..<D/2`.
  public static func frequencies(headSize: Int, theta: Double) -> [Double] {
    (0..<headSize / 2).map { pow(theta, -Double(2 * $0) / Double(headSize)) }
  }

  /// Turns each head of `x: [n, h D]` in place; `positions` has `n` entries.
  public func forward(_ x: inout Matrix, at positions: Span<Int32>, on compute: Compute) { rotate(&x, positions, 1, compute) }

  /// Turns gradients back: the transposed map.
  public func backward(_ dx: inout Matrix, at positions: Span<Int32>, on compute: Compute) { rotate(&dx, positions, -1, compute) }

  private func rotate(_ x: inout Matrix, _ positions: Span<Int32>, _ direction: Float, _ compute: Compute) {
    require(
      x.columns % headSize == 0 && positions.count == x.rows, "RoPE: x \(x.shape), head size \(headSize), \(positions.count) positions")
    for i in positions.indices {
      require(positions[i] >= 0 && Int(positions[i]) < self.positions, "RoPE: position \(positions[i]) outside 0..<\(self.positions)")
    }
    let (columns, heads, size) = (x.columns, x.columns / headSize, headSize)
    let interleaved: Int32 = pairing == .interleaved ? 1 : 0
    let (xs, cosines, sines) = unsafe (x.mutablePointer, cosine.pointer, sine.pointer)
    unsafe positions.withUnsafeBufferPointer { buffer in
      guard let at = buffer.baseAddress else { return }
      compute.forEachRange(x.rows, step: 16) { r, _ in
        unsafe compute.kernels.rope(
          cosines, sines, at + r.lowerBound, interleaved, direction, r.count, heads, size, xs + r.lowerBound * columns)
      }
    }
  }
}
