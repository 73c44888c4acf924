internal import CDibitKernels
package import DibitTensor

extension GridQuantization {
  /// The significant bits of a scale with which every level of a grid is a BF16 number: a level is an odd multiple of half the scale, up to
  /// `2^bits - 1`, and takes `bits` more than it.
  package static func scaleBits(forBFloatLevelsOf bits: Int) -> Int { 8 - bits }

  /// Rounds an F32 weight to the grid of `packed`, a weight of the same shape, with scales of up to `scaleBits` significant bits.
  ///
  /// Codes and scales are those of ``encode(rows:into:error:on:meanwhile:read:)`` but for the scales' bits. Allocates nothing.
  package static func round(_ weight: Weight, into packed: inout Weight, scaleBits: Int, on compute: Compute) {
    let format = packed.format
    guard case .grid(let bits, let group) = format, weight.format == .f32 else {
      fatalError("GridQuantization.round: \(weight.format) into \(format)")
    }
    let (rows, columns) = (weight.rows, weight.columns)
    require(packed.rows == rows && packed.columns == columns, "GridQuantization.round: \(weight.shape) into \(packed.shape)")
    require((2...22).contains(scaleBits), "GridQuantization.round: scales of \(scaleBits) bits")
    let groups = Weight.groups(columns: columns, group: group)
    let room = groups == 1 ? columns + 15 : 16 * group
    // Whole panels: tasks write bytes of their own.
    let step = Weight.panelRows * max(1, 2048 / max(columns, 1))
    let values = unsafe weight.elements.pointer.assumingMemoryBound(to: Float.self)
    unsafe packed.withMutableGrid { codes, scales in
      compute.forEachRange(rows, step: step) { part, worker in
        var (signal, noise) = (0.0, 0.0)
        let first = part.lowerBound
        // SAFETY: the pointers hold `rows` rows, and `room` is what the kernel asks for.
        unsafe compute.kernels.quantize(
          Int32(bits), Int32(scaleBits), group, values + first * columns, part.count, columns,
          codes + Weight.elementByteCount(rows: first, columns: columns, format: format), scales + first * groups, &signal, &noise,
          compute.scratch(worker, count: room))
      }
    }
  }
}
