internal import CDibitKernels
internal import DibitQuantization
internal import DibitTensor

/// Rows of floats, the first of which begins a panel, and where their codes and scales go: what the kernels of a grid work on.
@safe
struct GridRows {
  private let compute: Compute
  private let grid: Grid
  private let columns: Int
  private let rows: Int
  private let values: UnsafePointer<Float>
  private let codes: UnsafeMutablePointer<UInt8>
  private let scales: UnsafeMutablePointer<UInt16>
  private let scratch: UnsafeMutablePointer<Float>

  /// The pointers must hold `rows` rows, and `scratch` ``scratchCount(_:columns:)`` floats.
  @unsafe init(
    grid: Grid, columns: Int, rows: Int, values: UnsafePointer<Float>, codes: UnsafeMutablePointer<UInt8>,
    scales: UnsafeMutablePointer<UInt16>, scratch: UnsafeMutablePointer<Float>, on compute: Compute
  ) {
    unsafe (self.compute, self.grid, self.columns, self.rows, self.values) = (compute, grid, columns, rows, values)
    unsafe (self.codes, self.scales, self.scratch) = (codes, scales, scratch)
  }

  /// Floats that fitting needs.
  static func scratchCount(_ grid: Grid, columns: Int) -> Int {
    let length = grid.groupLength(columns: columns)
    if grid.levels.isTrellis { return 2 * Grid.panelRows * ((length + Grid.chain - 1) / Grid.chain * Grid.chain) }
    return grid.groups(columns: columns) == 1 ? columns + 15 : 16 * length
  }

  /// Writes scales of up to `scaleBits` significant bits.
  func fitScales(scaleBits: Int) {
    require((2...GridQuantization.fullScaleBits).contains(scaleBits), "GridQuantization: scales of \(scaleBits) bits")
    // SAFETY: as promised to init.
    unsafe compute.kernels.fit_scales(grid.kernel, Int32(scaleBits), grid.kernelGroup(columns), values, rows, columns, scales, scratch)
  }

  /// Writes the codes that are nearest with the scales that are there, and says what they lose.
  func chooseCodes() -> GridQuantization.Error {
    var error = GridQuantization.Error()
    // SAFETY: as promised to init.
    unsafe compute.kernels.choose_codes(
      grid.kernel, grid.kernelGroup(columns), values, rows, columns, scales, codes, &error.signal, &error.noise)
    return error
  }
}

extension Grid {
  /// The kernels' name of the grid: they list grids in the order of the table.
  var kernel: dibit_format { dibit_format(DIBIT_BF16.rawValue + 1 + UInt32(levels.index)) }

  /// The group as the kernels want it, never nil.
  func kernelGroup(_ columns: Int) -> Int { group ?? max(columns, 1) }
}
