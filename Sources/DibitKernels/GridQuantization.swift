internal import CDibitKernels
package import DibitTensor
internal import Synchronization

#if canImport(Glibc)
  internal import Glibc
#endif

/// Rounds rows of floats to the 2-bit or 4-bit grid; expanding them again is ``Linear``'s and ``Embedding``'s work.
package enum GridQuantization {
  /// What rounding lost, as sums of squares.
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

  /// More significant bits than F16 has: a scale is rounded once.
  private static let fullScaleBits = 22

  /// Elements that a thread reads, rounds and packs at a time: they stay in its cache, and their groups fill whole vectors.
  private static let taskElements = 32_768

  /// Reads `rows`, the first of which begins a panel, rounds them and packs them into `packed`, whose columns, bits and group say how. Adds
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
    let (columns, bits, group) = (packed.columns, packed.bits, packed.group)
    let groups = packed.groupsPerRow
    // Whole panels: tasks write bytes of their own.
    let step = max(1, taskElements / max(columns, 1) / Weight.panelRows) * Weight.panelRows
    let tasks = (rows.count + step - 1) / step
    let room = (groups == 1 ? columns + 15 : 16 * group)
    var errors = Buffer<Double>(count: 2 * tasks)
    let failure = Mutex<(task: Int, error: Failure)?>(nil)
    let (codes, scales) = unsafe packed.pointers()
    let totals = unsafe errors.mutablePointer
    compute.pool.forEach(tasks + 1) { task, worker in
      guard task > 0 else { return meanwhile() }
      let first = (task - 1) * step
      let part = rows.lowerBound + first..<min(rows.lowerBound + first + step, rows.upperBound)
      let values = unsafe compute.scratch(worker, count: step * columns + room)
      do throws(Failure) {
        // SAFETY: scratch memory of this worker, for `step` rows; `part` has no more.
        var span = unsafe MutableSpan(_unsafeStart: values, count: part.count * columns)
        try read(part, &span)
      } catch {
        failure.withLock { if $0.map({ $0.task > task }) ?? true { $0 = (task, error) } }
        return
      }
      // SAFETY: `packed` has room for all rows, each task writes its own, and `room` is what the kernel asks for.
      unsafe compute.kernels.quantize(
        Int32(bits), Int32(fullScaleBits), group, values, part.count, columns,
        codes + Weight.elementByteCount(rows: first, columns: columns, format: .grid(bits: bits, group: group)), scales + first * groups,
        totals + 2 * (task - 1), totals + 2 * (task - 1) + 1, values + step * columns)
    }
    if let found = failure.withLock({ $0 }) { throw found.error }
    for task in 0..<tasks {
      error.signal += errors[2 * task]
      error.noise += errors[2 * task + 1]
    }
  }

  /// Codes and F16 scales of `x: [n, k]`, as ``encode(rows:into:error:on:meanwhile:read:)`` makes them.
  package static func encode(
    _ x: borrowing Matrix, bits: Int, group: Int, error: inout Error, on compute: Compute
  ) -> (codes: [UInt8], scales: [UInt8]) {
    var packed = PackedRows(capacity: x.rows, columns: x.columns, bits: bits, group: group)
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
