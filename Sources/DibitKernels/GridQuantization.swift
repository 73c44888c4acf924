package import DibitQuantization
package import DibitTensor
internal import Synchronization

#if canImport(Glibc)
  internal import Glibc
#endif

/// Rounds rows of floats to a grid; expanding them again is ``Linear``'s and ``Embedding``'s work.
package enum GridQuantization {
  /// The loss by rounding, as sums of squares.
  package struct Error: Equatable, Sendable {
    /// The sum of squared weights; not finite when a weight was not.
    package var signal: Double = 0
    /// The sum of squared differences.
    package var noise: Double = 0

    /// Nothing lost yet.
    package init() {}

    /// Signal-to-noise ratio in dB; infinite when every weight was on the grid.
    package var decibels: Double { noise == 0 ? .infinity : 10 * log10(signal / noise) }

    /// Adds what other weights lost.
    package static func += (left: inout Error, right: Error) {
      left.signal += right.signal
      left.noise += right.noise
    }
  }

  /// Elements that a thread reads, rounds and packs at a time: they stay in its cache, and their groups fill whole vectors.
  private static let taskElements = 32_768

  /// Reads `rows`, the first of which begins a panel, rounds them and packs them into `packed`, whose columns and grid say how. Adds
  /// what was lost to `error`.
  ///
  /// A scale is nearly the least-squares one, within 0.02 dB on tensors of any usual distribution, and is rounded to F16 before the
  /// codes are chosen; beyond the largest F16 it stays there. A group whose values lie on a grid with an F16 scale comes back
  /// exactly; where several such scales give the same values, the largest is kept. Codes, scales and error depend neither on the
  /// number of threads nor on the ISA.
  ///
  /// - Parameters:
  ///   - meanwhile: runs once, on one of the threads, at the same time; for writing the piece before.
  ///   - read: fills `[rows.count, columns]` with some of the rows. It is called on several threads at a time; when it throws, the
  ///     error of the first rows that failed is thrown and `packed` holds nothing of use.
  package static func encode<Failure: Swift.Error>(
    rows: Range<Int>, into packed: inout PackedRows, error: inout Error, on compute: Compute, meanwhile: () -> Void = {},
    read: (_ rows: Range<Int>, _ values: inout MutableSpan<Float>) throws(Failure) -> Void
  ) throws(Failure) {
    packed.setRows(rows.count)
    let (columns, grid) = (packed.columns, packed.grid)
    // Whole panels: tasks write bytes of their own.
    let step = max(1, taskElements / max(columns, 1) / Grid.panelRows) * Grid.panelRows
    let tasks = (rows.count + step - 1) / step
    let errors = Mutex([Error](repeating: Error(), count: tasks))
    let failure = Mutex<(task: Int, error: Failure)?>(nil)
    let (codes, scales) = unsafe packed.pointers()
    compute.pool.forEach(tasks + 1) { task, worker in
      guard task > 0 else { return meanwhile() }
      let first = (task - 1) * step
      let part = rows.lowerBound + first..<min(rows.lowerBound + first + step, rows.upperBound)
      let values = unsafe compute.scratch(worker, count: step * columns + GridRows.scratchCount(grid, columns: columns))
      do throws(Failure) {
        // SAFETY: scratch memory of this worker, for `step` rows; `part` has no more.
        var span = unsafe MutableSpan(_unsafeStart: values, count: part.count * columns)
        try read(part, &span)
      } catch {
        failure.withLock { if $0.map({ $0.task > task }) ?? true { $0 = (task, error) } }
        return
      }
      // SAFETY: `packed` has the capacity for all rows, and each task writes its own.
      let rows = unsafe GridRows(
        grid: grid, columns: columns, rows: part.count, values: values,
        codes: codes + grid.codeByteCount(rows: first, columns: columns), scales: scales + first * grid.groups(columns: columns),
        scratch: values + step * columns, on: compute)
      rows.fitScales(scaleBits: fullScaleBits)
      let lost = rows.chooseCodes()
      errors.withLock { $0[task - 1] = lost }
    }
    if let found = failure.withLock({ $0 }) { throw found.error }
    for lost in errors.withLock({ $0 }) { error += lost }
  }

  /// Codes and F16 scales of `x: [n, k]`, as ``encode(rows:into:error:on:meanwhile:read:)`` makes them.
  package static func encode(
    _ x: borrowing Matrix, grid: Grid, error: inout Error, on compute: Compute
  ) -> (codes: [UInt8], scales: [UInt8]) {
    var packed = PackedRows(capacity: x.rows, columns: x.columns, grid: grid)
    let (pointer, columns) = unsafe (x.pointer, x.columns)
    encode(rows: 0..<x.rows, into: &packed, error: &error, on: compute) { rows, values in
      // SAFETY: the rows lie within `x`, and `values` has room for them.
      unsafe values.withUnsafeMutableBufferPointer { values in
        guard let base = values.baseAddress else { return }
        unsafe base.update(from: pointer + rows.lowerBound * columns, count: rows.count * columns)
      }
    }
    return (
      Array(copying: packed.codes.span.extracting(0..<packed.codeByteCount)),
      Array(copying: packed.scales.span.extracting(0..<packed.scaleByteCount))
    )
  }
}
