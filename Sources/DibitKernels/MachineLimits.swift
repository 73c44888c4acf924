internal import CDibitKernels
internal import DibitTensor

/// What this machine can do at most with the CPUs and the tier of a ``Compute``: what measured rates are compared with.
public struct MachineLimits: Equatable, Sendable {
  /// Bytes per second that all threads together read from memory.
  public var readBandwidth: Double
  /// Operations per second on bytes in registers; a product and its addition count as two.
  public var int8Operations: Double
  /// As ``int8Operations``, on floats.
  public var floatOperations: Double

  /// Measures all three for about `seconds` each; the best of many passes counts, because other load can only slow a pass down.
  public static func measure(on compute: Compute, seconds: Double = 0.25) -> MachineLimits {
    let isa = dibit_isa(UInt32(compute.isa.rawValue))
    return MachineLimits(
      readBandwidth: readBandwidth(on: compute, seconds: seconds),
      int8Operations: rate(compute, seconds) { dibit_machine_multiply_i8(isa, $0) },
      floatOperations: rate(compute, seconds) { dibit_machine_multiply_f32(isa, $0) })
  }

  /// Bytes per second read from a buffer of at least four times the largest cache.
  public static func readBandwidth(on compute: Compute, seconds: Double = 0.25) -> Double {
    let isa = dibit_isa(UInt32(compute.isa.rawValue))
    let chunk = 1 << 20
    let chunks = min(max(4 * dibit_machine_cache(), 128 << 20), 4 << 30) / chunk
    var buffer = Buffer<UInt8>(count: chunks * chunk)
    var found = Buffer<UInt64>(count: chunks)
    let (bytes, sums) = unsafe (buffer.mutablePointer, found.mutablePointer)
    return best(seconds) {
      compute.pool.forEach(chunks) { task, _ in
        // SAFETY: the buffer has `chunks` chunks and `sums` an entry for each; the pool returns before both are freed.
        unsafe sums[task] = dibit_machine_read(isa, bytes + task * chunk, chunk)
      }
      return Double(chunks * chunk)
    }
  }

  private static func rate(_ compute: Compute, _ seconds: Double, _ multiply: @escaping @Sendable (Int) -> Int) -> Double {
    let (rounds, tasks) = (20_000, 8 * compute.threads)
    return best(seconds) {
      compute.pool.forEach(tasks) { _, _ in _ = multiply(rounds) }
      return 2 * Double(multiply(1) * rounds * tasks)
    }
  }

  /// The best rate of passes that go on for `seconds`, five at least, or with zero of a single one; a pass returns how much it did.
  private static func best(_ seconds: Double, _ pass: () -> Double) -> Double {
    let clock = ContinuousClock()
    let start = clock.now
    var (best, passes) = (0.0, 0)
    while passes < (seconds > 0 ? 5 : 1) || clock.now - start < .seconds(seconds) {
      let begin = clock.now
      let work = pass()
      let time = clock.now - begin
      best = max(best, work / (Double(time.components.seconds) + Double(time.components.attoseconds) * 1e-18))
      passes += 1
    }
    return best
  }
}
