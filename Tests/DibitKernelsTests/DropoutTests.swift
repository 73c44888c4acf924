import DibitKernels
import DibitTensor
import DibitTestSupport
import Testing

@Suite struct DropoutTests {
  /// The factor of the element at `index`, from the definition: sixteen bits of a SplitMix64 draw that four elements share.
  private static func factor(key: UInt64, index: Int, rate: Float) -> Float {
    var z = key &+ UInt64(index / 4) &* 0x9E37_79B9_7F4A_7C15
    z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
    z ^= z >> 31
    let threshold = (rate * 65_536).rounded()
    return Float(z >> UInt64(16 * (index % 4)) & 0xFFFF) < threshold ? 0 : 1 / (1 - threshold / 65_536)
  }

  /// Shapes that begin inside a draw, cross the kernel's blocks, and are shared between threads.
  @Test(arguments: [(1, 1, 0), (3, 5, 1), (7, 37, 13), (2, 515, 3), (131, 257, 9)], [0, 0.1, 0.5, 0.99] as [Float])
  func agreesWithTheDefinition(_ shape: (rows: Int, columns: Int, firstRow: Int), rate: Float) {
    let (rows, columns) = (shape.rows, shape.columns)
    let (x, earlier) = (uniforms(rows * columns, seed: 1), uniforms(rows * columns, seed: 2))
    let masked = x.indices.map { x[$0] * Self.factor(key: 5, index: shape.firstRow * columns + $0, rate: rate) }
    let mask = DropoutMask(key: 5, rate: rate, firstRow: shape.firstRow)
    for compute in Machine.own {
      var y = Matrix([Float](repeating: .nan, count: x.count), columns: columns)
      mask.forward(Matrix(x, columns: columns), into: &y, on: compute)
      #expect(y.values == masked, "\(compute.label)")
      var dx = Matrix(earlier, columns: columns)
      mask.backward(Matrix(x, columns: columns), dx: &dx, on: compute)
      #expect(dx.values == zip(earlier, masked).map { $0 + $1 }, "\(compute.label)")
    }
  }
}
