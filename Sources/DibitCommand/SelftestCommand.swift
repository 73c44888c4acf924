internal import ArgumentParser
internal import DibitBenchmark
internal import DibitKernels

struct SelftestCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "selftest",
    abstract: "Check every kernel on every instruction set of this CPU, and time it.",
    discussion: """
      Example: dibit selftest --json

      Each kernel runs on awkward shapes and must give what the scalar one gives on one thread. The last column is a rate's share of what
      this machine reads from memory, or computes with floats; small data comes from the caches, so that a share can exceed 100 %.
      """)

  @Flag(help: "Compare only, without timing.") var noTiming = false
  @Flag(help: "Print the result as JSON.") var json = false
  @Option(help: ArgumentHelp("Break a kernel, to see that it is found.", valueName: "kernel", visibility: .hidden)) var fault: String?
  @OptionGroup var compute: ComputeOptions

  func validate() throws {
    if let fault, !KernelCheck.all.contains(where: { $0.name == fault }) {
      throw ValidationError("--fault: expected the name of a kernel, found '\(fault)'")
    }
  }

  func run() throws {
    Interrupt.listen()
    _ = try ISA.requested()
    let checks = KernelCheck.all.map { $0.name == fault ? $0.withFault : $0 }
    var line = ProgressLine("testing")
    let report = try SelfTest(checks: checks, threads: compute.threads, seconds: noTiming ? 0 : 0.02).run { kernel, done, total in
      line.update(done, of: total, kernel)
      return !Interrupt.isRequested
    }
    line.finish()
    if json { printJSON(report.json) } else { show(report) }
    let failures = report.failures
    guard let first = failures.first else { return }
    let more = failures.count > 1 ? ", and \(failures.count - 1) more" : ""
    throw Failure(
      .internalError, "kernel '\(first.kernel)' on \(first.isa) differs from the scalar one at result \(first.mismatch ?? 0)\(more)")
  }

  private func show(_ report: SelfTest.Report) {
    for isa in ISA.allCases {
      let outcomes = report.outcomes.filter { $0.isa == isa }
      guard !outcomes.isEmpty else { continue }
      let limits = report.tiers.first { $0.isa == isa }?.limits
      Output.print("\(isa)" + (limits.map { ": " + describe($0) } ?? ""))
      printTable(
        outcomes.map { outcome in
          let rate = outcome.rate.map {
            $0.operations > 0 ? "\(decimal($0.operations / 1e9, 1)) Gflop/s" : "\(decimal($0.bytes / 1e9, 1)) GB/s"
          }
          return ["  " + outcome.kernel, outcome.mismatch == nil ? "ok" : "MISMATCH", rate ?? "", outcome.share.map(percent) ?? ""]
        })
    }
    Output.print("\(report.outcomes.count - report.failures.count) of \(report.outcomes.count) as promised")
  }

  private func describe(_ limits: MachineLimits) -> String {
    let (int8, float) = (decimal(limits.int8Operations / 1e9, 1), decimal(limits.floatOperations / 1e9, 1))
    return "reads \(size(Int(limits.readBandwidth)))/s, \(int8) int8 Gop/s, \(float) f32 Gflop/s"
  }
}
