import DibitKernels
import DibitQuantization
import DibitTensor
import DibitTestSupport
import RealModule
import Testing

@Suite struct GridQuantizationTests {
  struct Encoded {
    let codes: [UInt8]
    let scales: [UInt8]
    let values: [Float]
    let error: GridQuantization.Error
  }

  static func encode(
    _ x: [Float], columns: Int, _ levels: GridLevels, group: Int, on compute: Compute = Machine.usual
  ) -> Encoded {
    var error = GridQuantization.Error()
    let grid = Grid(levels, group: group)
    let (codes, scales) = GridQuantization.encode(Matrix(x, columns: columns), grid: grid, error: &error, on: compute)
    return Encoded(
      codes: codes, scales: scales,
      values: gridValues(codes: codes, scales: scales, rows: x.count / columns, columns: columns, grid: grid), error: error)
  }

  static func encode(_ x: [Float], columns: Int, bits: Int, group: Int, on compute: Compute = Machine.usual) -> Encoded {
    guard let levels = GridLevels(bits: bits) else { fatalError("no grid of \(bits) bits") }
    return encode(x, columns: columns, levels, group: group, on: compute)
  }

  static func noise(_ x: [Float], _ y: [Float]) -> Double {
    zip(x, y).reduce(0) { $0 + (Double($1.0) - Double($1.1)) * (Double($1.0) - Double($1.1)) }
  }

  /// The least squared error over every assignment of levels, each with its own best scale of either sign.
  static func leastError(_ x: [Float], _ levels: GridLevels) -> Double {
    let values = doubles(x)
    let energy = values.reduce(0) { $0 + $1 * $1 }
    let count = levels.codes.count
    return (0..<x.reduce(1) { all, _ in all * count }).reduce(energy) { best, assignment in
      var (p, q, rest) = (0.0, 0.0, assignment)
      for value in values {
        let level = Double(levels.level(levels.codes.lowerBound + rest % count))
        rest /= count
        p += level * value
        q += level * level
      }
      return q > 0 ? min(best, energy - p * p / q) : best
    }
  }

  /// Elements for an exhaustive search that takes moments.
  static let exhaustive: [(GridLevels, Int)] = [
    (.two, 1), (.two, 3), (.two, 8), (.four, 1), (.four, 2), (.four, 4), (.eight, 1), (.eight, 2),
    (.fullRangeTwo, 1), (.fullRangeTwo, 2), (.fullRangeTwo, 3), (.fullRangeTwo, 8), (.fullRangeFour, 1), (.fullRangeFour, 4),
    (.three, 1), (.three, 4), (.three, 5), (.fullRangeThree, 1), (.fullRangeThree, 3), (.fullRangeThree, 5),
  ]

  /// The reference of the tests below is exact: no assignment of levels does better.
  @Test(arguments: exhaustive)
  func theReferenceIsTheExhaustiveMinimum(levels: GridLevels, count: Int) {
    for seed in UInt64(0)..<24 {
      let x = seed % 2 == 0 ? gaussians(count, seed: seed) : uniforms(count, seed: seed)
      let energy = magnitudes(x).reduce(0) { $0 + $1 * $1 }
      let (found, least) = (GridReference.leastNoise(x, levels), Self.leastError(x, levels))
      // Sums of squares in double precision.
      #expect(abs(found - least) <= 1e-12 * energy, "\(x)")
    }
  }

  /// What quantisation-aware training rounds to: BF16 holds every level, and a conversion of those numbers finds the same grid.
  @Test(arguments: plainLevels.filter { $0 != .eight }, [32, 64, 100])
  func coarseScalesKeepLevelsInBFloat(levels: GridLevels, group: Int) {
    let (rows, columns, bits) = (37, 100, levels.bits)
    let x = gaussians(rows * columns, seed: UInt64(bits))
    var packed = Weight(zerosWithRows: rows, columns: columns, format: .grid(Grid(levels, group: group)))
    GridQuantization.round(
      Weight(rows: rows, columns: columns, values: x), into: &packed,
      scaleBits: GridQuantization.scaleBits(forBFloatLevelsOf: levels), on: Machine.usual)
    let values = Array(copying: packed.floats(on: Machine.usual).values)
    #expect(values == values.map { Float(BFloat16($0)) })
    let again = Self.encode(values, columns: columns, levels, group: group)
    #expect(again.error.noise == 0 && again.values == values)
    // Coarse scales cost little: 1.6 % of a scale at 2 bits and 6 % at 4.
    let best = Self.encode(x, columns: columns, levels, group: group)
    #expect(Self.noise(x, values) < (bits == 2 ? 1.005 : 1.15) * Self.noise(x, best.values))
  }

  @Test(arguments: GridLevels.all, [32, 64, 100])
  func fineScalesAreThoseOfAConversion(levels: GridLevels, group: Int) {
    let (rows, columns) = (37, 100)
    let x = gaussians(rows * columns, seed: UInt64(levels.bits))
    var packed = Weight(zerosWithRows: rows, columns: columns, format: .grid(Grid(levels, group: group)))
    GridQuantization.round(Weight(rows: rows, columns: columns, values: x), into: &packed, scaleBits: 22, on: Machine.usual)
    #expect(Array(copying: packed.floats(on: Machine.usual).values) == Self.encode(x, columns: columns, levels, group: group).values)
  }

  static let distributions = SampledDistribution.allCases

  /// At 8 bits a few values find a scale by luck on which all of them nearly lie: trying some scales loses more, of a noise that is far smaller,
  /// and most where a group has few values that are not zero, or where scales are subnormal numbers.
  static func mayLose(_ levels: GridLevels, _ distribution: SampledDistribution = .gaussian) -> Double {
    // The same with sixteen levels that have a zero: a group of which a fifth is not zero has six values.
    if levels == .fullRangeFour { return distribution == .sparse ? 0.3 : distribution == .nearlyConstant ? 0.1 : 0.02 }
    if levels == .fullRangeThree, distribution == .sparse { return 0.05 }
    if levels.bits < 8 { return 0.02 }
    return distribution == .sparse ? 3.2 : distribution == .tiny ? 1.5 : 0.9
  }

  @Test("within 0.02 dB of the exact search, at 8 bits 0.9 dB", arguments: distributions, plainLevels)
  func theScaleIsNearlyTheBest(distribution: SampledDistribution, levels: GridLevels) {
    #if DEBUG
      let rows = 4
    #else
      let rows = 64
    #endif
    let columns = 2048
    let x = distribution.sample(rows * columns, seed: 3)
    for group in [32, 64, 128, columns] {
      let found = Self.encode(x, columns: columns, levels, group: group).error
      var least = 0.0
      for first in stride(from: 0, to: x.count, by: group) {
        least += GridReference.leastNoise(Array(x[first..<first + group]), levels)
      }
      let lost = 10 * Double.log10(found.noise / least)
      #expect(lost <= Self.mayLose(levels, distribution), "\(distribution), \(levels), groups of \(group): \(lost) dB lost")
      // The rounding of a scale to F16 never gains; squares are added in double precision.
      #expect(found.noise >= least * (1 - 1e-9), "\(distribution), \(levels), groups of \(group)")
    }
  }

  @Test("the last group of a row may be short", arguments: plainLevels, [76, 100, 172])
  func shortGroups(levels: GridLevels, columns: Int) {
    let x = gaussians(64 * columns, seed: 23)
    let found = Self.encode(x, columns: columns, levels, group: 64).error
    var least = 0.0
    for row in 0..<64 {
      for first in stride(from: row * columns, to: (row + 1) * columns, by: 64) {
        least += GridReference.leastNoise(Array(x[first..<min(first + 64, (row + 1) * columns)]), levels)
      }
    }
    #expect(10 * Double.log10(found.noise / least) <= Self.mayLose(levels))
  }

  /// A row of a quantisation-aware checkpoint lies on one grid; its groups may use only some of the levels.
  @Test("a row on a grid is packed exactly in groups of any size", arguments: [2, 3, 4, 8], [32, 64, 128, 256])
  func rowsOnAGrid(bits: Int, group: Int) {
    let (rows, columns, half) = (40, 256, 1 << (bits - 1))
    var rng = SplitMix64(seed: 31)
    var x: [Float] = []
    for row in 0..<rows {
      let scale = halfValue(UInt16(0x1000 + rng.below(0x2000)))
      // All levels, the inner ones, the outermost, or one.
      let (low, high) = [(0, half - 1), (0, 0), (half - 1, half - 1), (half / 2, half - 1)][row % 4]
      for _ in 0..<columns {
        let level = Float(low + rng.below(high - low + 1)) + (bits == 8 ? 0 : 0.5)
        x.append((rng.below(2) == 0 || level == 0 ? level : -level) * scale)
      }
    }
    for compute in Machine.own where compute.threads == 1 {
      let found = Self.encode(x, columns: columns, bits: bits, group: group, on: compute)
      #expect(bitMismatch(found.values, x, columns: columns) == nil, compute.label)
      #expect(found.error.noise == 0)
    }
  }

  @Test(
    "groups on a grid of full range are packed exactly, under scales of both signs",
    arguments: [GridLevels.fullRangeTwo, .fullRangeThree, .fullRangeFour],
    [32, 64, 256])
  func groupsOnAFullRange(levels: GridLevels, group: Int) {
    let (rows, columns) = (40, 256)
    var rng = SplitMix64(seed: 33)
    var x: [Float] = []
    for part in 0..<rows * columns / group {
      let scale = halfValue(UInt16(0x1000 + rng.below(0x2000))) * (rng.below(2) == 0 ? 1 : -1)
      // All levels, without the lowest, or zeros and the two beside it.
      let codes = [
        levels.codes, levels.codes.lowerBound + 1...levels.codes.upperBound, levels.twiceMiddle / 2 - 1...levels.twiceMiddle / 2 + 1,
      ][part % 3]
      for _ in 0..<group { x.append(levels.level(codes.lowerBound + rng.below(codes.count)) * scale) }
    }
    for compute in Machine.own where compute.threads == 1 {
      let found = Self.encode(x, columns: columns, levels, group: group, on: compute)
      #expect(found.values == x && found.error.noise == 0, compute.label)
    }
  }

  @Test("values that were rounded after the product, or whose scale is no F16 number, are not called exact")
  func almostOnAGrid() {
    var rng = SplitMix64(seed: 37)
    let levels = (0..<256).map { _ in Float(rng.below(4)) - 1.5 }
    // 1.5 times 129/128 needs nine bits; BF16 has eight.
    let rounded = levels.map { Float(BFloat16($0 * (129.0 / 128))) }
    let odd = levels.map { $0 * 0.1 }
    for x in [rounded, odd] {
      let found = Self.encode(x, columns: 256, bits: 2, group: 64)
      // Half a unit of eight bits at most, on each weight: -6 dB a bit.
      #expect(found.error.noise > 0 && found.error.decibels > 48, "\(found.error.decibels) dB")
    }
    // With a zero among them values lie on no grid.
    let zero = Self.encode(levels.enumerated().map { $0.offset == 70 ? 0 : $0.element }, columns: 256, bits: 2, group: 64)
    #expect(zero.error.noise > 0)
  }

  @Test func aWeightThatIsNoNumberShowsInTheSignal() {
    for bad in [Float.nan, .infinity, -.infinity] {
      for levels in GridLevels.all {
        for group in [64, 128] {
          var x = gaussians(512, seed: 41)
          x[300] = bad
          #expect(!Self.encode(x, columns: 128, levels, group: group).error.signal.isFinite, "\(bad), \(levels)")
        }
      }
    }
  }

  private struct Refused: Swift.Error, Equatable { let row: Int }

  @Test func aFailureToReadIsThrownWithTheFirstRows() {
    for compute in Machine.own where compute.isa == .scalar {
      var packed = PackedRows(capacity: 4000, columns: 64, grid: Grid(.two, group: 64))
      var error = GridQuantization.Error()
      #expect(throws: Refused(row: 512)) {
        try GridQuantization.encode(rows: 0..<4000, into: &packed, error: &error, on: compute) { (rows, values) throws(Refused) in
          if rows.lowerBound >= 512 { throw Refused(row: rows.lowerBound) }
          for index in values.indices { values[index] = 1 }
        }
      }
    }
  }

  @Test(arguments: GridLevels.all, [32, 64, 128, 172])
  func theReportedErrorIsTheErrorOfTheCodes(levels: GridLevels, group: Int) {
    let x = gaussians(5 * 172, seed: 7)
    let found = Self.encode(x, columns: 172, levels, group: group)
    let (signal, noise) = (magnitudes(x).reduce(0) { $0 + $1 * $1 }, Self.noise(x, found.values))
    #expect(abs(found.error.signal - signal) <= 1e-12 * signal && abs(found.error.noise - noise) <= 1e-12 * noise)
    for compute in Machine.own {
      let other = Self.encode(x, columns: 172, levels, group: group, on: compute)
      #expect(other.codes == found.codes && other.scales == found.scales && other.error == found.error, compute.label)
    }
  }

  /// The SNR of the best 2-bit grid for normally distributed weights (docs: one scale per group, F16).
  @Test(arguments: [(32, 9.69), (64, 9.46), (128, 9.35), (4096, 9.25)])
  func gaussianWeightsReachTheKnownRatio(group: Int, decibels: Double) {
    // The ratio of N samples varies by about 4.8 dB / sqrt(N): 0.002 dB for optimised builds, whose four million samples measure
    // 9.699, 9.474, 9.362 and 9.253; 0.013 dB for others, in which the plain loops around the kernel are slow.
    #if DEBUG
      let (rows, tolerance) = (32, 0.06)
    #else
      let (rows, tolerance) = (1024, 0.02)
    #endif
    let found = Self.encode(gaussians(rows * 4096, seed: 11), columns: 4096, bits: 2, group: group).error.decibels
    #expect(abs(found - decibels) <= tolerance, "\(found) dB")
  }

  /// Codes of one kind in each group, so that every mixture of magnitudes occurs, single ones included.
  @Test(arguments: [2, 3, 4, 8], [32, 64, 100])
  func aTensorOnTheGridComesBackBitForBit(bits: Int, group: Int) {
    let (columns, levels, middle) = (100, 1 << bits, bits == 8 ? 128 : Float((1 << bits) - 1) / 2)
    var rng = SplitMix64(seed: 5)
    let groups = (columns + group - 1) / group
    let scales: [UInt16] = [0x0001, 0x0003, 0x03FF, 0x0400, 0x2E66, 0x3C00, 0x3C01, 0x5555, 0x7BFF]
    for scale in scales {
      for top in stride(from: bits == 8 ? 129 : levels / 2, to: levels, by: bits == 8 ? 9 : 1) {
        for bottom in [levels / 2, Int(2 * middle) - top, top] {
          let rows = 3
          var x: [Float] = []
          for _ in 0..<rows * columns {
            var code = bottom == top ? top : bottom + rng.below(top - bottom + 1)
            if bottom == top && rng.below(2) == 0 { code = Int(2 * middle) - code }
            x.append((Float(code) - middle) * halfValue(scale))
          }
          // The extremes occur in each group: otherwise a coarser scale may describe the same values.
          for row in 0..<rows {
            for g in 0..<groups { x[row * columns + g * group] = (Float(top) - middle) * halfValue(scale) }
          }
          let found = Self.encode(x, columns: columns, bits: bits, group: group)
          #expect(bitMismatch(found.values, x, columns: columns) == nil, "scale \(halfValue(scale)), codes \(bottom)...\(top)")
          #expect(found.error.noise == 0 && found.error.decibels == .infinity)
        }
      }
    }
  }

  @Test(arguments: GridLevels.all)
  func zerosGetAScaleOfZero(levels: GridLevels) {
    let found = Self.encode([Float](repeating: 0, count: 96), columns: 96, levels, group: 32)
    #expect(found.scales.allSatisfy { $0 == 0 } && found.values.allSatisfy { levels.isTrellis ? $0 == 0 : $0.bitPattern == 0 })
    #expect(found.error == GridQuantization.Error())
  }

  /// Magnitudes that no F16 scale can reach stop at the largest; those below the smallest become zero.
  @Test(arguments: [2, 3, 4, 8], [Float(1e7), 1e30, .greatestFiniteMagnitude, 1e-9, 1e-38, 0x1p-140, .leastNonzeroMagnitude])
  func valuesBeyondEveryScaleSaturate(bits: Int, magnitude: Float) {
    let x = uniforms(64, seed: 3).map { $0 < 0 ? min($0, -0.25) * magnitude : max($0, 0.25) * magnitude }
    let top = bits == 8 ? 127 : Float((1 << bits) - 1) / 2
    for compute in Machine.own where compute.threads == 1 {
      let found = Self.encode(x, columns: 64, bits: bits, group: 32, on: compute)
      // Two groups of the first of sixteen rows; the others do not exist.
      let scales = [0, 32].map { UInt16(found.scales[$0]) | UInt16(found.scales[$0 + 1]) << 8 }
      #expect(scales.allSatisfy { $0 == (magnitude > 1 ? 0x7BFF : 0) }, "\(scales) \(compute.label)")
      // The levels of 8 bits reach beyond ten millions.
      if magnitude > 1, bits < 8 || magnitude > 1e8 { #expect(found.values == x.map { ($0 < 0 ? -top : top) * 65_504 }) }
    }
  }

  @Test(arguments: [2, 4])
  func subnormalScalesStillFit(bits: Int) {
    let x = uniforms(64, seed: 4, bound: 0x1p-16)
    let found = Self.encode(x, columns: 64, bits: bits, group: 64)
    // A subnormal scale has few bits; it is still within half of the smallest F16 step of the best one.
    let rounding = 64 * 7.5 * 7.5 * 0x1p-25 * 0x1p-25
    let energy = magnitudes(x).reduce(0) { $0 + $1 * $1 }
    #expect(found.error.noise <= energy * (bits == 2 ? 0.12 : 0.01) + rounding)
  }

  @Test(arguments: [32, 128])
  func fourBitsAreNotBeatenByAFineScan(group: Int) {
    let groups = 24
    let x = gaussians(groups * group, seed: 13)
    let found = Self.encode(x, columns: group, bits: 4, group: group)
    var best = 0.0
    for g in 0..<groups {
      let part = doubles(Array(x[g * group..<(g + 1) * group]))
      let largest = largestMagnitude(part)
      var least = Double.infinity
      for step in 0...600 {
        let scale = largest / 7.5 * (0.5 + Double(step) / 800)
        var error = 0.0
        for value in part {
          let level = min(max((value / scale).rounded(.down), -8), 7) + 0.5
          error += (value - level * scale) * (value - level * scale)
        }
        least = min(least, error)
      }
      best += least
    }
    // 0.02 dB, what the search may lose, is a factor of 1.0046.
    #expect(found.error.noise <= best * 1.0046, "\(found.error.noise / best)")
    #expect(found.error.noise >= best * 0.99, "the scan is fine enough to come close")
  }

  @Test func aDecodedTensorMultipliesLikeItsValues() {
    let x = gaussians(7 * 172, seed: 17)
    let found = Self.encode(x, columns: 172, bits: 2, group: 64)
    let w = Weight(
      rows: 7, columns: 172, format: .grid(bits: 2, group: 64), elements: Bytes(SharedBytes(found.codes)),
      scales: Bytes(SharedBytes(found.scales)))
    var y = Matrix(rows: 7, columns: 172)
    Embedding.forward([Int32](0..<7).span, weight: w, into: &y, on: Machine.usual)
    #expect(bitMismatch(y.values, found.values, columns: 172) == nil)
  }
}
