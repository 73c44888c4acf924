internal import CDibitKernels
public import DibitTensor

#if canImport(Glibc)
  internal import Glibc
#endif

/// Rounds rows of floats to the 2-bit or 4-bit grid; expanding them again is ``Linear``'s and ``Embedding``'s work.
public enum GridQuantization {
  /// What rounding lost, as sums of squares.
  public struct Error: Equatable, Sendable {
    /// The sum of squared weights.
    public var signal: Double = 0
    /// The sum of squared differences.
    public var noise: Double = 0

    /// Nothing lost yet.
    public init() {}

    /// Signal-to-noise ratio in dB; infinite when every weight was on the grid.
    public var decibels: Double { noise == 0 ? .infinity : 10 * log10(signal / noise) }
  }

  /// Codes and F16 scales of `x: [n, k]`, in the byte order of ``WeightFormat/grid(bits:group:)``, with each group's scale the
  /// least-squares one, rounded to F16 before the codes are chosen. Adds what was lost to `error`.
  ///
  /// The error is the minimum over all assignments of codes, up to the rounding of the scale. Values that lie on a grid with an
  /// F16 scale come back exactly.
  public static func encode(
    _ x: borrowing Matrix, bits: Int, group: Int, error: inout Error, on compute: Compute
  ) -> (codes: [UInt8], scales: [UInt8]) {
    require(bits == 2 || bits == 4, "GridQuantization: \(bits) bits; 2 or 4 are supported")
    require(group > 0, "GridQuantization: group \(group) is not positive")
    let (n, k) = (x.rows, x.columns)
    let (rowBytes, groups) = (Weight.codeBytesPerRow(columns: k, bits: bits), Weight.groups(columns: k, group: group))
    var codes = [UInt8](repeating: 0, count: n * rowBytes)
    var scales = [UInt8](repeating: 0, count: n * groups * 2)
    var sums = Buffer<Double>(count: 2 * n)
    let (xs, totals) = unsafe (x.pointer, sums.mutablePointer)
    unsafe codes.withUnsafeMutableBufferPointer { codes in
      unsafe scales.withUnsafeMutableBytes { scales in
        guard let codes = codes.baseAddress, let scales = unsafe scales.baseAddress?.assumingMemoryBound(to: UInt16.self) else { return }
        compute.pool.forEach(n) { row, worker in
          let scratch = unsafe compute.scratch(worker, count: min(group, k))
          unsafe compute.kernels.quantize(
            Int32(bits), group, xs + row * k, 1, k, codes + row * rowBytes, scales + row * groups, totals + 2 * row, totals + 2 * row + 1,
            scratch)
        }
      }
    }
    for row in 0..<n {
      error.signal += sums[2 * row]
      error.noise += sums[2 * row + 1]
    }
    return (codes, scales)
  }
}
