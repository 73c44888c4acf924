import DibitKernels
import Testing

@Suite struct ISATests {
  @Test func tiersAreFoundByName() throws {
    #expect(try ISA(named: "scalar") == .scalar)
    #expect(try ISA(named: "\(ISA.detected)") == .detected)
    #expect(ISA.available.first == .scalar && ISA.available.last == .detected)
  }

  @Test func anUnknownNameListsTheKnownOnes() {
    #expect(throws: KernelError.unknownISA("sse9")) { try ISA(named: "sse9") }
    #expect(
      "\(KernelError.unknownISA("sse9"))" == "DIBIT_ISA: expected one of scalar, avx2, avxvnni, avx512, avx512bf16, amx, neon, found 'sse9'"
    )
    #expect(
      "\(KernelError.unavailableISA(.avx512, available: [.scalar, .avx2]))" == "DIBIT_ISA: this CPU has no avx512; it offers scalar, avx2")
  }

  @Test func aTierThatTheCPULacksIsRefused() throws {
    let missing = try #require(ISA.allCases.last(where: { !ISA.available.contains($0) }), "no CPU has every tier")
    #expect(throws: KernelError.unavailableISA(missing, available: ISA.available)) { try ISA(named: "\(missing)") }
  }

  @Test func tiersBelongToOneArchitecture() {
    #if arch(arm64)
      #expect(Set(ISA.available).isSubset(of: [.scalar, .neon]))
    #else
      #expect(!ISA.available.contains(.neon))
      #expect(!ISA.available.contains(.amx) || ISA.available.contains(.avx512))
    #endif
  }

  @Test(arguments: ISA.available)
  func aComputeReportsItsTierAndThreads(isa: ISA) {
    let compute = Compute(isa: isa, threads: 2, usesBLAS: false)
    #expect(compute.isa == isa && compute.threads == 2)
  }
}
