internal import CDibitKernels
package import DibitTensor

/// The precision of the activations that packed weights are multiplied with.
package enum ActivationPrecision: String, CaseIterable, Sendable {
  /// Activations of 255 levels, with a scale for each 64 neighbours: the fastest, and half a percent of noise in a product.
  case int8
  /// Activations of 32,513 levels: noise as small as that of floats, at twice the work in a prompt; one token at a time it is hardly slower.
  case int16
  /// Float activations and weights that are expanded to floats, for comparisons.
  case float

  /// The precision of products with float weights that goes with it: the fastest with the fastest, and BF16 has less noise than one byte.
  package var floats: ProductPrecision { self == .int8 ? .bfloat16 : .float }
}

/// Activations rounded to whole numbers, with a scale for each 64 neighbours: what packed weights are multiplied with. Or to BF16, for
/// float weights.
///
/// `x ≈ code · step` with `step = max |x| / 127` over the group, or `/ 16 256` for codes of two bytes; rounded to nearest. Allocated once
/// and used for many batches.
@safe
package struct QuantizedRows: ~Copyable, Sendable {
  /// Activations that share a scale.
  package static let group = 64

  /// Rows in use.
  package private(set) var rows = 0
  /// Activations of a row.
  package private(set) var columns = 0
  /// The most rows of the widest kind that fit.
  package let capacity: Int
  private let widest: Int
  /// Bytes of a code; 0 for rows in BF16.
  private var planes = 1
  private var codes: Buffer<Int8>
  /// Half a step of each group: codes of weights count in halves.
  private var scales: Buffer<Float>
  /// Sums of sixteen neighbouring codes each.
  private var sums: Buffer<Int32>

  /// Room for `capacity` rows of up to `columns` activations.
  package init(capacity: Int, columns: Int) {
    self.capacity = capacity
    widest = Self.padded(columns)
    codes = Buffer(count: 2 * capacity * widest)
    scales = Buffer(count: capacity * widest / Self.group)
    sums = Buffer(count: capacity * widest / 16)
  }

  /// Bytes of the allocation.
  package var byteCount: Int { codes.byteCount + scales.byteCount + sums.byteCount }

  /// Rounds all rows of `x` to what `weight` is multiplied with; nothing where it takes floats.
  package mutating func round(_ x: borrowing Matrix, for weight: Weight, on compute: Compute) {
    switch Linear.rounding(for: weight, on: compute) {
    case .codes: quantize(x, on: compute)
    case .bfloat: roundToBFloat(x, on: compute)
    case nil: break
    }
  }

  /// True when the rows are codes, and not BF16.
  var areCodes: Bool { planes > 0 }

  private mutating func roundToBFloat(_ x: borrowing Matrix, on compute: Compute) {
    let padded = Self.padded(x.columns)
    require(x.rows <= capacity && padded <= widest, "QuantizedRows: x \(x.shape), room for [\(capacity), \(widest)]")
    (rows, columns, planes) = (x.rows, x.columns, 0)
    let (xs, columns) = unsafe (x.pointer, x.columns)
    // Two bytes of each activation are what codes of two planes take.
    let out = unsafe UnsafeMutableRawPointer(codes.mutablePointer).assumingMemoryBound(to: UInt16.self)
    compute.forEachRange(x.rows, step: 16) { r, _ in
      unsafe compute.kernels.round_bfloat(
        xs + r.lowerBound * columns, r.count, columns, 1, out + r.lowerBound * padded, (columns + 1) / 2 * 2, padded)
    }
  }

  /// The rows in BF16.
  @unsafe var pairs: BFloatProducts.Rows {
    require(!areCodes, "QuantizedRows: codes, not BF16")
    return unsafe (UnsafeRawPointer(codes.pointer).assumingMemoryBound(to: UInt32.self), Self.padded(columns) / 2)
  }

  /// Rounds all rows of `x` to codes.
  package mutating func quantize(_ x: borrowing Matrix, on compute: Compute) {
    let padded = Self.padded(x.columns)
    require(x.rows <= capacity && padded <= widest, "QuantizedRows: x \(x.shape), room for [\(capacity), \(widest)]")
    (rows, columns, planes) = (x.rows, x.columns, compute.activations == .int16 ? 2 : 1)
    let (xs, columns, planes) = unsafe (x.pointer, x.columns, self.planes)
    let (codes, scales, sums) = unsafe (self.codes.mutablePointer, self.scales.mutablePointer, self.sums.mutablePointer)
    compute.forEachRange(x.rows, step: 16) { r, _ in
      let at = r.lowerBound * padded
      unsafe compute.kernels.quantize_activations(
        Int32(planes), xs + r.lowerBound * columns, r.count, columns, codes + planes * at, scales + at / Self.group, sums + at / 16, padded)
    }
  }

  /// The numbers that the codes stand for, row by row, for tests and reports.
  package var values: [Float] {
    let padded = Self.padded(columns)
    return (0..<rows).flatMap { row in
      (0..<columns).map { column in
        let at = row * planes * padded + column
        let code = planes == 1 ? Float(codes[at]) : 128 * Float(codes[at]) + Float(codes[at + padded])
        return code * (2 * scales[(row * padded + column) / Self.group])
      }
    }
  }

  @unsafe var view: dibit_activations {
    require(areCodes, "QuantizedRows: BF16, not codes")
    return unsafe dibit_activations(
      codes: codes.pointer, scales: scales.pointer, sums: sums.pointer, columns: Self.padded(columns), planes: planes)
  }

  private static func padded(_ columns: Int) -> Int { (columns + group - 1) / group * group }
}
