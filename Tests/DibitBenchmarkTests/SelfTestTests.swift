import DibitJSON
import DibitTensor
import Testing

@testable import DibitBenchmark
@testable import DibitKernels

@Suite struct SelfTestTests {
  @Test("every kernel keeps its promise on every tier", arguments: ISA.available)
  func tiers(isa: ISA) {
    let (reference, compute) = (Compute(isa: .scalar, threads: 1, usesBLAS: false), Compute(isa: isa, threads: 3, usesBLAS: false))
    for check in KernelCheck.all {
      let expected = check.results(on: reference, asReference: true)
      #expect(!expected.isEmpty, "\(check.name) records nothing")
      #expect(check.firstMismatch(check.results(on: compute), expected: expected) == nil, "\(check.name) on \(isa)")
    }
  }

  @Test func namesDiffer() { #expect(Set(KernelCheck.all.map(\.name)).count == KernelCheck.all.count) }

  @Test("every entry of the kernel table has a check")
  func coverage() {
    let entries = KernelCheck.tableEntries
    #expect(entries.contains("matvec"))
    #expect(Set(KernelCheck.all.flatMap(\.kernels)) == Set(entries))
  }

  @Test("a kernel that is wrong is found, wherever it is wrong")
  func fault() throws {
    let check = try #require(KernelCheck.all.first { $0.name == "rms norm" })
    let report = try SelfTest(checks: [check, check.withFault], threads: 2, seconds: 0).run()
    #expect(report.outcomes.count == 2 * ISA.available.count)
    #expect(report.failures.map(\.isa) == ISA.available)
    #expect(report.failures.allSatisfy { $0.mismatch == 0 })
    #expect(report.outcomes.allSatisfy { $0.rate == nil })
    #expect(report.json["ok"] == false)
    let kernels = try #require(report.json["kernels"]?.array)
    #expect(kernels.filter { $0["ok"] == false }.count == ISA.available.count)
  }

  @Test("one bit in the middle of a result is found, and where")
  func oneBit() throws {
    let check = KernelCheck("one bit", [], awkward: [[100], [50]], large: [1]) { run, shape in
      let x = run.matrix(1, shape[0])
      run.measure {}
      run.record(x)
      run.record([run.isReference || shape[0] != 50 ? 2 : 3])
    }
    let report = try SelfTest(checks: [check], tiers: [.scalar], threads: 1, seconds: 0).run()
    #expect(report.failures.map(\.mismatch) == [151])
  }

  @Test func agreementWithinAShare() {
    let check = KernelCheck("near", [], agreement: .within(0.01), awkward: [], large: []) { _, _ in }
    let expected: [Float] = [100, 0, -50]
    func mismatch(_ found: [Float]) -> Int? { check.firstMismatch(found.map(\.bitPattern), expected: expected.map(\.bitPattern)) }
    #expect(mismatch([100.9, 0.9, -50]) == nil)
    #expect(mismatch([100, 1.1, -50]) == 1)
    #expect(mismatch([100, .nan, -50]) == 1)
    #expect(mismatch([100, 0]) == 2)
  }

  @Test func rates() throws {
    let check = try #require(KernelCheck.all.first { $0.name == "rms norm" })
    let report = try SelfTest(checks: [check], tiers: [.detected], threads: 1, seconds: 0.01).run()
    let outcome = report.outcomes[0]
    #expect(outcome.rate?.bytes ?? 0 > 1e8 && outcome.rate?.operations == 0)
    #expect(outcome.share == (outcome.rate?.bytes ?? 0) / report.tiers[0].limits.readBandwidth)
    let limits = report.tiers[0].limits
    #expect(limits.readBandwidth > 1e8 && limits.int8Operations > 1e8 && limits.floatOperations > 1e8)
  }
}
