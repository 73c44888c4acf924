internal import CDibitKernels
internal import DibitQuantization
internal import DibitTensor
internal import Synchronization

/// The choice of codes for some rows of a weight at a time, each by itself; see ``CalibratedRounding``.
struct RowRounding {
  private let order: RoundingOrder
  private let grid: Grid
  private let columns: Int
  private let compute: Compute
  /// The group of the input at each position of the order, and the positions of each group's, one group after the other.
  private let group: [Int]
  private let members: [Int32]
  private let ends: [Int32]

  init(_ order: RoundingOrder, _ grid: Grid, columns: Int, on compute: Compute) {
    (self.order, self.grid, self.columns, self.compute) = (order, grid, columns, compute)
    let (length, groups) = (grid.groupLength(columns: columns), grid.groups(columns: columns))
    // Behind the last input of a row a chain goes on without any: what lies there shares the last scale.
    let group = order.inputs.map { min($0 / length, groups - 1) }
    var positions = [[Int32]](repeating: [], count: groups)
    for (position, input) in order.inputs.enumerated() where input < columns { positions[group[position]].append(Int32(position)) }
    self.group = group
    members = positions.flatMap(\.self)
    ends = positions.indices.map { group in positions[...group].reduce(0) { $0 + Int32($1.count) } }
  }

  /// The way to codes.
  enum Way {
    /// Error feedback, and so many sweeps of coordinate descent.
    case feedback(sweeps: Int)
    /// So many sweeps from codes that are there.
    case descent(sweeps: Int)
  }

  /// Rounds some rows of `w`, each less its row of `shift`. Before each sweep but the first behind feedback, scales are fitted to the codes as they are.
  ///
  /// - Parameters:
  ///   - shift: without rows where nothing is to be subtracted.
  ///   - packed: its scales are those to begin with, and are fitted.
  ///   - codes: of all of its rows.
  ///   - lost: what the rounded rows are more than those of `w`, read where codes are there and overwritten. Without rows where `shift` is, too.
  /// - Returns: what is lost, as ``CalibratedRounding/chooseCodes(of:into:sweeps:feedback:on:)`` says.
  func round(
    _ rows: [Int], of w: Weight, less shift: borrowing Matrix, _ way: Way, into packed: inout Weight, codes: inout [UInt8],
    errors lost: inout Matrix
  ) -> GridQuantization.Error {
    let (sweeps, goesOn) =
      switch way {
      case .feedback(let sweeps): (sweeps, false)
      case .descent(let sweeps): (sweeps, true)
      }
    let (columns, n, lanes) = (columns, order.inputs.count, Grid.panelRows)
    let (inputs, group, groups) = (order.inputs, group, grid.groups(columns: columns))
    let values = unsafe w.elements.pointer.assumingMemoryBound(to: Float.self)
    let (factor, moments, energies) = unsafe (order.factor.pointer, order.moments.pointer, order.energies.pointer)
    let chains = unsafe dibit_chains(
      energies: energies, own_energies: energies + n, within: order.within.pointer, inverse: order.inverse.pointer)
    let panelCount = Grid.panels(rows: rows.count)
    let losses = Mutex([GridQuantization.Error](repeating: GridQuantization.Error(), count: panelCount))
    let shifts = shift.rows > 0
    let (shift, lost) = unsafe (shift.pointer, lost.mutablePointer)
    func scaleIndex(_ row: Int, _ group: Int) -> Int { (row / lanes * groups + group) * lanes + row % lanes }
    unsafe packed.withMutableGrid { _, scales in
      unsafe codes.withUnsafeMutableBufferPointer { codes in
        guard let target = codes.baseAddress else { return }
        compute.forEachRange(panelCount, step: CalibratedRounding.panelsTogether(panelCount, on: compute)) { panels, worker in
          // SAFETY: panels are [n, 16] floats each; the codes take a quarter of that. A task writes codes, scales and errors of its rows.
          let size = panels.count * n * lanes
          let work = unsafe compute.scratch(worker, count: 4 * size)
          let (x, scale, errors) = unsafe (work, work + size, work + 2 * size)
          let chosen = unsafe UnsafeMutableRawPointer(work + 3 * size).assumingMemoryBound(to: UInt8.self)
          // Lanes behind the last row hold zeros.
          let present = panels.lowerBound * lanes..<min(panels.upperBound * lanes, rows.count)
          unsafe work.update(repeating: 0, count: 4 * size)
          func lane(_ index: Int, _ k: Int) -> Int { ((index - present.lowerBound) / lanes * n + k) * lanes + index % lanes }
          for index in present {
            let row = rows[index]
            for k in 0..<n {
              let to = lane(index, k)
              unsafe scale[to] = Float(Float16(bitPattern: scales[scaleIndex(row, group[k])]))
              guard inputs[k] < columns else { continue }
              unsafe x[to] = values[row * columns + inputs[k]]
              guard shifts else { continue }
              let own = index * columns + inputs[k]
              unsafe x[to] -= shift[own]
              guard goesOn else { continue }
              unsafe errors[to] = -lost[own] - shift[own]
              unsafe chosen[to] = target[row * columns + inputs[k]]
            }
          }
          let task = unsafe dibit_panels(count: panels.count, inputs: n, x: x, scales: scale, errors: errors, codes: chosen)
          unsafe withUnsafePointer(to: chains) { chains in
            unsafe withUnsafePointer(to: task) { task in
              if !goesOn { unsafe compute.kernels.round_feedback(grid.kernel, task, factor, chains) }
              for sweep in 0..<sweeps {
                if goesOn || sweep > 0 {
                  unsafe compute.kernels.refit_scales(
                    grid.kernel, Int32(GridQuantization.fullScaleBits), task, groups, members, ends, moments)
                }
                unsafe compute.kernels.round_descent(grid.kernel, task, moments, chains)
              }
            }
          }
          for index in present {
            let row = rows[index]
            for k in 0..<n where inputs[k] < columns {
              let (from, own) = (lane(index, k), index * columns + inputs[k])
              unsafe target[row * columns + inputs[k]] = chosen[from]
              unsafe scales[scaleIndex(row, group[k])] = Float16(scale[from]).bitPattern
              guard shifts else { continue }
              unsafe x[from] += shift[own]
              unsafe errors[from] += shift[own]
              unsafe lost[own] = -errors[from]
            }
          }
          var (signal, noise) = ([Double](repeating: 0, count: panels.count), [Double](repeating: 0, count: panels.count))
          unsafe compute.kernels.moment_energies(panels.count, n, moments, x, &signal)
          unsafe compute.kernels.moment_energies(panels.count, n, moments, errors, &noise)
          losses.withLock { losses in
            for (index, panel) in panels.enumerated() {
              (losses[panel].signal, losses[panel].noise) = (signal[index], max(0, noise[index]))
            }
          }
        }
      }
    }
    return losses.withLock { $0.reduce(into: GridQuantization.Error(), +=) }
  }
}
