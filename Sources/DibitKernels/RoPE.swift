internal import CDibitKernels
package import DibitTensor

#if canImport(Glibc)
  internal import Glibc
#endif

/// Rotary position embedding (Su et al., "RoFormer", 2021): pairs of a head rotate by `position · frequency`.
package struct RoPE: Equatable, Sendable {
  /// The two elements of a head that form pair `i` of `P`.
  package enum Pairing: String, Sendable {
    /// `(2i, 2i + 1)`, "traditional".
    case interleaved
    /// `(i, i + P)`, as Hugging Face stores llama.
    case half
  }

  /// Cosines and sines of the positions of a batch, `[n, P]`: computed once for all layers that rotate alike.
  @safe
  package struct Angles: ~Copyable, Sendable {
    var cosine: Matrix
    var sine: Matrix
    /// The embedding whose angles all rows are; nil where some have moved.
    private var embedding: RoPE?
    private var positions: Buffer<Int32>

    /// Room for `capacity` rows of `pairs` pairs.
    package init(capacity: Int, pairs: Int) {
      cosine = Matrix(rows: capacity, columns: pairs)
      sine = Matrix(rows: capacity, columns: pairs)
      positions = Buffer(count: capacity)
    }

    /// Bytes of the allocation.
    package var byteCount: Int { cosine.byteCount + sine.byteCount + positions.byteCount }

    /// Moves the first `count` rows that `rows` names to the front; there are no others from now on.
    package mutating func keepRows(_ rows: borrowing Buffer<Int32>, count: Int) {
      embedding = nil
      cosine.keepRows(rows, count: count)
      sine.keepRows(rows, count: count)
    }

    /// True where these are the angles of `others`, as they are when layers run one by one.
    func are(of others: Span<Int32>, _ embedding: RoPE) -> Bool {
      guard embedding == self.embedding, others.count == cosine.rows else { return false }
      for index in others.indices where others[index] != positions[index] { return false }
      return true
    }

    /// Makes room for the angles of other positions.
    mutating func begin(_ others: Span<Int32>, _ embedding: RoPE) {
      self.embedding = embedding
      cosine.setRows(others.count)
      sine.setRows(others.count)
      for index in others.indices { positions[index] = others[index] }
    }
  }

  /// Elements of a head, `D`. Those behind the pairs stay as they are.
  package let headSize: Int
  /// The choice of the elements that rotate together.
  package let pairing: Pairing
  /// Radians per position, for each pair.
  package let frequencies: [Double]
  /// The factor of the elements that rotate.
  package let factor: Double

  /// `frequencies` has one entry, in radians per position, for each pair.
  ///
  /// A head has `headSize` elements, or by default two for each pair. `factor` multiplies what rotates, as YaRN and LongRoPE do to make
  /// attention sharper in a longer context.
  package init(frequencies: [Double], pairing: Pairing, headSize: Int? = nil, factor: Double = 1) {
    self.headSize = headSize ?? 2 * frequencies.count
    require(2 * frequencies.count <= self.headSize, "RoPE: \(frequencies.count) pairs in heads of \(self.headSize)")
    (self.frequencies, self.pairing, self.factor) = (frequencies, pairing, factor)
  }

  /// Pairs that rotate: half of a head, or less.
  package var pairs: Int { frequencies.count }

  /// `θ^(-2i/D)` for `i` in `0..<⌈D/2⌉`, rounded to F32 at each step as transformers does.
  package static func frequencies(headSize: Int, theta: Double) -> [Double] {
    (0..<(headSize + 1) / 2).map { Double(1 / Float(pow(theta, Double(Float(2 * $0) / Float(headSize))))) }
  }

  /// Computes cosines and sines of `positions`, which are not negative.
  ///
  /// Angles are rounded to F32 before, because models were trained so: far from the start, that is more than a rounding error.
  package func prepare(_ angles: inout Angles, at positions: Span<Int32>, on compute: Compute) {
    require(angles.cosine.columns == pairs, "RoPE: \(pairs) pairs, room for \(angles.cosine.columns)")
    for i in positions.indices { require(positions[i] >= 0, "RoPE: position \(positions[i]) is negative") }
    if angles.are(of: positions, self) { return }
    angles.begin(positions, self)
    let (cosines, sines, frequencies, factor) = unsafe (angles.cosine.mutablePointer, angles.sine.mutablePointer, frequencies, factor)
    unsafe positions.withUnsafeBufferPointer { positions in
      compute.forEachRange(positions.count, step: 16) { r, _ in
        for row in r {
          let position = unsafe Float(positions[row])
          for (pair, frequency) in frequencies.enumerated() {
            let angle = Double(position * Float(frequency))
            unsafe cosines[row * frequencies.count + pair] = Float(cos(angle) * factor)
            unsafe sines[row * frequencies.count + pair] = Float(sin(angle) * factor)
          }
        }
      }
    }
  }

  /// The angles of `positions`, in memory of their own.
  package func angles(at positions: Span<Int32>, on compute: Compute) -> Angles {
    var angles = Angles(capacity: positions.count, pairs: pairs)
    prepare(&angles, at: positions, on: compute)
    return angles
  }

  /// Rotates each head of `x: [n, h D]` in place by the angles of `n` positions.
  package func forward(_ x: inout Matrix, by angles: borrowing Angles, on compute: Compute) { rotate(&x, angles, 1, compute) }

  /// Rotates gradients back: the transposed map, which multiplies by the factor as well.
  package func backward(_ dx: inout Matrix, by angles: borrowing Angles, on compute: Compute) { rotate(&dx, angles, -1, compute) }

  private func rotate(_ x: inout Matrix, _ angles: borrowing Angles, _ direction: Float, _ compute: Compute) {
    let begin = compute.begin()
    defer { compute.end("rope", begin, rows: x.rows, columns: x.columns) }
    require(
      x.columns % headSize == 0 && angles.cosine.rows == x.rows && angles.cosine.columns == pairs,
      "RoPE: x \(x.shape), head size \(headSize), angles \(angles.cosine.shape)")
    let (columns, heads, size, pairs) = (x.columns, x.columns / headSize, headSize, pairs)
    let interleaved: Int32 = pairing == .interleaved ? 1 : 0
    let (xs, cosines, sines) = unsafe (x.mutablePointer, angles.cosine.pointer, angles.sine.pointer)
    compute.forEachRange(x.rows, step: 16) { r, _ in
      let at = r.lowerBound
      unsafe compute.kernels.rope(
        cosines + at * pairs, sines + at * pairs, interleaved, direction, r.count, heads, size, pairs, xs + at * columns)
    }
  }
}
