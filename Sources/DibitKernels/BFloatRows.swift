internal import CDibitKernels
package import DibitTensor

/// The precision to which numbers that are not codes are rounded before they are multiplied.
package enum ProductPrecision: String, CaseIterable, Sendable {
  /// Numbers of 8 significant bits, summed in floats. Where the CPU has no instructions for it, floats.
  case bfloat16
  /// Floats as they are; packed weights are expanded to them.
  case float
}

/// Gradients or activations rounded to BF16, row by row. Allocated once and used for many batches.
@safe
package struct BFloatRows: ~Copyable, Sendable {
  /// Rows in use.
  package private(set) var rows = 0
  /// Columns in use.
  package private(set) var columns = 0
  private let capacity: Int
  private let stride: Int  // pairs of a row
  private var pairs: Buffer<UInt32>

  /// Room for `capacity` rows of up to `columns`.
  package init(capacity: Int, columns: Int) {
    self.capacity = capacity
    stride = (columns + 1) / 2
    pairs = Buffer(count: capacity * stride)
  }

  /// Bytes of the allocation.
  package var byteCount: Int { pairs.byteCount }

  /// Rounds all rows of `factor · x`.
  package mutating func round(_ x: borrowing Matrix, factor: Float = 1, on compute: Compute) {
    require(x.rows <= capacity && x.columns <= 2 * stride, "BFloatRows: x \(x.shape), room for [\(capacity), \(2 * stride)]")
    (rows, columns) = (x.rows, x.columns)
    let begin = compute.begin()
    defer { compute.end("round to bf16", begin, rows: x.rows, columns: x.columns) }
    let (xs, columns, stride) = unsafe (x.pointer, x.columns, self.stride)
    let out = unsafe UnsafeMutableRawPointer(pairs.mutablePointer).assumingMemoryBound(to: UInt16.self)
    compute.forEachRange(x.rows, step: 16) { r, _ in
      unsafe compute.kernels.round_bfloat(
        xs + r.lowerBound * columns, r.count, columns, factor, out + r.lowerBound * 2 * stride, (columns + 1) / 2 * 2, 2 * stride)
    }
  }

  /// The addresses of the rows' pairs, and how far rows lie apart.
  @unsafe var view: BFloatProducts.Rows { unsafe (pairs.pointer, stride) }

  /// The same from a row on.
  @unsafe func view(from row: Int) -> BFloatProducts.Rows { unsafe (pairs.pointer + row * stride, stride) }
}

/// A matrix in BF16 whose rows 2 i and 2 i + 1 lie side by side, so that sums run over its rows.
@safe
package struct BFloatPairs: ~Copyable, Sendable {
  /// Rows in use.
  package private(set) var rows = 0
  /// Columns in use.
  package private(set) var columns = 0
  /// Rows that there is room for.
  let capacity: Int
  private let widest: Int
  private var pairs: Buffer<UInt32>  // [stripes, pairs, 64]

  private static let stripe = Int(DIBIT_PAIR_COLUMNS)

  /// Room for `capacity` rows of up to `columns`.
  package init(capacity: Int, columns: Int) {
    self.capacity = capacity
    widest = (columns + Self.stripe - 1) / Self.stripe * Self.stripe
    pairs = Buffer(count: (capacity + 1) / 2 * widest)
  }

  /// Bytes of the allocation.
  package var byteCount: Int { pairs.byteCount }

  /// Rounds `factor · x`.
  package mutating func round(_ x: borrowing Matrix, factor: Float, on compute: Compute) {
    require(x.rows <= capacity && x.columns <= widest, "BFloatPairs: x \(x.shape), room for [\(capacity), \(widest)]")
    (rows, columns) = (x.rows, x.columns)
    let (view, out, count) = unsafe (x.kernelView, pairs.mutablePointer, (x.rows + 1) / 2)
    for (index, column) in stride(from: 0, to: x.columns, by: Self.stripe).enumerated() {
      compute.forEachRange(x.rows, step: 128) { r, _ in
        unsafe withUnsafePointer(to: view) {
          unsafe compute.kernels.pair_rows(
            $0, r.lowerBound, r.upperBound, column, factor, out + (index * count + r.lowerBound / 2) * Self.stripe)
        }
      }
    }
  }

  /// The pairs of the rows from `row` on, an even number, in a stripe of 64 columns.
  @unsafe func stripe(_ index: Int, row: Int) -> UnsafePointer<UInt32> {
    unsafe pairs.pointer + (index * ((rows + 1) / 2) + row / 2) * Self.stripe
  }
}

extension Matrix {
  /// The C kernels' view of a matrix that serves as a weight. The matrix must outlive the view.
  @unsafe var kernelView: dibit_weight {
    unsafe dibit_weight(elements: UnsafeRawPointer(pointer), scales: nil, rows: rows, columns: columns, group: 0, format: DIBIT_F32)
  }
}
