internal import CDibitKernels
internal import DibitQuantization
package import DibitTensor
internal import Synchronization

/// Rounding of a linear layer by what its inputs are like: what counts is not the error of a weight but that of `x Wᵀ`.
///
/// With the second moments `H = mean(x xᵀ)` of its inputs the squared error of an output is `e H eᵀ`, for the errors `e` of its row. Scales are
/// fitted with weights, then inputs are rounded one after the other, each making up for the errors of those before it (GPTQ, Frantar et al.,
/// 2022; in the form of LDLQ, Chee et al., 2023), then sweeps of coordinate descent improve what is left.
package struct CalibratedRounding: ~Copyable {
  /// Inputs of the layer.
  package let columns: Int
  private let moments: Matrix  // [n, n] in the order of rounding
  private let factor: Matrix  // [n, n] row k: what errors of inputs before it add to input k
  private let order: [Int]

  /// Takes second moments `[n, n]` of inputs, of any positive scale. `damping` is the share of its own by which each input's moment is
  /// raised: it stands for what other texts would do.
  ///
  /// - Returns: nil where the moments have no factor, because they are not finite.
  package static func make(moments h: borrowing Matrix, damping: Float = 0.01, on compute: Compute) -> CalibratedRounding? {
    require(h.rows == h.columns, "CalibratedRounding: moments \(h.shape)")
    let n = h.rows
    let own = (0..<n).map { h[$0, $0] }
    guard own.allSatisfy(\.isFinite) else { return nil }
    // Inputs that never come get a little, so that there is a factor.
    let least = max(own.sorted()[n / 2] * 1e-5, own.reduce(0, max) * 1e-9, Float.leastNormalMagnitude)
    // What matters most is rounded first, when most is left to make up for it.
    let order = own.indices.sorted { (own[$0], $1) > (own[$1], $0) }
    var ordered = Matrix(rows: n, columns: n)
    for (row, from) in order.enumerated() { for (column, other) in order.enumerated() { ordered[row, column] = h[from, other] } }
    var share = damping
    // Backwards, because the factor is to be an upper one: H = R Rᵀ.
    var reversed = Matrix(rows: n, columns: n)
    repeat {
      if share > 10 { return nil }
      for row in 0..<n {
        for column in 0...row { reversed[row, column] = ordered[n - 1 - row, n - 1 - column] }
        reversed[row, row] += share * own[order[n - 1 - row]] + least
      }
      if Cholesky.factor(&reversed, on: compute) { break }
      share = share * 2 + 0.01
    } while true
    var factor = Matrix(rows: n, columns: n)
    for k in 0..<n {
      let inverse = 1 / reversed[n - 1 - k, n - 1 - k]
      for i in 0..<k { factor[k, i] = reversed[n - 1 - i, n - 1 - k] * inverse }
    }
    for k in 0..<n { ordered[k, k] += share * own[order[k]] + least }
    return CalibratedRounding(columns: n, moments: ordered, factor: factor, order: order)
  }

  private init(columns: Int, moments: consuming Matrix, factor: consuming Matrix, order: [Int]) {
    (self.columns, self.order) = (columns, order)
    self.moments = moments
    self.factor = factor
  }

  /// Returns the weight `W + (α W C + β L) (H + D)⁻¹`, where `D` is a tenth of the diagonal of `H`: a layer makes up for what those before it
  /// lost.
  ///
  /// - Parameters:
  ///   - moments: of the inputs; `C` is ``SecondMoments/cross``, and with it the outputs come nearer to those for the inputs of the
  ///     float model; `L` is ``SecondMoments/lost``, of what the sum that the outputs are added to lacks.
  ///   - alpha: the share of `C` that is made up for: all of it would shrink the outputs, as a regression on noisy inputs does.
  ///   - beta: the share of `L`.
  /// - Returns: nil where the moments have no factor, because they are not finite.
  package static func corrected(
    _ w: Weight, by moments: borrowing SecondMoments, alpha: Float, beta: Float, on compute: Compute
  ) -> Weight? {
    let (rows, n) = (w.rows, w.columns)
    let outputs = moments.lost.rows
    require(
      moments.products.columns == n && (outputs == 0 || outputs == rows), "CalibratedRounding: \(w.shape), lost \(moments.lost.shape)")
    var values = Matrix(rows: rows, columns: n, values: w.valuesCopy)
    var factor = Matrix(rows: n, columns: n)
    factor.copy(moments.products)
    let mean = (0..<n).reduce(Float(0)) { $0 + factor[$1, $1] } / Float(max(n, 1))
    for k in 0..<n { factor[k, k] += 0.1 * factor[k, k] + 1e-6 * mean }
    guard Cholesky.factor(&factor, on: compute) else { return nil }
    for row in 0..<n { for column in 0..<row { factor[column, row] = factor[row, column] } }
    var change = Matrix(rows: rows, columns: n)
    Gemm.nn(values, moments.cross, scale: alpha, into: &change, on: compute)
    for row in 0..<outputs { for k in 0..<n { change[row, k] += beta * moments.lost[row, k] } }
    let (a, difference, target) = unsafe (factor.pointer, change.pointer, values.mutablePointer)
    compute.forEachRange(rows, step: Grid.panelRows) { part, worker in
      // SAFETY: a panel is [n, 16] floats; tasks write rows of their own.
      let x = unsafe compute.scratch(worker, count: n * Grid.panelRows)
      for k in 0..<n {
        for lane in 0..<Grid.panelRows {
          unsafe x[k * Grid.panelRows + lane] = lane < part.count ? difference[(part.lowerBound + lane) * n + k] : 0
        }
      }
      unsafe compute.kernels.solve_factored(n, a, x)
      for lane in 0..<part.count {
        for k in 0..<n { unsafe target[(part.lowerBound + lane) * n + k] += x[k * Grid.panelRows + lane] }
      }
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
          let work = unsafe compute.scratch(worker, count: 2 * length * Grid.panelRows + Grid.panelRows)
          let (x, share, found) = unsafe (work, work + length * Grid.panelRows, work + 2 * length * Grid.panelRows)
          for panel in panels {
            for group in 0..<groups {
              let part = group * length..<min((group + 1) * length, columns)
              for lane in 0..<Grid.panelRows {
                let row = panel * Grid.panelRows + lane
                var square: Float = 0
                for column in part {
                  let value = row < rows ? unsafe values[row * columns + column] : 0
                  unsafe x[(column - part.lowerBound) * Grid.panelRows + lane] = value
                  square += value * value
                }
                let variance = square / Float(part.count)
                for column in part {
                  let at = (column - part.lowerBound) * Grid.panelRows + lane
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
  /// - Returns: what is lost, each input counted by its second moments: `Σ w H wᵀ` and `Σ e H eᵀ` over the rows.
  @discardableResult
  package func chooseCodes(of w: Weight, into packed: inout Weight, sweeps: Int = 4, on compute: Compute) -> GridQuantization.Error {
    let grid = Self.check(w, packed)
    let (rows, n) = (w.rows, columns)
    require(w.columns == n, "CalibratedRounding: \(w.shape) with moments of \(n) inputs")
    let length = grid.groupLength(columns: n)
    let lanes = Grid.panelRows
    var codes = [UInt8](repeating: 0, count: rows * n)
    let values = unsafe w.elements.pointer.assumingMemoryBound(to: Float.self)
    let (factor, moments) = unsafe (self.factor.pointer, self.moments.pointer)
    let groups = grid.groups(columns: n)
    var inputs = [[Int32]](repeating: [], count: groups)
    for (position, input) in order.enumerated() { inputs[input / length].append(Int32(position)) }
    let members = inputs.flatMap(\.self)
    let ends = inputs.indices.map { group in inputs[...group].reduce(0) { $0 + Int32($1.count) } }
    let losses = Mutex([GridQuantization.Error](repeating: GridQuantization.Error(), count: Grid.panels(rows: rows)))
    unsafe packed.withMutableGrid { _, scales in
      unsafe codes.withUnsafeMutableBufferPointer { codes in
        guard let target = codes.baseAddress else { return }
        compute.forEachRange(Grid.panels(rows: rows), step: 1) { panels, worker in
          // SAFETY: a panel is [n, 16] floats; the codes take a quarter of one. A task writes codes and scales of its rows.
          let size = n * lanes
          let work = unsafe compute.scratch(worker, count: 4 * size)
          let (x, scale, errors) = unsafe (work, work + size, work + 2 * size)
          let chosen = unsafe UnsafeMutableRawPointer(work + 3 * size).assumingMemoryBound(to: UInt8.self)
          for panel in panels {
            let stored = unsafe scales + panel * groups * lanes
            for k in 0..<n {
              for lane in 0..<lanes {
                let row = panel * lanes + lane
                unsafe x[k * lanes + lane] = row < rows ? values[row * n + order[k]] : 0
                unsafe scale[k * lanes + lane] = Float(Float16(bitPattern: stored[order[k] / length * lanes + lane]))
              }
            }
            unsafe compute.kernels.round_feedback(grid.kernel, n, factor, x, scale, errors, chosen)
            for sweep in 0..<sweeps {
              if sweep > 0 {
                unsafe compute.kernels.refit_scales(
                  grid.kernel, Int32(GridQuantization.fullScaleBits), n, groups, members, ends, moments, chosen, scale, errors)
              }
              unsafe compute.kernels.round_descent(grid.kernel, n, moments, x, scale, errors, chosen)
            }
            for k in 0..<n {
              for lane in 0..<lanes where panel * lanes + lane < rows {
                unsafe target[(panel * lanes + lane) * n + order[k]] = chosen[k * lanes + lane]
                unsafe stored[order[k] / length * lanes + lane] = Float16(scale[k * lanes + lane]).bitPattern
              }
            }
            let lost = unsafe Self.energies(x, errors, moments, n)
            losses.withLock { $0[panel] = lost }
          }
        }
      }
    }
    GridQuantization.pack(codes.span, into: &packed, on: compute)
    return losses.withLock { $0.reduce(into: GridQuantization.Error(), +=) }
  }

  /// `Σ w H wᵀ` and `Σ e H eᵀ` over the sixteen rows of a panel.
  @unsafe private static func energies(
    _ w: UnsafePointer<Float>, _ e: UnsafePointer<Float>, _ moments: UnsafePointer<Float>, _ n: Int
  ) -> GridQuantization.Error {
    typealias Lanes = SIMD16<Float>
    func lanes(_ p: UnsafePointer<Float>, _ k: Int) -> Lanes {
      unsafe UnsafeRawPointer(p + k * Grid.panelRows).loadUnaligned(as: Lanes.self)
    }
    var (signal, noise) = (SIMD16<Double>(), SIMD16<Double>())
    for k in 0..<n {
      var (a, b) = (Lanes(), Lanes())
      for i in 0..<n {
        let moment = unsafe moments[k * n + i]
        unsafe a += lanes(w, i) * moment
        unsafe b += lanes(e, i) * moment
      }
      unsafe signal += SIMD16<Double>(a * lanes(w, k))
      unsafe noise += SIMD16<Double>(b * lanes(e, k))
    }
    var lost = GridQuantization.Error()
    (lost.signal, lost.noise) = (signal.sum(), max(0, noise.sum()))
    return lost
  }

  private static func check(_ w: Weight, _ packed: Weight) -> Grid {
    guard let grid = packed.format.grid, w.format == .f32 else { fatalError("CalibratedRounding: \(w.format) into \(packed.format)") }
    require(packed.rows == w.rows && packed.columns == w.columns, "CalibratedRounding: \(w.shape) into \(packed.shape)")
    return grid
  }
}

extension Weight {
  fileprivate var valuesCopy: [Float] {
    let span = values
    return Array(copying: span)
  }
}
