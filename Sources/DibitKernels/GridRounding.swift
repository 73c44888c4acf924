internal import CDibitKernels
internal import DibitQuantization
package import DibitTensor
internal import Synchronization

#if canImport(Glibc)
  internal import Glibc
#endif

/// Rounding to a grid as a part of training: the scales are trained too, and gradients go straight through the choice of the level (Bengio,
/// Léonard and Courville, 2013).
///
/// A weight `w` under the scale `s` runs as `s q(w / s)`. The derivative by `w` is taken to be one between the ends of the grid and none beyond
/// them. That by `s` is `q`, which it is as long as no weight changes its level. To take `q - w / s` between the ends (Esser et al., "Learned step
/// size quantization", 2020) counts a change of levels that the step does not make, and trains more slowly. Scales are trained as their logarithms,
/// so that a step changes each by a share of itself.
package enum GridRounding {
  /// Overwrites `logScales: [rows, groups]` with the logarithms of the magnitudes of a packed weight's scales; a scale of zero counts as the
  /// least.
  package static func takeLogScales(of packed: Weight, into logScales: inout Matrix) {
    let groups = groups(of: packed, logScales.shape, logScales.count)
    for row in 0..<packed.rows {
      for group in 0..<groups { logScales[row, group] = log(max(abs(Float(packed.scale(row: row, group: group))), least)) }
    }
  }

  /// Gives a packed weight the scales with these logarithms, `[rows, groups]`. Their signs and the codes stay as they are.
  package static func setScales(_ logScales: borrowing Matrix, of packed: inout Weight, on compute: Compute) {
    let (rows, groups) = (packed.rows, groups(of: packed, logScales.shape, logScales.count))
    let logs = unsafe logScales.pointer
    unsafe packed.withMutableGrid { _, scales in
      compute.forEachRange(Grid.panels(rows: rows), step: 1) { panels, _ in
        for panel in panels {
          for row in panel * Grid.panelRows..<min((panel + 1) * Grid.panelRows, rows) {
            for group in 0..<groups {
              // SAFETY: `rows * groups` logarithms, and scales for whole panels.
              let magnitude = unsafe rounded(exp(logs[row * groups + group]))
              let index = (panel * groups + group) * Grid.panelRows + row % Grid.panelRows
              unsafe scales[index] = magnitude.bitPattern | scales[index] & Float16.signBit
            }
          }
        }
      }
    }
  }

  /// The unit of the rates of weights: the mean distance of a grid's levels, by the geometric mean of the scales with these logarithms.
  package static func meanSpacing(_ logScales: borrowing Matrix, of packed: Weight) -> Float {
    var sum = 0.0
    let logs = logScales.span
    for index in logs.indices { sum += Double(logs[index]) }
    return Float(exp(sum / Double(max(logs.count, 1)))) * (packed.format.grid?.levels.spacing ?? 1)
  }

  /// Moves each element of `w` that rounds to another level than its own in `packed`, a weight of the same shape, to `distance` scales from that
  /// level, on the side that it comes from: rounded to these scales, `w` has these codes. The distance is less than half, as scales are rounded. On a
  /// trellis it is the most, and more than half may do.
  package static func pull(_ w: inout Weight, toCodesOf packed: Weight, distance: Float, on compute: Compute) {
    guard let levels = packed.format.grid?.levels else { fatalError("GridRounding: \(packed.format) is no grid") }
    require(w.count == packed.count, "GridRounding: \(w.shape), \(packed.shape)")
    guard !levels.isTrellis else { return pullChains(&w, toCodesOf: packed, distance: distance, on: compute) }
    let expanded = packed.floats(on: compute)
    let rounded = expanded.values
    w.withMutableValues { values in
      // SAFETY: as many elements; rows of a task are its own.
      unsafe values.withUnsafeMutableBufferPointer { values in
        unsafe rounded.withUnsafeBufferPointer { rounded in
          forEachGroup(packed, on: compute) { scale, part in
            guard scale != 0 else { return }
            for index in part {
              let (u, level) = unsafe (values[index] / scale, levels.nearest(rounded[index] / scale))
              guard levels.nearest(u) != level else { continue }
              unsafe values[index] = scale * (level + (u > level ? distance : -distance))
            }
          }
        }
      }
    }
  }

  /// The same on a trellis, whose levels are not chosen one by one: chains that round to others than their own come as near to them as it takes.
  private static func pullChains(_ w: inout Weight, toCodesOf packed: Weight, distance: Float, on compute: Compute) {
    let expanded = packed.floats(on: compute)
    let rounded = expanded.values
    var limit = distance
    for attempt in 0..<8 {
      var trial = packed
      _ = GridQuantization.chooseCodes(of: w, into: &trial, on: compute)
      let expandedTrial = trial.floats(on: compute)
      let found = expandedTrial.values
      if attempt == 7 { limit = 0 }
      let moved = Mutex(false)
      w.withMutableValues { values in
        // SAFETY: as many elements; rows of a task are its own.
        unsafe values.withUnsafeMutableBufferPointer { values in
          unsafe rounded.withUnsafeBufferPointer { rounded in
            unsafe found.withUnsafeBufferPointer { found in
              forEachGroup(packed, on: compute) { scale, part in
                let most = limit * abs(scale)
                for first in stride(from: part.lowerBound, to: part.upperBound, by: Grid.chain) {
                  let chain = first..<min(first + Grid.chain, part.upperBound)
                  guard chain.contains(where: { unsafe found[$0] != rounded[$0] }) else { continue }
                  moved.withLock { $0 = true }
                  for index in chain { unsafe values[index] = rounded[index] + min(max(values[index] - rounded[index], -most), most) }
                }
              }
            }
          }
        }
      }
      guard moved.withLock({ $0 }) else { return }
      limit /= 2
    }
  }

  /// Turns `dWeight: [rows, columns]`, the gradient of the rounded weight, into that of the floats `weight` that were rounded to `packed`, and
  /// overwrites `dLogScales: [rows, groups]` with the gradient of the scales' logarithms.
  package static func backward(
    _ weight: Weight, packed: Weight, dWeight: inout Matrix, dLogScales: inout Matrix, on compute: Compute
  ) {
    guard let grid = packed.format.grid else { fatalError("GridRounding: \(packed.format) is no grid") }
    require(
      weight.count == packed.count && dWeight.count == packed.count, "GridRounding: \(weight.shape), \(dWeight.shape), \(packed.shape)")
    let (columns, groups) = (packed.columns, groups(of: packed, dLogScales.shape, dLogScales.count))
    let (view, values, gradient, scaleGradient) = unsafe (
      packed.kernelView, weight.values, dWeight.mutablePointer, dLogScales.mutablePointer
    )
    unsafe values.withUnsafeBufferPointer { values in
      guard let floats = values.baseAddress, let scales = unsafe view.scales else { return }
      let codes = unsafe view.elements.assumingMemoryBound(to: UInt8.self)
      compute.forEachRange(packed.rows, step: Grid.panelRows) { rows, _ in
        let at = rows.lowerBound
        // SAFETY: three matrices of one shape, and a scale for each group of whole panels.
        unsafe compute.kernels.round_backward(
          grid.kernel, grid.kernelGroup(columns), floats + at * columns, rows.count, columns,
          codes + grid.codeByteCount(rows: at, columns: columns), scales + at * groups, gradient + at * columns, scaleGradient + at * groups
        )
      }
    }
  }

  /// Adds to `dLogScales: [rows, groups]` the gradient of the logarithms of a packed weight's scales `s`, whose codes stay, from that of the
  /// weight `w`, `dWeight: [rows, columns]`: as `w = s q`, the sum of `dWeight · w` over the group.
  package static func backwardScales(
    of packed: Weight, dWeight: borrowing Matrix, dLogScales: inout Matrix, on compute: Compute
  ) {
    require(dWeight.count == packed.count, "GridRounding: \(dWeight.shape), \(packed.shape)")
    let (sums, gradient, columns) = unsafe (GroupSums(packed, into: &dLogScales), dWeight.pointer, packed.columns)
    compute.forEachRange(packed.rows, step: Grid.panelRows) { rows, worker in
      unsafe sums.add(
        gradient + rows.lowerBound * columns, rows: rows, scratch: compute.scratch(worker, count: rows.count * columns), compute)
    }
  }

  /// The same behind `y = x wᵀ`: of `dWeight = dyᵀ x` some rows exist at a time. `dy: [n, rows]`, `x: [n, columns]`.
  package static func backwardScales(
    of packed: Weight, dy: borrowing Matrix, x: borrowing Matrix, dLogScales: inout Matrix, on compute: Compute
  ) {
    let begin = compute.begin()
    defer { compute.end("linear scale gradient", begin, rows: packed.rows, columns: packed.columns) }
    let (n, rows, columns) = (x.rows, packed.rows, packed.columns)
    require(
      dy.rows == n && dy.columns == rows && x.columns == columns, "GridRounding: dy \(dy.shape), x \(x.shape), of \(packed.shape)")
    let sums = unsafe GroupSums(packed, into: &dLogScales)
    let (dys, xs) = unsafe (dy.pointer, x.pointer)
    compute.forEachRange(rows, step: 64) { part, worker in
      let product = unsafe compute.scratch(worker, count: 2 * part.count * columns)
      unsafe product.update(repeating: 0, count: part.count * columns)
      unsafe compute.products.tn(part.count, columns, n, 1, dys + part.lowerBound, rows, xs, columns, product, columns)
      unsafe sums.add(product, rows: part, scratch: product + part.count * columns, compute)
    }
  }

  /// The same in BF16.
  package static func backwardScales(
    of packed: Weight, dy: borrowing Matrix, x: borrowing BFloatPairs, dLogScales: inout Matrix, on compute: Compute
  ) {
    let begin = compute.begin()
    defer { compute.end("linear scale gradient", begin, rows: packed.rows, columns: packed.columns) }
    require(dy.columns == packed.rows && x.columns == packed.columns, "GridRounding: dy \(dy.shape), of \(packed.shape)")
    let sums = unsafe GroupSums(packed, into: &dLogScales)
    unsafe BFloatProducts.eachStripe(of: dy, times: x, compute) { rows, product, scratch in
      unsafe sums.add(product, rows: rows, scratch: scratch, compute)
    }
  }

  /// The least positive F16 number that keeps its precision.
  private static let least = Float(Float16.leastNormalMagnitude)

  /// The nearest F16 number that a scale can be; a group of zeros has the scale zero.
  static func stored(_ scale: Float) -> Float16 {
    guard scale != 0, !scale.isNaN else { return 0 }
    return Float16(signOf: Float16(scale), magnitudeOf: rounded(abs(scale)))
  }

  /// The nearest F16 number that the magnitude of a scale can be.
  private static func rounded(_ scale: Float) -> Float16 {
    Float16(min(max(scale, least), Float(Float16.greatestFiniteMagnitude)))
  }

  fileprivate static func groups(of packed: Weight, _ shape: String, _ count: Int) -> Int {
    require(count == packed.rows * packed.groups, "GridRounding: logarithms \(shape) of the scales of \(packed.shape), \(packed.format)")
    return packed.groups
  }

  /// Calls `body` with each group of a packed weight: its scale, and where its elements lie in `[rows, columns]`.
  private static func forEachGroup(
    _ packed: Weight, on compute: Compute, _ body: (_ scale: Float, _ elements: Range<Int>) -> Void
  ) {
    let (groups, columns) = (packed.groups, packed.columns)
    let length = packed.format.grid?.groupLength(columns: columns) ?? columns
    compute.forEachRange(packed.rows, step: Grid.panelRows) { rows, _ in
      for row in rows {
        for group in 0..<groups {
          let first = row * columns + group * length
          body(Float(packed.scale(row: row, group: group)), first..<min(first + length, (row + 1) * columns))
        }
      }
    }
  }
}

/// Sums over the groups of a packed weight, of products of its elements with others.
@unsafe
private struct GroupSums {
  private let view: dibit_weight
  private let columns: Int
  private let groups: Int
  private let length: Int
  private let sums: UnsafeMutablePointer<Float>  // [rows, groups]

  /// The weight and `sums` must outlive it.
  init(_ packed: Weight, into sums: inout Matrix) {
    unsafe view = packed.kernelView
    unsafe columns = packed.columns
    unsafe groups = GridRounding.groups(of: packed, sums.shape, sums.count)
    unsafe length = packed.format.grid?.groupLength(columns: packed.columns) ?? packed.columns
    unsafe self.sums = sums.mutablePointer
  }

  /// Adds the sums of `values · w` over the groups of some rows; `values: [rows.count, columns]`, and as many numbers of scratch memory. No two tasks
  /// may have the same rows.
  func add(_ values: UnsafePointer<Float>, rows: Range<Int>, scratch: UnsafeMutablePointer<Float>, _ compute: Compute) {
    let (columns, groups, length) = unsafe (columns, groups, length)
    // SAFETY: the rows lie within the weight and the sums.
    unsafe withUnsafePointer(to: view) {
      unsafe compute.kernels.expand($0, rows.lowerBound, rows.upperBound, 0, columns, scratch, columns)
    }
    for row in rows {
      let at = (row - rows.lowerBound) * columns
      for group in 0..<groups {
        let first = at + group * length
        unsafe sums[row * groups + group] += Self.dot(values + first, scratch + first, min(length, at + columns - first))
      }
    }
  }

  private static func dot(_ a: UnsafePointer<Float>, _ b: UnsafePointer<Float>, _ count: Int) -> Float {
    var sums = SIMD16<Float>.zero
    let whole = count / 16 * 16
    for index in stride(from: 0, to: whole, by: 16) {
      // SAFETY: both have `count` numbers.
      sums +=
        unsafe UnsafeRawPointer(a + index).loadUnaligned(as: SIMD16<Float>.self)
        * UnsafeRawPointer(b + index).loadUnaligned(as: SIMD16<Float>.self)
    }
    var sum = sums.sum()
    for index in whole..<count { sum += unsafe a[index] * b[index] }
    return sum
  }
}

extension Weight {
  /// The number of scales of a packed row.
  fileprivate var groups: Int { format.grid?.groups(columns: columns) ?? 0 }
}

extension GridLevels {
  /// The level that is nearest to a number; of two, the one farther from zero.
  fileprivate func nearest(_ u: Float) -> Float {
    let magnitude = hasZero ? (abs(u) + 0.5).rounded(.down) : abs(u).rounded(.down) + 0.5
    return min(max(Float(signOf: u, magnitudeOf: magnitude), level(codes.lowerBound)), level(codes.upperBound))
  }
}

extension Float16 {
  /// The bit pattern of the sign.
  fileprivate static let signBit = UInt16(0x8000)
}
