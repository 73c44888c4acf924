internal import CDibitKernels
internal import DibitQuantization
package import DibitTensor

extension Weight {
  /// The same numbers as F32: itself, or a copy that can be trained.
  package func floats(on compute: Compute) -> Weight {
    if format == .f32 { return self }
    var floats = Weight(zerosWithRows: rows, columns: columns)
    floats.withMutableValues { values in
      unsafe values.withUnsafeMutableBufferPointer { values in
        if let base = values.baseAddress { unsafe expand(0..<rows, to: base, on: compute) }
      }
    }
    return floats
  }

  /// The numbers less those of another weight of this shape, as F32.
  package func subtracting(_ other: Weight, on compute: Compute) -> Weight {
    require(rows == other.rows && columns == other.columns, "Weight.subtracting: \(other.shape) from \(shape)")
    var difference = floats(on: compute)
    let (rows, columns) = (rows, columns)
    difference.withMutableValues { values in
      unsafe values.withUnsafeMutableBufferPointer { values in
        guard let base = values.baseAddress else { return }
        unsafe withUnsafePointer(to: unsafe other.kernelView) { view in
          compute.forEachRange(rows, step: 16) { r, worker in
            let subtracted = unsafe compute.scratch(worker, count: r.count * columns)
            unsafe compute.kernels.expand(view, r.lowerBound, r.upperBound, 0, columns, subtracted, columns)
            // SAFETY: tasks write rows of their own.
            let target = unsafe base + r.lowerBound * columns
            for index in 0..<r.count * columns { unsafe target[index] -= subtracted[index] }
          }
        }
      }
    }
    return difference
  }

  /// Overwrites `matrix` with the numbers of some rows as F32, `[n, columns]`.
  package func copyRows(_ part: Range<Int>, to matrix: inout Matrix, on compute: Compute) {
    require(part.lowerBound >= 0 && part.upperBound <= rows, "Weight.copyRows: \(part) of \(shape)")
    if matrix.elementCapacity < part.count * columns { matrix = Matrix(rows: part.count, columns: columns) }
    matrix.reshape(rows: part.count, columns: columns)
    unsafe expand(part, to: matrix.mutablePointer, on: compute)
  }

  @unsafe private func expand(_ part: Range<Int>, to values: UnsafeMutablePointer<Float>, on compute: Compute) {
    let columns = columns
    unsafe withUnsafePointer(to: unsafe kernelView) { view in
      compute.forEachRange(part.count, step: 64) { r, _ in
        // SAFETY: tasks write rows of their own.
        unsafe compute.kernels.expand(
          view, part.lowerBound + r.lowerBound, part.lowerBound + r.upperBound, 0, columns, values + r.lowerBound * columns, columns)
      }
    }
  }
}
