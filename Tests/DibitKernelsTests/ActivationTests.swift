import ComplexModule
import DibitKernels
import DibitQuantization
import DibitTensor
import DibitTestSupport
import Dispatch
import Synchronization
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite struct SwiGLUTests {
  static func forward(_ gate: [Float], _ up: [Float], on compute: Compute) -> [Float] {
    var y = Matrix(rows: 1, columns: gate.count)
    Activation.silu.forward(gate: Matrix(gate, columns: gate.count), up: Matrix(up, columns: up.count), into: &y, on: compute)
    return y.values
  }

  @Test(arguments: awkward + [4095, 4097, 9000])
  func forwardAgreesWithTheOracle(count: Int) {
    let (gate, up) = (uniforms(count, seed: 1, bound: 12), uniforms(count, seed: 2))
    let expected = Oracle.swiglu(gate: doubles(gate), up: doubles(up))
    agree(expected, tolerance: { roundingTolerance(length: 1, magnitude: abs(expected[$0]), steps: 6) }) { Self.forward(gate, up, on: $0) }
  }

  @Test func extremesSaturate() {
    let gate: [Float] = [-1e30, -1000, -100, 100, 1000, 1e30]
    let y = Self.forward(gate, [Float](repeating: 1, count: 6), on: Machine.usual)
    // The exponential stops at e^88, so the sigmoid stops at 6e-39 and not at 0.
    #expect(y[3...] == [100, 1000, 1e30])
    #expect(abs(y[1]) < 1e-34 && abs(y[2]) < 1e-35 && y.allSatisfy(\.isFinite))
  }

  @Test(arguments: [1, 7, 16, 45])
  func gradientsAgreeWithTheComplexStep(count: Int) {
    let (gate, up, dy) = (uniforms(count, seed: 3, bound: 6), uniforms(count, seed: 4), uniforms(count, seed: 5))
    let gradients = expectedGradients(of: [doubles(gate), doubles(up)], dy: doubles(dy)) { Oracle.swiglu(gate: $0[0], up: $0[1]) }
    agree(gradients.flatMap(\.self), columns: count, within: roundingTolerance(length: 1, magnitude: 7, steps: 6)) { compute in
      var dgate = Matrix(earlier(count), columns: count)
      var dup = Matrix(earlier(count), columns: count)
      Activation.silu.backward(
        Matrix(dy, columns: count), gate: Matrix(gate, columns: count), up: Matrix(up, columns: count), dgate: &dgate, dup: &dup,
        on: compute)
      return dgate.values + dup.values
    }
  }
}

@Suite struct CrossEntropyTests {
  static let targets: [Int32] = [3, -1, 0, 6, -100, 5]

  static func losses(_ logits: [Float], _ targets: [Int32], columns: Int, on compute: Compute) -> [Float] {
    var copy = Matrix(logits, columns: columns)
    var losses = Matrix(rows: targets.count, columns: 1)
    CrossEntropy.forward(&copy, targets: targets.span, losses: &losses, on: compute)
    #expect(copy.values == logits, "the forward pass leaves logits alone")
    return losses.values
  }

  @Test(arguments: awkward + [1000])
  func forwardAgreesWithTheOracle(columns: Int) {
    let targets = [Int32](0..<9).map { $0 == 4 ? -1 : $0 * 7 % Int32(columns) }
    let logits = uniforms(9 * columns, seed: 1, bound: 20)
    let expected = Oracle.crossEntropy(doubles(logits), targets: targets.ints, columns: columns)
    agree(expected, within: roundingTolerance(length: columns, magnitude: 60)) { Self.losses(logits, targets, columns: columns, on: $0) }
  }

  @Test func gradientAgreesWithTheComplexStep() {
    let columns = 7
    let (logits, weights) = (uniforms(42, seed: 2, bound: 4), uniforms(6, seed: 3))
    let gradient = expectedGradients(of: [doubles(logits)], dy: doubles(weights)) {
      Oracle.crossEntropy($0[0], targets: Self.targets.ints, columns: columns)
    }
    let losses = Oracle.crossEntropy(doubles(logits), targets: Self.targets.ints, columns: columns)
    agree(gradient[0] + losses, columns: columns, within: roundingTolerance(length: columns, magnitude: 4)) { compute in
      var dlogits = Matrix(logits, columns: columns)
      var found = Matrix(rows: 6, columns: 1)
      CrossEntropy.forwardBackward(&dlogits, targets: Self.targets.span, weights: Matrix(weights, columns: 1), losses: &found, on: compute)
      return dlogits.values + found.values
    }
  }

  @Test("a divergence from a teacher and its gradient", arguments: [1, 7, 100])
  func divergence(columns: Int) {
    let (logits, teacher) = (uniforms(5 * columns, seed: 2, bound: 4), uniforms(5 * columns, seed: 4, bound: 4))
    let weights = uniforms(5, seed: 3)
    let gradient = expectedGradients(of: [doubles(logits)], dy: doubles(weights)) {
      Oracle.divergence($0[0], teacher: doubles(teacher).map { Complex($0) }, columns: columns)
    }
    let losses = Oracle.divergence(doubles(logits), teacher: doubles(teacher), columns: columns)
    agree(gradient[0] + losses, within: roundingTolerance(length: columns, magnitude: 8)) { compute in
      var dlogits = Matrix(logits, columns: columns)
      var found = Matrix(rows: 5, columns: 1)
      Divergence.forwardBackward(
        &dlogits, from: Matrix(teacher, columns: columns), weights: Matrix(weights, columns: 1), losses: &found, on: compute)
      return dlogits.values + found.values
    }
    // Of a distribution from itself it is nothing.
    var same = Matrix(teacher, columns: columns)
    var none = Matrix(rows: 5, columns: 1)
    Divergence.forward(&same, from: Matrix(teacher, columns: columns), losses: &none, on: Machine.usual)
    #expect(none.values == [0, 0, 0, 0, 0] && same.values == teacher)
  }

  @Test("predictions mixed with a target are the mean of both", arguments: [1, 7, 100], [0, 0.25, 0.9] as [Float])
  func mixture(columns: Int, share: Float) {
    let logits = uniforms(5 * columns, seed: 4, bound: 9)
    let targets = (0..<5).map { Int32($0 * 3 % columns) }
    func softmax(_ values: [Double]) -> [Double] {
      let all = values.map { exp($0) }
      let sum = all.reduce(0, +)
      return all.map { $0 / sum }
    }
    var expected: [Double] = []
    for row in 0..<5 {
      for (index, p) in softmax(doubles(Array(logits[row * columns..<(row + 1) * columns]))).enumerated() {
        expected.append((1 - Double(share)) * p + (index == Int(targets[row]) ? Double(share) : 0))
      }
    }
    agree(expected, within: roundingTolerance(length: columns, magnitude: 4)) { compute in
      var mixed = Matrix(logits, columns: columns)
      Divergence.mix(&mixed, with: targets.span, share: share, on: compute)
      return (0..<5).flatMap { row in softmax((0..<columns).map { Double(mixed[row, $0]) }).map { Float($0) } }
    }
  }

  @Test("a target is drawn where the probabilities so far come to more than the number", arguments: [1, 7, 100])
  func drawn(columns: Int) {
    let row = uniforms(columns, seed: 5, bound: 4)
    let normaliser = Oracle.logSumExp(doubles(row))
    var (bounds, sum): ([Double], Double) = ([], 0)
    for logit in row {
      sum += exp(Double(logit) - normaliser)
      bounds.append(sum)
    }
    // In the middle of each one's share, and at both ends of all.
    let middles = bounds.indices.map { Float((($0 > 0 ? bounds[$0 - 1] : 0) + bounds[$0]) / 2) }
    let uniforms = middles + [0, Float(1).nextDown]
    let logits = Matrix(Array(repeating: row, count: uniforms.count).flatMap(\.self), columns: columns)
    for compute in Machine.own {
      let targets = CrossEntropy.drawTargets(logits, uniforms: uniforms, on: compute)
      #expect(targets == (0..<columns).map { Int32($0) } + [0, Int32(columns - 1)])
    }
  }

  @Test func anIgnoredRowHasNoLossAndNoGradient() {
    var logits = Matrix(rows: 1, columns: 3, values: [.nan, .infinity, 5])
    var losses = Matrix(rows: 1, columns: 1, values: [9])
    CrossEntropy.forwardBackward(
      &logits, targets: [Int32](arrayLiteral: -1).span, weights: Matrix(rows: 1, columns: 1, values: [1]), losses: &losses,
      on: Machine.usual)
    #expect(logits.values == [0, 0, 0] && losses.values == [0])
  }

  @Test func largeLogitsDoNotOverflow() {
    let found = Self.losses([1e30, 0, -1e30, 300, 299, 298], [0, 0], columns: 3, on: Machine.usual)
    let expected = Oracle.crossEntropy([1e30, 0, -1e30, 300, 299, 298], targets: [0, 0], columns: 3)
    #expect(mismatch(found, expected, within: roundingTolerance(length: 3, magnitude: 300)) == nil)
  }

  @Test func aTargetOutsideTheVocabularyTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var logits = Matrix(rows: 1, columns: 3)
      var losses = Matrix(rows: 1, columns: 1)
      CrossEntropy.forward(&logits, targets: [Int32](arrayLiteral: 3).span, losses: &losses, on: Compute(threads: 1, usesBLAS: false))
    }
    expectTrap("CrossEntropy: target 3 outside 0..<3", result)
  }

  @Test(arguments: awkward)
  func logSumExpAgreesWithTheOracle(count: Int) {
    let x = uniforms(count, seed: 4, bound: 30)
    agree([Oracle.logSumExp(doubles(x))], within: roundingTolerance(length: count, magnitude: 30)) {
      [CrossEntropy.logSumExp(x.span, on: $0)]
    }
  }

  /// A probability is `exp(logit - log-sum-exp)`, and both are floats that the test can see: so this is the exponential itself.
  @Test func theExponentialIsWithinTwoUnitsInTheLastPlace() {
    let count = 8192
    let x = (0..<count).map { Float(-86 * Double($0) / Double(count)) }
    for compute in Machine.own where compute.threads == 1 {
      let normaliser = CrossEntropy.logSumExp(x.span, on: compute)
      var logits = Matrix(x, columns: count)
      var losses = Matrix(rows: 1, columns: 1)
      let one = Matrix(rows: 1, columns: 1, values: [1])
      CrossEntropy.forwardBackward(
        &logits, targets: [Int32](arrayLiteral: Int32(count - 1)).span, weights: one, losses: &losses, on: compute)
      let used = (0..<count - 1).filter { x[$0] - normaliser > -87 }
      let expected = used.map { Oracle.exp(Double(x[$0] - normaliser)) }
      let found = used.map { logits[0, $0] }
      #expect(
        mismatch(found, expected) { 2 * Double(Float(expected[$0]).ulp) } == nil, compute.label)
    }
  }
}

@Suite struct EmbeddingTests {
  static let ids: [Int32] = [4, 0, 4, 2]

  @Test(arguments: [
    WeightFormat.f32, .f16, .bf16, .grid(bits: 2, group: 64), .grid(bits: 4, group: 32), .grid(bits: 4, group: 100),
    .grid(bits: 8, group: 32),
  ])
  func forwardReturnsTheRowsExactly(format: WeightFormat) {
    let (w, values) = randomWeight(rows: 5, columns: 100, format: format, seed: 1)
    agree(
      Oracle.embedding(Self.ids.ints, weight: doubles(values), columns: 100), columns: 100,
      within: 0.1 * Double(Float.leastNonzeroMagnitude)
    ) {
      var y = Matrix(rows: 4, columns: 100)
      Embedding.forward(Self.ids.span, weight: w, into: &y, on: $0)
      return y.values
    }
  }

  /// Models that share the threads of a process run side by side: scratch memory must belong to the task that runs.
  @Test("rows are added exactly, also while others add theirs on the same threads", arguments: [1, 2])
  func additionsSideBySide(threads: Int) {
    let compute = Compute(threads: threads, usesBLAS: false)
    let failures = Atomic<Int>(0)
    let ids = [Int32](repeating: 1, count: 64)
    DispatchQueue.concurrentPerform(iterations: 4) { caller in
      let w = Weight(rows: 2, columns: 1000, values: [Float](repeating: Float(caller + 1), count: 2000))
      var y = Matrix(rows: 64, columns: 1000)
      for _ in 0..<5000 { Embedding.add(ids.span, weight: w, to: &y, on: compute) }
      // Small whole numbers: exact.
      if y.values != [Float](repeating: Float(5000 * (caller + 1)), count: 64_000) { failures.add(1, ordering: .relaxed) }
    }
    #expect(failures.load(ordering: .relaxed) == 0)
  }

  @Test func anIdOutsideTheTableTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var y = Matrix(rows: 1, columns: 2)
      Embedding.forward(
        [Int32](arrayLiteral: -1).span, weight: Weight(zerosWithRows: 3, columns: 2), into: &y, on: Compute(threads: 1, usesBLAS: false))
    }
    expectTrap("Embedding: id -1 outside 0..<3", result)
  }

  @Test func gradientAgreesWithTheComplexStep() {
    let (w, dy) = (uniforms(5 * 17, seed: 2), uniforms(4 * 17, seed: 3))
    let gradient = expectedGradients(of: [doubles(w)], dy: doubles(dy)) { Oracle.embedding(Self.ids.ints, weight: $0[0], columns: 17) }
    agree(onTop(gradient[0]), columns: 17, within: roundingTolerance(length: 3, magnitude: 3)) { compute in
      var dw = Matrix(earlier(5 * 17), columns: 17)
      Embedding.backward(Self.ids.span, Matrix(dy, columns: 17), dWeight: &dw, on: compute)
      return dw.values
    }
  }
}
