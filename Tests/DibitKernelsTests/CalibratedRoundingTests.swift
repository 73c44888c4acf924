import DibitQuantization
import DibitTensor
import DibitTestSupport
import Testing

@testable import DibitKernels

private struct NoFactor: Error {}

/// Rounding by the second moments of inputs, against what it means.
@Suite struct CalibratedRoundingTests {
  private let compute = Compute(threads: 2)

  /// Inputs of which one carries most energy and neighbours go together, `[rows, n]`.
  private func inputs(_ rows: Int, _ n: Int, seed: UInt64) -> Matrix {
    var rng = SplitMix64(seed: seed)
    var x = Matrix(rows: rows, columns: n)
    for row in 0..<rows {
      var last: Float = 0
      for column in 0..<n {
        last = 0.7 * last + rng.normal()
        x[row, column] = column == n / 3 ? 8 * last : last
      }
    }
    return x
  }

  private func weight(_ rows: Int, _ columns: Int, seed: UInt64) -> Weight {
    var rng = SplitMix64(seed: seed)
    return Weight(rows: rows, columns: columns, values: (0..<rows * columns).map { _ in rng.normal() })
  }

  /// `Σ (x (W - W')ᵀ)²` in doubles.
  private func error(_ x: borrowing Matrix, _ w: Weight, _ other: Weight) -> Double {
    let (own, rounded) = (w.floats(on: compute), other.floats(on: compute))
    let (a, b) = (own.values, rounded.values)
    var sum = 0.0
    for row in 0..<x.rows {
      for output in 0..<w.rows {
        var difference = 0.0
        for column in 0..<w.columns {
          difference += Double(x[row, column]) * (Double(a[output * w.columns + column]) - Double(b[output * w.columns + column]))
        }
        sum += difference * difference
      }
    }
    return sum
  }

  @Test("a factor times its transpose is the matrix", arguments: [1, 2, 5, 63, 64, 65, 130, 200])
  func cholesky(n: Int) {
    let x = inputs(2 * n + 3, n, seed: UInt64(n))
    var h = Matrix(rows: n, columns: n)
    Gemm.tn(x, x, into: &h, on: compute)
    var factor = Matrix(rows: n, columns: n)
    factor.copy(h)
    #expect(Cholesky.factor(&factor, on: compute))
    for row in 0..<n {
      for column in 0...row {
        let product = (0...column).reduce(0.0) { $0 + Double(factor[row, $1]) * Double(factor[column, $1]) }
        #expect(abs(product - Double(h[row, column])) <= 1e-5 * Double((h[row, row] * h[column, column]).squareRoot()))
      }
    }
  }

  /// The gradients of outputs that go together, `[samples, m]`.
  private func gradients(_ m: Int) -> Matrix {
    var rng = SplitMix64(seed: 11)
    let shared = (0..<8).map { _ in (0..<m).map { _ in rng.normal() } }
    var g = Matrix(rows: 4 * m, columns: m)
    for row in 0..<4 * m {
      let strengths = (0..<8).map { _ in rng.normal() }
      for column in 0..<m {
        g[row, column] = 0.5 * rng.normal() + (0..<8).reduce(Float(0)) { $0 + strengths[$1] * shared[$1][column] }
      }
    }
    return g
  }

  @Test("feedback between outputs is what a block makes up for best", arguments: [1, 40, 64, 65, 150])
  func outputShares(m: Int) throws {
    let g = gradients(m)
    var felt = Matrix(rows: m, columns: m)
    Gemm.tn(g, g, into: &felt, on: compute)
    guard let feedback = OutputFeedback(moments: felt, from: 7, damping: 0.1, on: compute) else { throw NoFactor() }
    let order = feedback.rows.map { $0 - 7 }
    #expect(order.sorted() == Array(0..<m))
    #expect(zip(order, order.dropFirst()).allSatisfy { felt[$0, $0] >= felt[$1, $1] })
    #expect(feedback.blocks.flatMap { Array($0) } == Array(0..<m))
    let mean = (0..<m).reduce(0.0) { $0 + Double(felt[$1, $1]) } / Double(m)
    let a = order.map { row in order.map { Double(felt[row, $0]) + (row == $0 ? 0.1 * mean : 0) } }
    for block in feedback.blocks {
      let shares = feedback.shares(block)
      for row in block {
        for column in 0..<m {
          // A_KK times the shares is A_KJ.
          let found = block.reduce(0.0) { $0 + a[row][$1] * Double(shares[$1 - block.lowerBound, column]) }
          let expected = block.contains(column) ? 0 : a[row][column]
          #expect(abs(found - expected) <= 1e-4 * (a[row][row] * a[column][column]).squareRoot())
        }
      }
    }
  }

  @Test("errors of outputs that predictions feel together make up for each other", arguments: GridLevels.rows(.fullRange) + [.trellisTwo])
  func outputFeedback(levels: GridLevels) throws {
    let (m, n) = (150, 112)
    let grid = Grid(levels, group: 32)
    let x = inputs(600, n, seed: 3)
    let g = gradients(m)
    let w = weight(m, n, seed: 4)
    var moments = SecondMoments(columns: n)
    moments.add(x, on: compute)
    var felt = Matrix(rows: m, columns: m)
    Gemm.tn(g, g, into: &felt, on: compute)
    guard let rounding = CalibratedRounding.make(moments: moments.products, for: [.grid(grid)], on: compute),
      let feedback = OutputFeedback(moments: felt, damping: 0.1, on: compute)
    else { throw NoFactor() }
    let energies = moments.energies.sums.values
    func rounded(_ feedback: [OutputFeedback], threads: Int = 2) -> (weight: Weight, noise: Double) {
      let compute = Compute(threads: threads)
      var packed = Weight(zerosWithRows: m, columns: n, format: .grid(grid))
      CalibratedRounding.fitScales(of: w, importance: energies.span, into: &packed, on: compute)
      let lost = rounding.chooseCodes(of: w, into: &packed, feedback: feedback, on: compute)
      return (packed, lost.noise)
    }
    /// `tr(E H Eᵀ A)`.
    func lost(_ other: Weight) -> Double {
      let change = other.subtracting(w, on: compute)
      let difference = Matrix(rows: m, columns: n, values: Array(copying: change.values))
      var outputs = Matrix(rows: x.rows, columns: m)
      Gemm.nt(x, difference, into: &outputs, on: compute)
      var product = Matrix(rows: x.rows, columns: m)
      Gemm.nn(outputs, felt, into: &product, on: compute)
      return outputs.sumOfProducts(with: product, rows: 0..<x.rows, on: compute)
    }
    let (with, without) = (rounded([feedback]), rounded([]))
    #expect(lost(with.weight) < 0.5 * lost(without.weight))
    // Each output alone loses more, and that is what is told, by moments that are raised a little.
    let error = error(x, w, with.weight)
    #expect(with.noise > without.noise && with.noise > error && with.noise < 1.06 * error)
    for threads in [1, 3, 6] {
      let other = rounded([feedback], threads: threads).weight
      #expect(other.elements.array == with.weight.elements.array && other.scales.array == with.weight.scales.array)
    }
    // In two parts, each by itself.
    let parts = try [0..<86, 86..<m].map { part in
      var own = Matrix(rows: part.count, columns: part.count)
      for row in part { for column in part { own[row - part.lowerBound, column - part.lowerBound] = felt[row, column] } }
      guard let feedback = OutputFeedback(moments: own, from: part.lowerBound, damping: 0.1, on: compute) else { throw NoFactor() }
      return feedback
    }
    let inParts = lost(rounded(parts).weight)
    #expect(inParts < 0.8 * lost(without.weight) && inParts > lost(with.weight))
  }

  @Test("a matrix that is not positive definite has no factor", arguments: [Float(0), -1, .nan])
  func indefinite(value: Float) {
    var h = Matrix(rows: 70, columns: 70)
    for k in 0..<70 { h[k, k] = k == 68 ? value : 1 }
    #expect(!Cholesky.factor(&h, on: compute))
  }

  @Test("scales lose little more than the best ones, and less than those that know of no importance", arguments: [2, 3, 4, 8])
  func scales(bits: Int) throws {
    let grid = Grid(try #require(GridLevels(bits: bits)), group: 32)
    let w = weight(35, 128, seed: 5)
    let importance = (0..<128).map { Float($0 % 7 == 3 ? 50 : 1) }
    var (fitted, plain) = (
      Weight(zerosWithRows: 35, columns: 128, format: .grid(grid)), Weight(zerosWithRows: 35, columns: 128, format: .grid(grid))
    )
    CalibratedRounding.fitScales(of: w, importance: importance.span, into: &fitted, on: compute)
    GridQuantization.fitScales(of: w, into: &plain, on: compute)
    var sums = (best: 0.0, fitted: 0.0, plain: 0.0)
    for row in 0..<35 {
      for group in 0..<4 {
        let part = (0..<32).map { Double(w.values[row * 128 + group * 32 + $0]) }
        let variance = part.reduce(0) { $0 + $1 * $1 } / 32
        func loss(_ scale: Double) -> Double {
          part.enumerated().reduce(0) { sum, item in
            let top = (Double(1 << bits) - (bits == 8 ? 2 : 1)) / 2
            let u = abs(item.element) / scale
            let level = min(bits == 8 ? (u + 0.5).rounded(.down) : u.rounded(.down) + 0.5, top)
            let share = Double(importance[group * 32 + item.offset]) * (variance + item.element * item.element).squareRoot()
            return sum + share * (abs(item.element) - level * scale) * (abs(item.element) - level * scale)
          }
        }
        // From a sixteenth of what reaches the largest weight to twice that.
        let reach = (part.map(abs).max() ?? 1) / (Double(1 << bits) - 1) * 2
        sums.best += (1...2000).map { loss(reach * (0.0625 + 2 * Double($0) / 2000)) }.min() ?? 0
        sums.fitted += loss(Double(fitted.scale(row: row, group: group)))
        sums.plain += loss(Double(plain.scale(row: row, group: group)))
      }
    }
    // Where levels lie closer, the best of many scales owes more to chance.
    #expect(sums.fitted <= (bits == 2 ? 1.03 : bits == 4 ? 1.2 : 2.2) * sums.best, "\(sums)")
    #expect(sums.fitted < 0.8 * sums.plain, "\(sums)")
  }

  @Test("outputs lose less than by rounding each weight by itself, and what is said to be lost is", arguments: [2, 4])
  func outputs(bits: Int) throws {
    let (n, grid) = (96, Grid(try #require(GridLevels(bits: bits)), group: 32))
    let w = weight(21, n, seed: 2)
    let x = inputs(400, n, seed: 1)
    var moments = SecondMoments(columns: n)
    moments.add(x, on: compute)
    guard let rounding = CalibratedRounding.make(moments: moments.products, for: [.grid(grid)], damping: 1e-4, on: compute) else {
      Issue.record("no factor")
      return
    }
    var packed = Weight(zerosWithRows: 21, columns: n, format: .grid(grid))
    CalibratedRounding.fitScales(of: w, importance: moments.energies.sums.span, into: &packed, on: compute)
    var nearest = packed
    _ = GridQuantization.chooseCodes(of: w, into: &nearest, on: compute)
    var losses = [error(x, w, nearest)]
    for sweeps in [0, 1, 6] {
      let lost = rounding.chooseCodes(of: w, into: &packed, sweeps: sweeps, on: compute)
      losses.append(error(x, w, packed))
      #expect(abs(lost.noise - losses[losses.count - 1]) <= 0.01 * lost.noise, "\(sweeps) sweeps")
    }
    #expect(losses[1] < 0.6 * losses[0] && losses[2] < losses[1] && losses[3] <= losses[2], "\(losses)")
    // No other level of a single weight is better.
    let expanded = packed.floats(on: compute)
    let floats = expanded.values
    for row in 0..<21 {
      for column in stride(from: 0, to: n, by: 5) {
        let scale = Float(packed.scale(row: row, group: column / 32))
        let gradient = (0..<n).reduce(0.0) {
          $0 + Double(moments.products[column, $1]) * Double(w.values[row * n + $1] - floats[row * n + $1])
        }
        let own = Double(moments.products[column, column])
        for step in [-scale, scale] where abs(floats[row * n + column] + step) <= scale * Float((1 << bits) - 1) / 2 * 1.001 {
          let change = Double(step) * (Double(step) * own - 2 * gradient)
          #expect(change >= -0.02 * own * Double(scale * scale), "[\(row), \(column)]")
        }
      }
    }
  }

  @Test(
    "the number of threads, and so that of panels that are rounded together, changes no code and no loss", arguments: GridLevels.all)
  func threads(levels: GridLevels) throws {
    // Panels of which one thread takes four at a time and six threads one, the last of them not full; inputs that end within a block.
    let (rows, columns) = (150, 290)
    let grid = Grid(levels, group: columns)
    let w = weight(rows, columns, seed: 4)
    let x = inputs(600, columns, seed: 3)
    func packed(threads: Int) throws -> (weight: Weight, lost: GridQuantization.Error) {
      let compute = Compute(threads: threads)
      var moments = SecondMoments(columns: columns)
      moments.add(x, on: compute)
      guard let rounding = CalibratedRounding.make(moments: moments.products, for: [.grid(grid)], damping: 1e-4, on: compute) else {
        throw NoFactor()
      }
      var packed = Weight(zerosWithRows: rows, columns: columns, format: .grid(grid))
      CalibratedRounding.fitScales(of: w, importance: moments.energies.sums.span, into: &packed, on: compute)
      let lost = rounding.chooseCodes(of: w, into: &packed, on: compute)
      return (packed, lost)
    }
    let one = try packed(threads: 1)
    for threads in [2, 3, 6] {
      let other = try packed(threads: threads)
      #expect(one.weight.elements.array == other.weight.elements.array && one.weight.scales.array == other.weight.scales.array)
      #expect(one.lost.noise == other.lost.noise && one.lost.signal == other.lost.signal)
    }
    let expected = error(x, w, one.weight)
    #expect(abs(one.lost.noise - expected) <= 0.02 * expected)
  }

  @Test("moments in BF16 are those of rounded inputs", .enabled(if: Compute(threads: 1, floats: .bfloat16).floats == .bfloat16))
  func bfloat() {
    let n = 72
    let x = inputs(301, n, seed: 21)
    let other = inputs(301, n, seed: 22)
    let missing = inputs(301, 5, seed: 23)
    func moments(_ compute: Compute, _ x: borrowing Matrix) -> SecondMoments {
      var moments = SecondMoments(columns: n, isCompared: true, outputs: 5)
      moments.add(x, lacking: other, on: compute)
      moments.add(x, missing: missing, on: compute)
      return moments
    }
    let found = moments(Compute(threads: 2, floats: .bfloat16), x)
    let expected = moments(compute, x)
    func isRounded(_ a: [Float], _ b: [Float]) -> Bool { relativeNorm(a, b) < 0.005 && a != b }
    let products = found.products.values
    #expect(isRounded(products, expected.products.values))
    #expect(isRounded(found.cross.values, expected.cross.values))
    #expect(isRounded(found.missing.values, expected.missing.values))
    #expect(found.energies.sums.values == expected.energies.sums.values)
    for row in 0..<n { for column in 0..<row { #expect(products[row * n + column] == products[column * n + row]) } }
  }

  @Test("a layer makes up for what its inputs lost")
  func correction() throws {
    let (n, w) = (40, weight(9, 40, seed: 7))
    let x = inputs(500, n, seed: 6)
    var lossy = Matrix(rows: 500, columns: n)
    lossy.copy(x)
    var rng = SplitMix64(seed: 8)
    // What is lost goes with what is left.
    for row in 0..<500 { for column in 0..<n { lossy[row, column] = 0.8 * x[row, column] + 0.1 * rng.normal() } }
    var lacking = Matrix(rows: 500, columns: n)
    for row in 0..<500 { for column in 0..<n { lacking[row, column] = x[row, column] - lossy[row, column] } }
    var moments = SecondMoments(columns: n, isCompared: true)
    moments.add(lossy, lacking: lacking, on: compute)
    func corrected(_ moments: borrowing SecondMoments, alpha: Float) throws -> Weight {
      let found = CalibratedRounding.corrected(w, by: moments, alpha: alpha, on: compute)
      return try #require(found)
    }
    func distance(_ other: Weight) -> Double {
      let (a, b) = (w.values, other.values)
      var sum = 0.0
      for row in 0..<500 {
        for output in 0..<9 {
          let difference = (0..<n).reduce(0.0) {
            $0 + Double(x[row, $1]) * Double(a[output * n + $1]) - Double(lossy[row, $1]) * Double(b[output * n + $1])
          }
          sum += difference * difference
        }
      }
      return sum
    }
    var distances: [Double] = []
    for alpha in [0, 0.5, 1] as [Float] { distances.append(distance(try corrected(moments, alpha: alpha))) }
    #expect(distances[1] < 0.5 * distances[0] && distances[2] < 0.2 * distances[0], "\(distances)")
    let unchanged = try corrected(moments, alpha: 0)
    #expect(unchanged.elements.array == w.elements.array)
    // What inputs lack may be summed by what the outputs would make of it.
    var made = Matrix(rows: 500, columns: 9)
    Linear.forward(lacking, weight: w, into: &made, on: compute)
    made.multiply(by: 0.5, on: compute)
    var outputSums = SecondMoments(columns: n, outputs: 9)
    outputSums.add(lossy, missing: made, on: compute)
    let (byOutputs, byInputs) = (try corrected(outputSums, alpha: 1), try corrected(moments, alpha: 0.5))
    for index in 0..<9 * n { #expect(abs(byOutputs.values[index] - byInputs.values[index]) < 1e-4) }
    // What outputs are to make up for is put in as far as it follows from the inputs: here it is `x Mᵀ` for another matrix.
    let other = weight(9, n, seed: 11)
    var missing = Matrix(rows: 500, columns: 9)
    Linear.forward(lossy, weight: other, into: &missing, on: compute)
    var sums = SecondMoments(columns: n, outputs: 9)
    sums.add(lossy, missing: missing, on: compute)
    let restored = try corrected(sums, alpha: 1)
    var outputs = Matrix(rows: 500, columns: 9)
    Linear.forward(lossy, weight: restored, into: &outputs, on: compute)
    let negated = Matrix(rows: 9, columns: n, values: w.values.indices.map { -w.values[$0] })
    Gemm.nt(lossy, negated, accumulating: true, into: &outputs, on: compute)
    #expect(relativeNorm(outputs.values, missing.values) < 0.25, "\(relativeNorm(outputs.values, missing.values))")
  }

  @Test("inputs that never come, and none at all, do no harm")
  func silence() throws {
    let w = weight(5, 32, seed: 9)
    for live in [[], [3, 4, 17]] {
      var x = Matrix(rows: 20, columns: 32)
      var rng = SplitMix64(seed: 10)
      for row in 0..<20 { for column in live { x[row, column] = rng.normal() } }
      var moments = SecondMoments(columns: 32)
      moments.add(x, on: compute)
      guard let rounding = CalibratedRounding.make(moments: moments.products, for: [.grid(bits: 2, group: nil)], on: compute) else {
        Issue.record("no factor of \(live)")
        return
      }
      var packed = Weight(zerosWithRows: 5, columns: 32, format: .grid(bits: 2, group: 32))
      CalibratedRounding.fitScales(of: w, importance: moments.energies.sums.span, into: &packed, on: compute)
      let lost = rounding.chooseCodes(of: w, into: &packed, on: compute)
      #expect(lost.noise.isFinite)
      let expanded = packed.floats(on: compute)
      let floats = expanded.values
      #expect(floats.indices.allSatisfy { floats[$0].isFinite && abs(floats[$0]) > 0 })
    }
    var damaged = Matrix(rows: 4, columns: 4)
    damaged[2, 2] = .infinity
    let isRefused =
      if CalibratedRounding.make(moments: damaged, for: [.grid(bits: 2, group: nil)], on: compute) == nil { true } else { false }
    #expect(isRefused)
  }
}
