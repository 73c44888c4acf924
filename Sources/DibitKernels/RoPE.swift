internal import CDibitKernels
public import DibitTensor

#if canImport(Glibc)
  internal import Glibc
#endif

/// Rotary position embedding (Su et al., "RoFormer", 2021): pairs of a head turn by `position · frequency`.
@safe
public struct RoPE: ~Copyable, Sendable {
  /// Which elements of a head form pair `i` of `P`.
  public enum Pairing: String, Sendable {
    /// `(2i, 2i + 1)`, "traditional".
    case interleaved
    /// `(i, i + P)`, as Hugging Face stores llama.
    case half
  }

  /// Elements of a head, `D`. Those behind the pairs stay as they are.
  public let headSize: Int
  /// Pairs that turn: half of a head, or less.
  public let pairs: Int
  /// Positions that the tables cover, from 0.
  public let positions: Int
  /// Which elements turn together.
  public let pairing: Pairing
  private let cosine: Matrix
  private let sine: Matrix

  /// Tables for `positions` positions; `frequencies` has one entry, in radians per position, for each pair.
  ///
  /// A head has `headSize` elements, or by default two for each pair. `factor` multiplies what turns, as YaRN and LongRoPE do to make
  /// attention sharper in a longer context. Angles are rounded to F32 before their cosine is taken, because models were trained so: far
  /// from the start, that is more than a rounding error.
  public init(frequencies: [Double], positions: Int, pairing: Pairing, headSize: Int? = nil, factor: Double = 1) {
    let (pairs, headSize) = (frequencies.count, headSize ?? 2 * frequencies.count)
    require(2 * pairs <= headSize, "RoPE: \(pairs) pairs in heads of \(headSize)")
    self.pairs = pairs
    self.headSize = headSize
    self.positions = positions
    self.pairing = pairing
    var cosine = Matrix(rows: positions, columns: frequencies.count)
    var sine = Matrix(rows: positions, columns: frequencies.count)
    for position in 0..<positions {
      for (pair, frequency) in frequencies.enumerated() {
        let angle = Double(Float(position) * Float(frequency))
        cosine[position, pair] = Float(cos(angle) * factor)
        sine[position, pair] = Float(sin(angle) * factor)
      }
    }
    self.cosine = cosine
    self.sine = sine
  }

  /// `θ^(-2i/D)` for `i` in `0..<⌈D/2⌉`, rounded to F32 at each step as transformers does.
  public static func frequencies(headSize: Int, theta: Double) -> [Double] {
    (0..<(headSize + 1) / 2).map { Double(1 / Float(pow(theta, Double(Float(2 * $0) / Float(headSize))))) }
  }

  /// Turns each head of `x: [n, h D]` in place; `positions` has `n` entries.
  public func forward(_ x: inout Matrix, at positions: Span<Int32>, on compute: Compute) { rotate(&x, positions, 1, compute) }

  /// Turns gradients back: the transposed map, which multiplies by the factor as well.
  public func backward(_ dx: inout Matrix, at positions: Span<Int32>, on compute: Compute) { rotate(&dx, positions, -1, compute) }

  private func rotate(_ x: inout Matrix, _ positions: Span<Int32>, _ direction: Float, _ compute: Compute) {
    let begin = compute.begin()
    defer { compute.end("rope", begin, rows: x.rows, columns: x.columns) }
    require(
      x.columns % headSize == 0 && positions.count == x.rows, "RoPE: x \(x.shape), head size \(headSize), \(positions.count) positions")
    for i in positions.indices {
      require(positions[i] >= 0 && Int(positions[i]) < self.positions, "RoPE: position \(positions[i]) outside 0..<\(self.positions)")
    }
    let (columns, heads, size, pairs) = (x.columns, x.columns / headSize, headSize, pairs)
    let interleaved: Int32 = pairing == .interleaved ? 1 : 0
    let (xs, cosines, sines) = unsafe (x.mutablePointer, cosine.pointer, sine.pointer)
    unsafe positions.withUnsafeBufferPointer { buffer in
      guard let at = buffer.baseAddress else { return }
      compute.forEachRange(x.rows, step: 16) { r, _ in
        unsafe compute.kernels.rope(
          cosines, sines, at + r.lowerBound, interleaved, direction, r.count, heads, size, pairs, xs + r.lowerBound * columns)
      }
    }
  }
}
