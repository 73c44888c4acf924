package import DibitQuantization
package import DibitTensor

/// A kernel on seeded data: what `dibit selftest` runs on every tier and compares with the scalar one on one thread.
///
/// A new kernel adds one entry to ``KernelCheck/all``. Its body makes data, calls the op within ``KernelRun/measure(bytes:operations:_:)``
/// and hands the result to ``KernelRun/record(_:)``; it runs once for each of the awkward shapes, and for the large one to be timed.
package struct KernelCheck: Sendable {
  /// The difference that two tiers may have.
  package enum Agreement: Equatable, Sendable {
    /// Not at all.
    case bits
    /// By this much, as a share of the largest magnitude of the result.
    case within(Float)
  }

  /// The subject of the check: the op, and the format or variant.
  package let name: String
  /// The entries of the kernel table that it runs.
  package let kernels: [String]
  /// The agreement that is promised.
  package let agreement: Agreement
  /// Shapes that leave remainders; what the numbers mean is the body's business.
  let awkward: [[Int]]
  /// A shape that takes long enough to be timed.
  let large: [Int]
  private let body: @Sendable (KernelRun, _ shape: [Int]) -> Void

  /// An entry of the list.
  package init(
    _ name: String, _ kernels: [String], agreement: Agreement = .bits, awkward: [[Int]], large: [Int],
    body: @escaping @Sendable (_ run: KernelRun, _ shape: [Int]) -> Void
  ) {
    (self.name, self.kernels, self.agreement, self.awkward, self.large, self.body) = (name, kernels, agreement, awkward, large, body)
  }

  /// The bits of the results for all awkward shapes.
  package func results(on compute: Compute, asReference: Bool = false) -> [UInt32] {
    awkward.flatMap { shape in
      let run = KernelRun(compute, seed: shape.reduce(17) { 31 &* $0 &+ $1 }, seconds: 0, isReference: asReference)
      body(run, shape)
      return run.words
    }
  }

  /// Measures how fast it is with the large shape, repeated for `seconds`; the best repetition counts.
  package func rate(on compute: Compute, seconds: Double) -> KernelRate {
    let run = KernelRun(compute, seed: 1, seconds: seconds, isReference: false)
    body(run, large)
    return KernelRate(bytes: run.bytes / run.bestTime, operations: run.operations / run.bestTime)
  }

  /// Returns the index of the first element of `found` that is not what `expected` promises.
  package func firstMismatch(_ found: [UInt32], expected: [UInt32]) -> Int? {
    guard found.count == expected.count else { return min(found.count, expected.count) }
    switch agreement {
    case .bits: return found.indices.first { found[$0] != expected[$0] }
    case .within(let share):
      let largest = expected.reduce(Float(0)) { max($0, abs(Float(bitPattern: $1))) }
      return found.indices.first { !(abs(Float(bitPattern: found[$0]) - Float(bitPattern: expected[$0])) <= share * largest) }
    }
  }

  /// The same check of a kernel that is wrong everywhere but in the reference: to see that a fault is found.
  package var withFault: KernelCheck {
    KernelCheck(name, kernels, agreement: agreement, awkward: awkward, large: large) { [body] run, shape in
      body(run, shape)
      if !run.isReference { run.breakFirstResult() }
    }
  }
}

/// The work of a kernel in a second; a figure that says nothing about it is zero.
package struct KernelRate: Equatable, Sendable {
  /// Bytes read and written.
  package let bytes: Double
  /// Arithmetic operations.
  package let operations: Double
}

/// One run of a check: seeded data, the clock, and the results.
@safe
package final class KernelRun {
  /// The execution context of the kernel.
  package let compute: Compute
  /// True when this run says what is right.
  package let isReference: Bool
  private var generator: SplitMix64
  private let seconds: Double
  private(set) var words: [UInt32] = []
  private(set) var bytes = 0.0
  private(set) var operations = 0.0
  private(set) var bestTime = Double.infinity

  init(_ compute: Compute, seed: Int, seconds: Double, isReference: Bool) {
    (self.compute, self.seconds, self.isReference) = (compute, seconds, isReference)
    generator = SplitMix64(seed: UInt64(truncatingIfNeeded: seed))
  }

  /// Random numbers in [-bound, bound).
  package func matrix(_ rows: Int, _ columns: Int, bound: Float = 1) -> Matrix {
    var matrix = Matrix(rows: rows, columns: columns)
    var span = matrix.mutableSpan
    for index in span.indices { span[index] = generator.uniform(bound: bound) }
    return matrix
  }

  /// A whole number in 0..<bound.
  package func number(below bound: Int) -> Int { generator.below(bound) }

  /// A weight of random floats, or of random codes and positive scales.
  package func weight(_ rows: Int, _ columns: Int, _ format: WeightFormat) -> Weight {
    let count = format.elementByteCount(rows: rows, columns: columns)
    switch format {
    case .f32: return Weight(rows: rows, columns: columns, values: matrix(rows, columns).values)
    case .f16: return floats(rows, columns, format) { Float16($0).bitPattern }
    case .bf16: return floats(rows, columns, format) { UInt16(truncatingIfNeeded: $0.bitPattern >> 16) }
    case .grid:
      // From 0x2000 to 0x2FFF: scales between 2^-7 and 2^-3.
      let scales = bytes(format.scaleByteCount(rows: rows, columns: columns)) { index, random in
        index % 2 == 0 ? random : 0x20 | random & 0x0F
      }
      return Weight(rows: rows, columns: columns, format: format, elements: bytes(count) { $1 }, scales: scales)
    }
  }

  private func floats(_ rows: Int, _ columns: Int, _ format: WeightFormat, _ narrow: (Float) -> UInt16) -> Weight {
    var all = [UInt8](repeating: 0, count: 2 * rows * columns)
    for element in 0..<rows * columns {
      let bits = narrow(generator.uniform(bound: 1))
      all[2 * element] = UInt8(truncatingIfNeeded: bits)
      all[2 * element + 1] = UInt8(truncatingIfNeeded: bits >> 8)
    }
    return Weight(rows: rows, columns: columns, format: format, elements: Bytes(SharedBytes(all)))
  }

  private func bytes(_ count: Int, _ make: (_ index: Int, _ random: UInt8) -> UInt8) -> Bytes {
    var (all, random) = ([UInt8](repeating: 0, count: count), UInt64(0))
    for index in 0..<count {
      if index % 8 == 0 { random = generator.next() }
      all[index] = make(index, UInt8(truncatingIfNeeded: random))
      random >>= 8
    }
    return Bytes(SharedBytes(all))
  }

  /// Calls the op once, or to time it again and again. `bytes` are those it reads and writes, `operations` its arithmetic; give the one
  /// that limits it.
  package func measure(bytes: Int = 0, operations: Int = 0, _ body: () -> Void) {
    (self.bytes, self.operations) = (Double(bytes), Double(operations))
    let clock = ContinuousClock()
    let start = clock.now
    repeat {
      let begin = clock.now
      body()
      let time = clock.now - begin
      bestTime = min(bestTime, Double(time.components.seconds) + Double(time.components.attoseconds) * 1e-18)
    } while clock.now - start < .seconds(seconds)
  }

  /// Adds a result; results of a run that is timed are not looked at.
  package func record(_ matrix: borrowing Matrix) {
    guard seconds == 0 else { return }
    let span = matrix.span
    for index in span.indices { words.append(span[index].bitPattern) }
  }

  /// As ``record(_:)``, for numbers that are no matrix.
  package func record(_ values: [UInt32]) { if seconds == 0 { words += values } }

  /// As ``record(_:)``, for a sum in double precision.
  package func record(_ value: Double) {
    record([UInt32(truncatingIfNeeded: value.bitPattern), UInt32(truncatingIfNeeded: value.bitPattern >> 32)])
  }

  func breakFirstResult() { if !words.isEmpty { words[0] ^= 0x4000_0001 } }
}
