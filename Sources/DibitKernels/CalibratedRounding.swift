internal import CDibitKernels
package import DibitQuantization
package import DibitTensor

/// Rounding of a linear layer by what its inputs are like: what counts is not the error of a weight but that of `x Wᵀ`.
///
/// With the second moments `H = mean(x xᵀ)` of its inputs the squared error of an output is `e H eᵀ`, for the errors `e` of its row. Scales are
/// fitted with weights, then inputs are rounded one after the other, each making up for the errors of those before it (GPTQ, Frantar et al.,
/// 2022; in the form of LDLQ, Chee et al., 2023), then sweeps of coordinate descent improve what is left.
package struct CalibratedRounding: ~Copyable {
  /// Inputs of the layer.
  package let columns: Int
  private let single: RoundingOrder?
  private let chained: RoundingOrder?

  /// Takes second moments `[n, n]` of inputs, of any positive scale. `damping` is the share of its own by which each input's moment is
  /// raised: it stands for what other texts would do.
  ///
  /// - Parameter formats: those of the weights that are to be rounded.
  /// - Returns: nil where the moments have no factor, because they are not finite.
  package static func make(
    moments h: borrowing Matrix, for formats: [WeightFormat], damping: Float = 0.01, on compute: Compute
  ) -> CalibratedRounding? {
    require(h.rows == h.columns, "CalibratedRounding: moments \(h.shape)")
    func order(_ isTrellis: Bool) -> (isThere: Bool, order: RoundingOrder?) {
      guard formats.contains(where: { $0.grid?.levels.isTrellis == isTrellis }) else { return (true, nil) }
      let order = RoundingOrder(moments: h, inChains: isTrellis, damping: damping, on: compute)
      return (order != nil, order)
    }
    let (single, chained) = (order(false), order(true))
    guard single.isThere, chained.isThere else { return nil }
    return CalibratedRounding(columns: h.rows, single: single.order, chained: chained.order)
  }

  private init(columns: Int, single: RoundingOrder?, chained: RoundingOrder?) {
    (self.columns, self.single, self.chained) = (columns, single, chained)
  }

  /// Returns the weight `W + (α W C + M) (H + D)⁻¹`, where `D` is a tenth of the diagonal of `H`: a layer makes up for what those before it
  /// lost.
  ///
  /// - Parameters:
  ///   - moments: of the inputs; `C` is ``SecondMoments/cross``, and with it the outputs come nearer to those for the inputs of the
  ///     float model; `M` is ``SecondMoments/missing``. Either may be left out.
  ///   - alpha: the share of `C` that is made up for: all of it would shrink the outputs, as a regression on noisy inputs does.
  /// - Returns: nil where the moments have no factor, because they are not finite.
  package static func corrected(
    _ w: Weight, by moments: borrowing SecondMoments, alpha: Float, on compute: Compute
  ) -> Weight? {
    let (rows, n) = (w.rows, w.columns)
    let outputs = moments.missing.rows
    require(
      moments.products.columns == n && (outputs == 0 || outputs == rows), "CalibratedRounding: \(w.shape), missing \(moments.missing.shape)"
    )
    var values = Matrix(rows: rows, columns: n, values: w.valuesCopy)
    var factor = Matrix(rows: n, columns: n)
    factor.copy(moments.products)
    let mean = (0..<n).reduce(Float(0)) { $0 + factor[$1, $1] } / Float(max(n, 1))
    for k in 0..<n { factor[k, k] += 0.1 * factor[k, k] + 1e-6 * mean }
    guard Cholesky.factor(&factor, on: compute) else { return nil }
    for row in 0..<n { for column in 0..<row { factor[column, row] = factor[row, column] } }
    var change = Matrix(rows: rows, columns: n)
    if moments.cross.rows > 0 { Gemm.nn(values, moments.cross, scale: alpha, into: &change, on: compute) }
    if outputs > 0 { change.add(moments.missing, on: compute) }
    let (a, difference, target) = unsafe (factor.pointer, change.pointer, values.mutablePointer)
    let lanes = Grid.panelRows
    compute.forEachRange(rows, step: panelsTogether(Grid.panels(rows: rows), on: compute) * lanes) { part, worker in
      let panels = Grid.panels(rows: part.count)
      // SAFETY: panels are [n, 16] floats each; tasks write rows of their own.
      let x = unsafe compute.scratch(worker, count: panels * n * lanes)
      func at(_ row: Int, _ k: Int) -> Int { (row / lanes * n + k) * lanes + row % lanes }
      for row in 0..<panels * lanes {
        for k in 0..<n { unsafe x[at(row, k)] = row < part.count ? difference[(part.lowerBound + row) * n + k] : 0 }
      }
      unsafe compute.kernels.solve_factored(panels, n, a, x)
      for row in 0..<part.count { for k in 0..<n { unsafe target[(part.lowerBound + row) * n + k] += x[at(row, k)] } }
    }
    return Weight(rows: rows, columns: n, values: values.values)
  }

  /// Gives `packed` scales for the F32 weight `w`, of the same shape, that lose least where `importance: [n]`, an input's energy, is large.
  ///
  /// An error of a large weight counts more than that of a small one, by `sqrt(σ² + w²)`.
  package static func fitScales(of w: Weight, importance: Span<Float>, into packed: inout Weight, on compute: Compute) {
    let grid = check(w, packed)
    let (rows, columns) = (w.rows, w.columns)
    require(importance.count == columns, "CalibratedRounding: \(importance.count) importances for \(w.shape)")
    let (groups, length) = (grid.groups(columns: columns), grid.groupLength(columns: columns))
    let values = unsafe w.elements.pointer.assumingMemoryBound(to: Float.self)
    // Inputs that never come have scales too.
    var mean: Float = 0
    for index in importance.indices { mean += importance[index] / Float(columns) }
    let least = mean > 0 ? mean * 1e-6 : 1
    unsafe importance.withUnsafeBufferPointer { importance in
      unsafe packed.withMutableGrid { _, scales in
        compute.forEachRange(Grid.panels(rows: rows), step: 1) { panels, worker in
          // SAFETY: rows beyond the last are zeros; a task writes the scales of its panels.
          let padded = (length + Grid.chain - 1) / Grid.chain * Grid.chain
          let work = unsafe compute.scratch(worker, count: 2 * padded * Grid.panelRows + Grid.panelRows)
          let (x, share, found) = unsafe (work, work + padded * Grid.panelRows, work + 2 * padded * Grid.panelRows)
          for panel in panels {
            for group in 0..<groups {
              let part = group * length..<min((group + 1) * length, columns)
              if grid.levels.isTrellis { for index in 0..<2 * padded * Grid.panelRows { unsafe work[index] = 0 } }
              for lane in 0..<Grid.panelRows {
                let row = panel * Grid.panelRows + lane
                var square: Float = 0
                for column in part {
                  let value = row < rows ? unsafe values[row * columns + column] : 0
                  unsafe x[grid.position(inGroup: column - part.lowerBound) * Grid.panelRows + lane] = value
                  square += value * value
                }
                let variance = square / Float(part.count)
                for column in part {
                  let at = grid.position(inGroup: column - part.lowerBound) * Grid.panelRows + lane
                  unsafe share[at] = (importance[column] + least) * (variance + x[at] * x[at]).squareRoot()
                }
              }
              unsafe compute.kernels.fit_important(grid.kernel, Int32(GridQuantization.fullScaleBits), part.count, x, share, found)
              for lane in 0..<Grid.panelRows {
                let isThere = panel * Grid.panelRows + lane < rows
                unsafe scales[(panel * groups + group) * Grid.panelRows + lane] =
                  isThere ? GridRounding.stored(found[lane]).bitPattern : 0
              }
            }
          }
        }
      }
    }
  }

  /// Gives `packed`, whose scales are chosen, codes for the F32 weight `w` of the same shape. `sweeps` of coordinate descent follow the
  /// first choice; between them each scale is fitted anew to the codes.
  ///
  /// - Parameter feedback: what errors of some outputs add to others, for all of them; none where each row is rounded by itself.
  /// - Returns: what is lost, each input counted by its second moments: `Σ w H wᵀ` and `Σ e H eᵀ` over the rows.
  @discardableResult
  package func chooseCodes(
    of w: Weight, into packed: inout Weight, sweeps: Int = 4, feedback: [OutputFeedback] = [], on compute: Compute
  ) -> GridQuantization.Error {
    let grid = Self.check(w, packed)
    require(w.columns == columns, "CalibratedRounding: \(w.shape) with moments of \(columns) inputs")
    let outputs = feedback.reduce(0) { $0 + $1.rows.count }
    require(feedback.isEmpty || outputs == w.rows, "CalibratedRounding: \(w.shape) with feedback of \(outputs) outputs")
    guard let order = grid.levels.isTrellis ? chained : single else { fatalError("CalibratedRounding: not made for \(grid)") }
    let rounding = RowRounding(order, grid, columns: columns, on: compute)
    var codes = [UInt8](repeating: 0, count: w.rows * columns)
    var lost = GridQuantization.Error()
    if feedback.isEmpty {
      let none = Matrix(rows: 0, columns: columns)
      var errors = Matrix(rows: 0, columns: columns)
      lost = rounding.round(
        Array(0..<w.rows), of: w, less: none, .feedback(sweeps: sweeps), into: &packed, codes: &codes, errors: &errors)
    }
    for outputs in feedback {
      // Errors of rows behind a block are not known at first.
      var errors = Matrix(rows: outputs.rows.count, columns: columns)
      _ = round(outputs, of: w, rounding, .feedback(sweeps: sweeps), into: &packed, &codes, &errors, on: compute)
      lost += round(outputs, of: w, rounding, .descent(sweeps: 1), into: &packed, &codes, &errors, on: compute)
    }
    GridQuantization.pack(codes.span, into: &packed, on: compute)
    return lost
  }

  /// Rounds rows whose errors make up for each other, block by block. `errors` are what they have already, and overwritten.
  private func round(
    _ outputs: OutputFeedback, of w: Weight, _ rounding: RowRounding, _ way: RowRounding.Way, into packed: inout Weight,
    _ codes: inout [UInt8], _ errors: inout Matrix, on compute: Compute
  ) -> GridQuantization.Error {
    var shift = Matrix(rows: OutputFeedback.block, columns: columns)
    var own = Matrix(rows: OutputFeedback.block, columns: columns)
    var lost = GridQuantization.Error()
    for block in outputs.blocks {
      shift.setRows(block.count)
      own.setRows(block.count)
      shift.fill(0)
      Gemm.nn(outputs.shares(block), errors, into: &shift, on: compute)
      for row in 0..<block.count { own.copyRow(block.lowerBound + row, of: errors, to: row) }
      lost += rounding.round(Array(outputs.rows[block]), of: w, less: shift, way, into: &packed, codes: &codes, errors: &own)
      for row in 0..<block.count { errors.copyRow(row, of: own, to: block.lowerBound + row) }
    }
    return lost
  }

  /// The number of panels of which a task has so many at most: they share what is read of the moments, and every thread has some.
  static func panelsTogether(_ panels: Int, on compute: Compute) -> Int {
    // Few take about as long as each other.
    let tasks = panels > 2 * compute.threads ? panels / (2 * compute.threads) : (panels + compute.threads - 1) / compute.threads
    return max(1, min(Int(DIBIT_PANELS), tasks))
  }

  private static func check(_ w: Weight, _ packed: Weight) -> Grid {
    guard let grid = packed.format.grid, w.format == .f32 else { fatalError("CalibratedRounding: \(w.format) into \(packed.format)") }
    require(packed.rows == w.rows && packed.columns == w.columns, "CalibratedRounding: \(w.shape) into \(packed.shape)")
    return grid
  }
}

extension Grid {
  /// The position at which kernels that fit scales want an input of a group: those of a trellis in the order of their chains.
  fileprivate func position(inGroup input: Int) -> Int {
    levels.isTrellis ? input / Self.chain * Self.chain + Self.position(inChain: input) : input
  }
}

extension Weight {
  fileprivate var valuesCopy: [Float] {
    let span = values
    return Array(copying: span)
  }
}
