package import DibitJSON
package import DibitKernels

/// Runs every kernel on every tier of this CPU and compares it with the scalar tier on one thread.
package struct SelfTest: Sendable {
  /// The outcome of a kernel on a tier.
  package struct Outcome: Equatable, Sendable {
    /// The check's name.
    package let kernel: String
    /// The tier.
    package let isa: ISA
    /// The index of the first result that is not as promised; nil when all are.
    package let mismatch: Int?
    /// The work that it does in a second; nil when it was not timed.
    package let rate: KernelRate?
    /// The rate as a share of what the machine can do at most with the tier: of its bandwidth or of its float operations.
    package let share: Double?
  }

  /// The limits of the machine with a tier.
  package struct Tier: Equatable, Sendable {
    /// The tier.
    package let isa: ISA
    /// Its limits.
    package let limits: MachineLimits
  }

  /// The findings of the test.
  package struct Report: Equatable, Sendable {
    /// One for each kernel and tier, tier by tier.
    package let outcomes: [Outcome]
    /// The limits of the machine with each tier.
    package let tiers: [Tier]

    /// The kernels that are wrong.
    package var failures: [Outcome] { outcomes.filter { $0.mismatch != nil } }
  }

  private let checks: [KernelCheck]
  private let tiers: [ISA]
  private let threads: Int?
  private let seconds: Double

  /// A test of `checks` on `tiers`; each kernel is timed for `seconds`, or with zero not at all.
  package init(checks: [KernelCheck] = KernelCheck.all, tiers: [ISA] = ISA.available, threads: Int? = nil, seconds: Double = 0.02) {
    (self.checks, self.tiers, self.threads, self.seconds) = (checks, tiers, threads, seconds)
  }

  /// Runs it; `progress` is told each kernel, and ends it by returning false.
  package func run(progress: (_ kernel: String, _ done: Int, _ of: Int) -> Bool = { _, _, _ in true }) throws(BenchmarkError) -> Report {
    let reference = Compute(isa: .scalar, threads: 1, usesBLAS: false)
    let expected = checks.map { $0.results(on: reference, asReference: true) }
    var outcomes: [Outcome] = []
    var measured: [Tier] = []
    for isa in tiers {
      let compute = Compute(isa: isa, threads: threads, usesBLAS: false)
      let machine = seconds > 0 ? MachineLimits.measure(on: compute, seconds: 5 * seconds) : nil
      if let machine { measured.append(Tier(isa: isa, limits: machine)) }
      for (index, check) in checks.enumerated() {
        guard progress("\(isa) \(check.name)", outcomes.count, checks.count * tiers.count) else { throw .interrupted }
        let mismatch = check.firstMismatch(check.results(on: compute), expected: expected[index])
        let rate = machine.map { _ in check.rate(on: compute, seconds: seconds) }
        let share = machine.map { max((rate?.bytes ?? 0) / $0.readBandwidth, (rate?.operations ?? 0) / $0.floatOperations) }
        outcomes.append(Outcome(kernel: check.name, isa: isa, mismatch: mismatch, rate: rate, share: share))
      }
    }
    return Report(outcomes: outcomes, tiers: measured)
  }
}

extension SelfTest.Report {
  /// For machines.
  package var json: JSONValue {
    let machine = tiers.map { tier -> JSONValue in
      [
        "isa": .string("\(tier.isa)"), "read_bandwidth_bytes_per_second": .number(tier.limits.readBandwidth),
        "int8_operations_per_second": .number(tier.limits.int8Operations),
        "f32_operations_per_second": .number(tier.limits.floatOperations),
      ]
    }
    let kernels = outcomes.map { outcome -> JSONValue in
      [
        "kernel": .string(outcome.kernel), "isa": .string("\(outcome.isa)"), "ok": .bool(outcome.mismatch == nil),
        "first_mismatch": outcome.mismatch.map { .integer($0) } ?? .null,
        "bytes_per_second": outcome.rate.map { .number($0.bytes) } ?? .null,
        "operations_per_second": outcome.rate.map { .number($0.operations) } ?? .null,
        "machine_share": outcome.share.map { .number($0) } ?? .null,
      ]
    }
    return ["ok": .bool(failures.isEmpty), "machine": .array(machine), "kernels": .array(kernels)]
  }
}
