internal import CDibitKernels
package import DibitQuantization
package import DibitTensor
internal import Synchronization

/// Whole weights, step by step: a method may choose its own scales (``Weight/setScales(_:)``), its own codes, or both.
extension GridQuantization {
  /// More significant bits than F16 has: a scale is rounded once.
  package static let fullScaleBits = 22

  /// The significant bits of a scale with which every level of a grid of up to 4 bits is a BF16 number, which has eight.
  ///
  /// A level without zero among them is an odd multiple of half the scale and takes as many bits more than it as the codes have. Of a full range
  /// it is a multiple up to 7, or a power of two, which takes none; of a trellis one up to 7.
  package static func scaleBits(forBFloatLevelsOf levels: GridLevels) -> Int {
    levels.isTrellis ? 5 : levels.isFullRange ? (levels.bits == 2 ? 8 : 9 - levels.bits) : 8 - levels.bits
  }

  /// Rounds an F32 weight to the grid of `packed`, a weight of the same shape: ``fitScales(of:into:scaleBits:on:)``, then
  /// ``chooseCodes(of:into:on:)``, a part of the rows at a time. Without `scaleBits` scales stay as they are. Allocates nothing.
  package static func round(_ weight: Weight, into packed: inout Weight, scaleBits: Int? = fullScaleBits, on compute: Compute) {
    forEachPart(weight, &packed, on: compute) { part, _ in
      if let scaleBits { part.fitScales(scaleBits: scaleBits) }
      _ = part.chooseCodes()
    }
  }

  /// Gives `packed` the scales of up to `scaleBits` significant bits that suit an F32 weight of the same shape; codes stay as they are.
  package static func fitScales(of weight: Weight, into packed: inout Weight, scaleBits: Int = fullScaleBits, on compute: Compute) {
    forEachPart(weight, &packed, on: compute) { part, _ in part.fitScales(scaleBits: scaleBits) }
  }

  /// Gives `packed`, whose scales are chosen, the codes of the levels that are nearest to an F32 weight of the same shape.
  ///
  /// - Returns: what is lost; it does not depend on the number of threads.
  package static func chooseCodes(of weight: Weight, into packed: inout Weight, on compute: Compute) -> Error {
    let errors = Mutex([Error](repeating: Error(), count: (weight.rows + partRows(weight.columns) - 1) / partRows(weight.columns)))
    forEachPart(weight, &packed, on: compute) { part, task in
      let lost = part.chooseCodes()
      errors.withLock { $0[task] = lost }
    }
    return errors.withLock { $0.reduce(into: Error(), +=) }
  }

  /// Gives `packed` codes that were chosen elsewhere, `[rows, columns]`; they must be among the codes of its grid.
  package static func pack(_ codes: Span<UInt8>, into packed: inout Weight, on compute: Compute) {
    guard let grid = packed.format.grid else { fatalError("GridQuantization.pack: codes into \(packed.format)") }
    let (rows, columns) = (packed.rows, packed.columns)
    require(codes.count == rows * columns, "GridQuantization.pack: \(codes.count) codes into \(packed.shape)")
    for index in codes.indices {
      require(
        codes[index] >> grid.levels.codeBits == 0, "GridQuantization.pack: code \(codes[index]) of \(grid.levels.bits) bits")
    }
    unsafe codes.withUnsafeBufferPointer { codes in
      unsafe packed.withMutableGrid { packedCodes, _ in
        compute.forEachRange(rows, step: partRows(columns)) { part, _ in
          guard let chosen = codes.baseAddress else { return }
          // SAFETY: the pointers hold `rows` rows, and parts are whole panels.
          unsafe compute.kernels.pack_codes(
            grid.kernel, chosen + part.lowerBound * columns, part.count, columns,
            packedCodes + grid.codeByteCount(rows: part.lowerBound, columns: columns))
        }
      }
    }
  }

  /// Rows of a task: whole panels, so that tasks write bytes of their own.
  private static func partRows(_ columns: Int) -> Int { Grid.panelRows * max(1, 2048 / max(columns, 1)) }

  private static func forEachPart(
    _ weight: Weight, _ packed: inout Weight, on compute: Compute, _ body: (GridRows, _ task: Int) -> Void
  ) {
    guard let grid = packed.format.grid, weight.format == .f32 else {
      fatalError("GridQuantization: \(weight.format) into \(packed.format)")
    }
    let (rows, columns) = (weight.rows, weight.columns)
    require(packed.rows == rows && packed.columns == columns, "GridQuantization: \(weight.shape) into \(packed.shape)")
    let step = partRows(columns)
    let values = unsafe weight.elements.pointer.assumingMemoryBound(to: Float.self)
    unsafe packed.withMutableGrid { codes, scales in
      compute.forEachRange(rows, step: step) { part, worker in
        let first = part.lowerBound
        // SAFETY: the pointers hold `rows` rows.
        body(
          unsafe GridRows(
            grid: grid, columns: columns, rows: part.count, values: values + first * columns,
            codes: codes + grid.codeByteCount(rows: first, columns: columns), scales: scales + first * grid.groups(columns: columns),
            scratch: compute.scratch(worker, count: GridRows.scratchCount(grid, columns: columns)), on: compute), first / step)
      }
    }
  }
}
