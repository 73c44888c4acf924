import DibitKernels
import DibitQuantization
import DibitTensor
import DibitTestSupport
import RealModule
import Testing

/// Codes that hang together in chains, against a search of its own over every way through a chain.
@Suite struct TrellisTests {
  private let compute = Compute(threads: 2)

  private static func values(_ weight: Weight) -> [Float] { Array(copying: weight.floats(on: Machine.usual).values) }

  /// The least `Σ (u - level)²` over the codes of a chain, in doubles: for each pair of codes at its ends, every pair of codes in between.
  /// Behind the last of `inputs` inputs codes are zero.
  private static func leastNoise(_ u: [Double]) -> Double {
    let order = (0..<32).map { place in (0..<32).first { Grid.position(inChain: $0) == place } ?? 0 }
    var least = Double.infinity
    for start in 0..<16 {
      var cost = (0..<16).map { $0 == start ? 0 : Double.infinity }
      for input in order {
        var next = [Double](repeating: .infinity, count: 16)
        for state in 0..<16 where cost[state].isFinite {
          for code in 0..<(input < u.count ? 4 : 1) {
            let error = input < u.count ? u[input] - Double(trellisLevels[state + 16 * code]) : 0
            let to = state / 4 + 4 * code
            next[to] = min(next[to], cost[state] + error * error)
          }
        }
        cost = next
      }
      least = min(least, cost[start])
    }
    return least
  }

  @Test("places in a chain are all of them, in the order of the bits") func places() {
    #expect(Set((0..<64).map { Grid.position(inChain: $0) + $0 / 32 * 32 }) == Set(0..<64))
    #expect([0, 1, 2, 3, 4, 8, 12, 16, 31].map { Grid.position(inChain: $0) } == [0, 4, 8, 12, 1, 2, 3, 16, 31])
  }

  @Test("codes are as near as any, or nearly so where the ends of a chain meet", arguments: [32, 64, 100, 77, 5, 1])
  func nearest(columns: Int) {
    let (rows, grid) = (21, Grid(.trellisTwo, group: nil))
    let x = gaussians(rows * columns, seed: 3)
    var packed = Weight(zerosWithRows: rows, columns: columns, format: .grid(grid))
    let scales = (0..<rows).map { Float16(0.25 + 0.007 * Float($0)) }
    packed.setScales(scales.span)
    let error = GridQuantization.chooseCodes(of: Weight(rows: rows, columns: columns, values: x), into: &packed, on: compute)
    let found = Self.values(packed)
    var least = 0.0
    for row in 0..<rows {
      let scale = Double(scales[row])
      for first in stride(from: 0, to: columns, by: 32) {
        let chain = (first..<min(first + 32, columns)).map { Double(x[row * columns + $0]) / scale }
        least += Self.leastNoise(chain) * scale * scale
      }
    }
    let noise = zip(x, found).reduce(0) { $0 + (Double($1.0) - Double($1.1)) * (Double($1.0) - Double($1.1)) }
    #expect(abs(error.noise - noise) <= 1e-5 * noise)
    #expect(noise >= least * (1 - 1e-5) && noise <= least * 1.015, "\(noise / least)")
  }

  @Test("normally distributed weights lose less than any four levels could leave them", arguments: [32, 64, 128])
  func ratio(group: Int) {
    let x = gaussians(64 * 512, seed: 5)
    var error = GridQuantization.Error()
    _ = GridQuantization.encode(Matrix(x, columns: 512), grid: Grid(.trellisTwo, group: group), error: &error, on: compute)
    #expect(error.decibels > 10.6 && error.decibels < 11.6, "\(error.decibels) dB")
  }

  @Test("weights that lie on a trellis come back exactly", arguments: [32, 64, 100])
  func exact(group: Int) {
    let format = WeightFormat.grid(Grid(.trellisTwo, group: group))
    var weight = Weight(zerosWithRows: 37, columns: 100, format: format)
    let scales = uniforms(37 * ((100 + group - 1) / group), seed: 8).map { Float16(abs($0) + 0.01) }
    weight.setScales(scales.span)
    var rng = SplitMix64(seed: 7)
    let codes = (0..<37 * 100).map { _ in UInt8(rng.below(4)) }
    GridQuantization.pack(codes.span, into: &weight, on: compute)
    let values = Self.values(weight)
    var error = GridQuantization.Error()
    let again = GridQuantization.encode(Matrix(values, columns: 100), grid: Grid(.trellisTwo, group: group), error: &error, on: compute)
    #expect(error.noise == 0)
    let found = gridValues(codes: again.codes, scales: again.scales, rows: 37, columns: 100, grid: Grid(.trellisTwo, group: group))
    #expect(found == values)
  }

  @Test("codes that are packed are those that are read", arguments: [32, 100, 16])
  func packing(columns: Int) {
    let grid = Grid(.trellisTwo, group: nil)
    var rng = SplitMix64(seed: 9)
    let codes = (0..<5 * columns).map { _ in UInt8(rng.below(4)) }
    let ones = [Float16](repeating: 1, count: 5)
    for compute in Machine.own {
      var packed = Weight(zerosWithRows: 5, columns: columns, format: .grid(grid))
      packed.setScales(ones.span)
      GridQuantization.pack(codes.span, into: &packed, on: compute)
      let found = Self.values(packed)
      for row in 0..<5 {
        for column in 0..<columns {
          // The code of the input that is `back` places before this one in its chain; behind the last input it is zero.
          func code(back: Int) -> Int {
            let place = (Grid.position(inChain: column) + 32 - back) % 32
            let input = column / 32 * 32 + ((0..<32).first { Grid.position(inChain: $0) == place } ?? 0)
            return input < columns ? Int(codes[row * columns + input]) : 0
          }
          let level = trellisLevels[code(back: 2) + 4 * code(back: 1) + 16 * code(back: 0)]
          #expect(found[row * columns + column] == level, "[\(row), \(column)], \(compute.label)")
        }
      }
    }
  }

  /// Inputs of which some carry far more energy than others and neighbours go together.
  private func inputs(_ rows: Int, _ n: Int) -> Matrix {
    var rng = SplitMix64(seed: 11)
    var x = Matrix(rows: rows, columns: n)
    for row in 0..<rows {
      var last: Float = 0
      for column in 0..<n {
        last = 0.7 * last + rng.normal()
        x[row, column] = column % 29 == 7 ? 8 * last : last
      }
    }
    return x
  }

  @Test("by what inputs are like outputs lose far less than on four levels, and sweeps improve them", arguments: [96, 100, 77])
  func calibrated(columns: Int) throws {
    let w = Weight(rows: 35, columns: columns, values: gaussians(35 * columns, seed: 13))
    let x = inputs(500, columns)
    var moments = SecondMoments(columns: columns)
    moments.add(x, on: compute)
    let formats = [GridLevels.fullRangeTwo, .trellisTwo].map { WeightFormat.grid(Grid($0, group: nil)) }
    guard let rounding = CalibratedRounding.make(moments: moments.products, for: formats, damping: 1e-4, on: compute) else {
      Issue.record("no factor")
      return
    }
    var losses: [Double] = []
    for (format, sweeps) in [(formats[0], 4), (formats[1], 0), (formats[1], 1), (formats[1], 4)] {
      var packed = Weight(zerosWithRows: 35, columns: columns, format: format)
      CalibratedRounding.fitScales(of: w, importance: moments.energies.sums.span, into: &packed, on: compute)
      let lost = rounding.chooseCodes(of: w, into: &packed, sweeps: sweeps, on: compute)
      let found = Self.values(packed)
      var noise = 0.0
      for row in 0..<35 {
        let e = (0..<columns).map { Double(w.values[row * columns + $0]) - Double(found[row * columns + $0]) }
        for a in 0..<columns { for b in 0..<columns { noise += e[a] * e[b] * Double(moments.products[a, b]) } }
      }
      #expect(abs(lost.noise - noise) <= 0.01 * noise)
      losses.append(noise)
    }
    #expect(losses[3] < 0.7 * losses[0] && losses[2] < losses[1] && losses[3] <= losses[2], "\(losses)")
  }

  @Test("floats are moved so that they round to given codes", arguments: [32, 100])
  func pulled(group: Int) {
    let grid = Grid(.trellisTwo, group: group)
    let floats = Weight(rows: 21, columns: 100, values: gaussians(2100, seed: 15))
    let others = Weight(rows: 21, columns: 100, values: zip(floats.values.array, gaussians(2100, seed: 16)).map { $0 + 0.3 * $1 })
    var packed = Weight(zerosWithRows: 21, columns: 100, format: .grid(grid))
    GridQuantization.round(others, into: &packed, on: compute)
    var moved = floats
    GridRounding.pull(&moved, toCodesOf: packed, distance: 1.35, on: compute)
    var again = packed
    _ = GridQuantization.chooseCodes(of: moved, into: &again, on: compute)
    #expect(Self.values(again) == Self.values(packed))
    let (from, to) = (zip(floats.values.array, Self.values(packed)), zip(floats.values.array, moved.values.array))
    func distance(_ pairs: Zip2Sequence<[Float], [Float]>) -> Float { pairs.reduce(0) { $0 + ($1.0 - $1.1) * ($1.0 - $1.1) } }
    #expect(distance(to) < 0.7 * distance(from), "\(distance(to)), \(distance(from))")
  }

  @Test("the gradient of a scale is that of the levels as they are")
  func backward() {
    let grid = Grid(.trellisTwo, group: 32)
    let floats = Weight(rows: 21, columns: 96, values: gaussians(21 * 96, seed: 17))
    var packed = Weight(zerosWithRows: 21, columns: 96, format: .grid(grid))
    GridQuantization.round(floats, into: &packed, on: compute)
    let start = Matrix(gaussians(21 * 96, seed: 18), columns: 96)
    var gradient = Matrix(rows: 21, columns: 96)
    gradient.copy(start)
    var scales = Matrix(rows: 21, columns: 3)
    GridRounding.backward(floats, packed: packed, dWeight: &gradient, dLogScales: &scales, on: compute)
    let found = Self.values(packed)
    for row in 0..<21 {
      for group in 0..<3 {
        let expected = (group * 32..<group * 32 + 32).reduce(0.0) { $0 + Double(start[row, $1]) * Double(found[row * 96 + $1]) }
        #expect(abs(Double(scales[row, group]) - expected) <= 1e-4)
      }
    }
    var outside = 0
    for row in 0..<21 {
      for column in 0..<96 {
        let u = floats.values[row * 96 + column] / Float(packed.scale(row: row, group: column / 32))
        let isInside = u < 7.5 && u > -8.5
        outside += isInside ? 0 : 1
        #expect(gradient[row, column] == (isInside ? start[row, column] : 0))
      }
    }
    #expect(outside > 0 && outside < 100)
  }
}

extension Span<Float> {
  fileprivate var array: [Float] { Array(copying: self) }
}
