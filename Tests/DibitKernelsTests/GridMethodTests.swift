import DibitKernels
import DibitQuantization
import DibitTensor
import DibitTestSupport
import Testing

/// What a method needs that chooses scales or codes by itself: each step alone, against plain loops.
@Suite struct GridMethodTests {
  static let grids = GridLevels.all.flatMap { levels in
    [16, 32, 64, nil].map { Grid(levels, group: $0) }.filter { ($0.group ?? 0) % $0.unit == 0 }
  }
  static let plain = grids.filter { !$0.levels.isTrellis }
  /// Rows and columns with and without a padded panel, block and group.
  static let shapes = [(1, 16), (5, 100), (16, 64), (37, 172)]

  /// Positive numbers, and of a full range negative ones too.
  static func scales(_ grid: Grid, _ count: Int, seed: UInt64) -> [Float16] {
    uniforms(count, seed: seed).map { Float16(abs($0) + 0.01) * ($0 < 0 && grid.levels.isFullRange ? -1 : 1) }
  }

  static func expanded(_ weight: Weight) -> [Float] { Array(copying: weight.floats(on: Machine.usual).values) }

  /// A packed weight with scales of its own.
  static func weight(_ grid: Grid, _ rows: Int, _ columns: Int) -> (weight: Weight, scales: [Float16]) {
    var weight = Weight(zerosWithRows: rows, columns: columns, format: .grid(grid))
    let scales = scales(grid, rows * grid.groups(columns: columns), seed: 3)
    weight.setScales(scales.span)
    return (weight, scales)
  }

  @Test(arguments: plain, shapes)
  func givenCodesAndScalesAreStoredAsTheyAre(grid: Grid, shape: (rows: Int, columns: Int)) {
    let (rows, columns) = shape
    let (empty, scales) = Self.weight(grid, rows, columns)
    var rng = SplitMix64(seed: 5)
    let codes = (0..<rows * columns).map { _ in UInt8(grid.levels.codes.lowerBound + rng.below(grid.levels.codes.count)) }
    let (group, groups) = (grid.groupLength(columns: columns), grid.groups(columns: columns))
    let expected = codes.enumerated().map { index, code in
      (Float(code) - Float(grid.levels.twiceMiddle) / 2) * Float(scales[index / columns * groups + index % columns / group])
    }
    for compute in Machine.own {
      var packed = empty
      GridQuantization.pack(codes.span, into: &packed, on: compute)
      #expect(bitMismatch(Self.expanded(packed), expected, columns: columns) == nil, compute.label)
      #expect(
        (0..<rows * groups).allSatisfy { packed.scale(row: $0 / groups, group: $0 % groups) == scales[$0] }, compute.label)
    }
  }

  @Test("a weight less another is the difference of their numbers, whatever the formats", arguments: grids, shapes)
  func difference(grid: Grid, shape: (rows: Int, columns: Int)) {
    let (rows, columns) = shape
    let packed = Self.weight(grid, rows, columns).weight
    let floats = Weight(rows: rows, columns: columns, values: uniforms(rows * columns, seed: 8))
    let expected = zip(Self.expanded(packed), Self.expanded(floats)).map { $0 - $1 }
    for compute in Machine.own {
      let found = Self.expanded(packed.subtracting(floats, on: compute))
      #expect(bitMismatch(found, expected, columns: columns) == nil, compute.label)
      let other = Self.expanded(floats.subtracting(packed, on: compute))
      #expect(bitMismatch(other, expected.map { 0 - $0 }, columns: columns) == nil, compute.label)
    }
  }

  @Test(arguments: plain, shapes)
  func chosenCodesAreTheNearestToTheGivenScales(grid: Grid, shape: (rows: Int, columns: Int)) {
    let (rows, columns) = shape
    let (empty, scales) = Self.weight(grid, rows, columns)
    let x = gaussians(rows * columns, seed: 7).map { $0 * Float(grid.levels.codes.count) / 5 }
    let (group, groups) = (grid.groupLength(columns: columns), grid.groups(columns: columns))
    var (signal, noise) = (0.0, 0.0)
    let least = x.enumerated().map { index, value in
      let scale = Float(scales[index / columns * groups + index % columns / group])
      let nearest = grid.levels.codes.map { abs(Double(value) - Double(grid.levels.level($0) * scale)) }.min() ?? 0
      signal += Double(value) * Double(value)
      noise += nearest * nearest
      return nearest
    }
    var first: Weight?
    for compute in Machine.own {
      var packed = empty
      let error = GridQuantization.chooseCodes(of: Weight(rows: rows, columns: columns, values: x), into: &packed, on: compute)
      let found = zip(x, Self.expanded(packed)).map { abs(Double($0) - Double($1)) }
      // The ratio to the scale is rounded before the level is chosen: a value close to the middle of two levels may get either.
      let slack = { (index: Int) in 4 * Double(Float.ulpOfOne) * (abs(Double(x[index])) + 1) }
      #expect(found.indices.allSatisfy { found[$0] <= least[$0] + slack($0) }, compute.label)
      #expect(abs(error.signal - signal) <= 1e-12 * signal && abs(error.noise - noise) <= 1e-5 * noise, compute.label)
      #expect(packed.elements.array == (first ?? packed).elements.array && packed.scales.array == empty.scales.array, compute.label)
      first = first ?? packed
    }
  }

  /// One call, or two, or the pieces of a conversion: the same bytes.
  @Test(arguments: grids, shapes)
  func roundingIsFittingAndThenChoosing(grid: Grid, shape: (rows: Int, columns: Int)) {
    let (rows, columns) = shape
    let x = gaussians(rows * columns, seed: 9)
    let weight = Weight(rows: rows, columns: columns, values: x)
    for compute in Machine.own {
      var (once, twice) = (Self.weight(grid, rows, columns).weight, Self.weight(grid, rows, columns).weight)
      GridQuantization.round(weight, into: &once, on: compute)
      GridQuantization.fitScales(of: weight, into: &twice, on: compute)
      let lost = GridQuantization.chooseCodes(of: weight, into: &twice, on: compute)
      var error = GridQuantization.Error()
      let pieces = GridQuantization.encode(Matrix(x, columns: columns), grid: grid, error: &error, on: compute)
      #expect(once.elements.array == twice.elements.array && once.scales.array == twice.scales.array, compute.label)
      #expect(pieces.codes == once.elements.array && pieces.scales == once.scales.array, compute.label)
      #expect(abs(lost.noise - error.noise) <= 1e-12 * error.noise, compute.label)
    }
  }

  @Test func aCodeThatTheGridHasNotTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var packed = Weight(zerosWithRows: 1, columns: 2, format: .grid(bits: 2, group: nil))
      GridQuantization.pack([3, 4].span, into: &packed, on: Compute(threads: 1))
    }
    expectTrap("GridQuantization.pack: code 4 of 2 bits", result)
  }

  @Test func scalesOfAnotherShapeTrap() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var packed = Weight(zerosWithRows: 3, columns: 100, format: .grid(bits: 4, group: 64))
      packed.setScales([Float16](repeating: 1, count: 5).span)
    }
    expectTrap("Weight.setScales: 5 scales for [3, 100], grid(4 bits, groups of 64)", result)
  }
}
