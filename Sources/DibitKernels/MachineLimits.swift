internal import CDibitKernels
internal import DibitTensor

/// The most that this machine can do with the CPUs and the tier of a ``Compute``: what measured rates are compared with.
package struct MachineLimits: Equatable, Sendable {
  /// Bytes per second that all threads together read from memory.
  package var readBandwidth: Double
  /// Operations per second on bytes in registers; a product and its addition count as two.
  package var int8Operations: Double
  /// As ``int8Operations``, on floats.
  package var floatOperations: Double

  /// Measures all three for about `seconds` each; the best of many passes counts, because other load can only slow a pass down.
  package static func measure(on compute: Compute, seconds: Double = 0.25) -> MachineLimits {
    let isa = dibit_isa(UInt32(compute.isa.rawValue))
    var probe = ReadProbe(on: compute)
    return MachineLimits(
      readBandwidth: probe.rates(seconds: seconds).max() ?? 0,
      int8Operations: rate(compute, seconds) { dibit_machine_multiply_i8(isa, $0) },
      floatOperations: rate(compute, seconds) { dibit_machine_multiply_f32(isa, $0) })
  }

  private static func rate(_ compute: Compute, _ seconds: Double, _ multiply: @escaping @Sendable (Int) -> Int) -> Double {
    let (rounds, tasks) = (20_000, 8 * compute.threads)
    let rates = measureRates(seconds) {
      compute.pool.forEach(tasks) { _, _ in _ = multiply(rounds) }
      return 2 * Double(multiply(1) * rounds * tasks)
    }
    return rates.max() ?? 0
  }
}

/// A buffer of at least four times the largest cache, which all threads read together to find out how fast memory is at this moment.
package struct ReadProbe: ~Copyable {
  private static let chunk = 1 << 20
  private let compute: Compute
  private let chunks: Int
  private let buffer: Buffer<UInt8>
  private var sums: Buffer<UInt64>

  /// Allocates the buffer and writes to all of it.
  package init(on compute: Compute) {
    let chunks = min(max(4 * dibit_machine_cache(), 128 << 20), 4 << 30) / Self.chunk
    var buffer = Buffer<UInt8>(count: chunks * Self.chunk)
    let bytes = unsafe buffer.mutablePointer
    // Untouched pages would all be one page of zeros, which stays in the cache.
    compute.pool.forEach(chunks) { task, _ in unsafe (bytes + task * Self.chunk).update(repeating: 1, count: Self.chunk) }
    (self.compute, self.chunks) = (compute, chunks)
    self.buffer = buffer
    sums = Buffer(count: chunks)
  }

  /// Bytes per second of each pass over the buffer; passes go on for `seconds`, five at least, or with zero for a single one.
  package mutating func rates(seconds: Double) -> [Double] {
    let isa = dibit_isa(UInt32(compute.isa.rawValue))
    let (bytes, sums, bytesOfAll) = unsafe (buffer.pointer, sums.mutablePointer, Double(chunks * Self.chunk))
    return measureRates(seconds) {
      compute.pool.forEach(chunks) { task, _ in
        // SAFETY: the buffer has `chunks` chunks and `sums` an entry for each; the pool returns before both are freed.
        unsafe sums[task] = dibit_machine_read(isa, bytes + task * Self.chunk, Self.chunk)
      }
      return bytesOfAll
    }
  }
}

/// The rates of passes that go on for `seconds`, five at least, or with zero of a single one; a pass returns how much it did.
private func measureRates(_ seconds: Double, _ pass: () -> Double) -> [Double] {
  let clock = ContinuousClock()
  let start = clock.now
  var rates: [Double] = []
  while rates.count < (seconds > 0 ? 5 : 1) || clock.now - start < .seconds(seconds) {
    let begin = clock.now
    let work = pass()
    let time = (clock.now - begin).components
    rates.append(work / (Double(time.seconds) + Double(time.attoseconds) * 1e-18))
  }
  return rates
}
