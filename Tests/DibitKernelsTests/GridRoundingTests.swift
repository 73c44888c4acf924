import DibitKernels
import DibitQuantization
import DibitTensor
import DibitTestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// Learned scales and offsets against their formulas in doubles.
@Suite struct GridRoundingTests {
  private static let compute = Compute(threads: 2)

  private static let forms = [
    Grid(.two, group: 32), Grid(.two, group: nil), Grid(.four, group: 64), Grid(.eight, group: 16), Grid(.fullRangeTwo, group: 32),
    Grid(.fullRangeFour, group: nil),
  ]

  /// A weight, rounded with scales that leave some of it beyond the ends of the grid.
  private struct Rounded {
    let weight: Weight
    var packed: Weight
    let grid: Grid

    init(_ grid: Grid) {
      self.grid = grid
      let bits = grid.levels.bits
      var rng = SplitMix64(seed: UInt64(bits))
      weight = Weight(rows: 21, columns: 80, values: (0..<21 * 80).map { _ in rng.normal() })
      packed = Weight(zerosWithRows: 21, columns: 80, format: .grid(grid))
      GridQuantization.fitScales(of: weight, into: &packed, on: compute)
      var logs = Matrix(rows: 21, columns: grid.groups(columns: 80))
      GridRounding.takeLogScales(of: packed, into: &logs)
      for row in 0..<logs.rows { for group in 0..<logs.columns { logs[row, group] -= bits == 8 ? 1 : 0.3 } }
      GridRounding.setScales(logs, of: &packed, on: compute)
      _ = GridQuantization.chooseCodes(of: weight, into: &packed, on: compute)
    }

    func scale(_ row: Int, _ column: Int) -> Double { Double(packed.scale(row: row, group: column / grid.groupLength(columns: 80))) }
  }

  @Test(
    "floats that are pulled to codes round to them, on the side that they come from; others stay",
    arguments: forms)
  func pull(grid: Grid) throws {
    var other = Rounded(grid)
    // The codes of other numbers, half of them far away.
    var rng = SplitMix64(seed: 3)
    let numbers = (0..<other.weight.count).map { other.weight.values[$0] + ($0 % 2 == 0 ? 0 : rng.normal()) }
    _ = GridQuantization.chooseCodes(of: Weight(rows: 21, columns: 80, values: numbers), into: &other.packed, on: Self.compute)
    var pulled = other.weight
    GridRounding.pull(&pulled, toCodesOf: other.packed, distance: 0.2, on: Self.compute)
    var again = other.packed
    _ = GridQuantization.chooseCodes(of: other.weight, into: &again, on: Self.compute)
    let (before, after) = (again.floats(on: Self.compute), other.packed.floats(on: Self.compute))
    _ = GridQuantization.chooseCodes(of: pulled, into: &again, on: Self.compute)
    let found = again.floats(on: Self.compute)
    var moved = 0
    for index in 0..<pulled.count {
      #expect(found.values[index] == after.values[index])
      let (old, new) = (other.weight.values[index], pulled.values[index])
      guard before.values[index] != after.values[index] else {
        #expect(new == old)
        continue
      }
      moved += 1
      // To the side that it comes from.
      let (scale, level) = (abs(Float(other.scale(index / 80, index % 80))), after.values[index])
      #expect(abs(abs(new - level) - 0.2 * scale) <= 1e-4 * scale && (new > level) == (old > level))
    }
    #expect(moved > 100)
  }

  @Test(
    "gradients of rounded weights go through to floats and scales", arguments: forms)
  func backward(grid: Grid) throws {
    let rounded = Rounded(grid)
    var rng = SplitMix64(seed: 7)
    let start = Matrix(rows: 21, columns: 80, values: (0..<21 * 80).map { _ in rng.normal() })
    var gradient = Matrix(rows: 21, columns: 80)
    var scales = Matrix(rows: 21, columns: rounded.grid.groups(columns: 80))
    gradient.copy(start)
    scales.fill(.nan)
    GridRounding.backward(
      rounded.weight, packed: rounded.packed, dWeight: &gradient, dLogScales: &scales, on: Self.compute)
    let floats = rounded.packed.floats(on: Self.compute)
    var (expected, outside) = ([Double](repeating: 0, count: scales.count), 0)
    for row in 0..<21 {
      for column in 0..<80 {
        let (index, scale) = (row * 80 + column, rounded.scale(row, column))
        let (u, g) = (Double(rounded.weight.values[index]) / scale, Double(start[row, column]))
        let level = Double(floats.values[index]) / scale
        // Nearest to a level, or beyond the last one.
        let isInside = abs(u - level) <= 0.5 + 1e-6
        outside += isInside ? 0 : 1
        let wanted = isInside ? g : 0
        #expect(abs(Double(gradient[row, column]) - wanted) <= 1e-6 * abs(wanted))
        let group = row * scales.columns + column / rounded.grid.groupLength(columns: 80)
        expected[group] += g * level * scale
      }
    }
    #expect(outside > 10 && outside < 21 * 80 / 2)
    var alone = Matrix(rows: 21, columns: scales.columns)
    alone.fill(0)
    GridRounding.backwardScales(of: rounded.packed, dWeight: start, dLogScales: &alone, on: Self.compute)
    for (index, wanted) in expected.enumerated() {
      #expect(abs(Double(scales.values[index]) - wanted) <= 1e-4 && abs(Double(alone.values[index]) - wanted) <= 1e-4)
    }
  }

  @Test("gradients of scales alone, whose weight's gradient never exists as a whole", arguments: forms)
  func backwardScales(grid: Grid) {
    // More rows than a stripe has, more inputs than are rounded at a time.
    let (n, m, k) = (300, 150, 80)
    let (packed, floats) = randomWeight(rows: m, columns: k, format: .grid(grid), seed: 5)
    let groups = grid.groups(columns: k)
    var rng = SplitMix64(seed: 11)
    // Numbers that BF16 holds.
    func numbers(_ count: Int) -> [Float] { (0..<count).map { _ in Float(rng.below(255) - 127) / 64 } }
    let (dy, x) = (numbers(n * m), numbers(n * k))
    var expected = [Double](repeating: 1, count: m * groups)
    for column in 0..<k {
      let group = column / grid.groupLength(columns: k)
      for i in 0..<n {
        for row in 0..<m {
          expected[row * groups + group] += Double(dy[i * m + row] * x[i * k + column]) * Double(floats[row * k + column])
        }
      }
    }
    for isa in ISA.available {
      let compute = Compute(isa: isa, threads: 2)
      var sums = Matrix(rows: m, columns: groups)
      sums.fill(1)
      GridRounding.backwardScales(of: packed, dy: Matrix(dy, columns: m), x: Matrix(x, columns: k), dLogScales: &sums, on: compute)
      #expect(mismatch(sums.values, expected, columns: groups, tolerance: { 1e-3 + 1e-6 * abs(expected[$0]) }) == nil, "\(isa)")
      sums.fill(1)
      var pairs = BFloatPairs(capacity: n, columns: k)
      pairs.round(Matrix(x, columns: k), factor: 1, on: compute)
      GridRounding.backwardScales(of: packed, dy: Matrix(dy, columns: m), x: pairs, dLogScales: &sums, on: compute)
      #expect(mismatch(sums.values, expected, columns: groups, tolerance: { 1e-3 + 1e-6 * abs(expected[$0]) }) == nil, "\(isa)")
    }
  }

  @Test("scales come back from their logarithms", arguments: [GridLevels.two, .fullRangeTwo])
  func scales(levels: GridLevels) throws {
    var rounded = Rounded(Grid(levels, group: 32))
    var logs = Matrix(rows: 21, columns: 3)
    var again = Matrix(rows: 21, columns: 3)
    GridRounding.takeLogScales(of: rounded.packed, into: &logs)
    let before = rounded.packed
    GridRounding.setScales(logs, of: &rounded.packed, on: Self.compute)
    GridRounding.takeLogScales(of: rounded.packed, into: &again)
    for (a, b) in zip(logs.values, again.values) { #expect(abs(a - b) <= 0x1p-11) }
    for row in 0..<21 {
      for group in 0..<3 {
        #expect(rounded.packed.scale(row: row, group: group) == before.scale(row: row, group: group))
      }
    }
  }

  @Test("scales stay numbers that are not zero, whatever the logarithms are")
  func extremes() throws {
    var rounded = Rounded(Grid(.four, group: nil))
    for value: Float in [-200, 200, -.infinity, .infinity] {
      var logs = Matrix(rows: 21, columns: 1)
      logs.fill(value)
      GridRounding.setScales(logs, of: &rounded.packed, on: Self.compute)
      let scale = rounded.packed.scale(row: 20, group: 0)
      #expect(scale.isNormal && (scale > 1) == (value > 0))
    }
  }
}
