import DibitJSON
import DibitKernels
import DibitTestSupport
import Testing

/// `dibit bench` and `dibit selftest` as they are run.
@Suite(.serialized) struct BenchTests {
  private static let quick = ["--prompt-tokens", "8", "--decode-tokens", "4", "--runs", "2"]

  @Test("results on standard output, in words or as one JSON object")
  func model() throws {
    let work = try Workplace()
    let words = try DibitProcess(["bench", work.model] + Self.quick).finish()
    #expect(words.status == 0, "\(words.errors)")
    for expected in ["decode ", "prefill of 8 ", "first token ", "load ", "of weights: ", "peak memory "] {
      #expect(words.output.contains(expected), "\(words.output)")
    }
    let json = try DibitProcess(["bench", work.model, "--json"] + Self.quick).finish()
    #expect(json.status == 0, "\(json.errors)")
    let report = try #require(try json.json().object)
    #expect(report["shape"] == .string(work.model))
    #expect(report["runs"] == 2)
    #expect(report["decode_tokens_per_second"]?.double ?? 0 > 0)
  }

  @Test("--profile writes a trace, shows a table and replaces nothing unasked")
  func profile() throws {
    let work = try Workplace()
    let trace = work.scratch("trace.json")
    let arguments = ["bench", work.model, "--profile", trace] + Self.quick
    let first = try DibitProcess(arguments).finish()
    #expect(first.status == 0, "\(first.errors)")
    #expect(first.output.contains("decode: ") && first.output.contains("prefill: ") && first.output.contains("  linear ["))
    let written = try contents(trace)
    #expect(try #require(JSONValue(parsing: written)["traceEvents"]?.array).count > 100)

    let second = try DibitProcess(arguments).finish()
    #expect(second.status == 73 && second.errors.contains("error: ") && second.output == "")
    #expect(try contents(trace) == written)
    let third = try DibitProcess(arguments + ["--overwrite", "--json"]).finish()
    #expect(third.status == 0, "\(third.errors)")
    #expect(try third.json().object != nil, "the table of a --json run goes to standard error")
    #expect(third.errors.contains("between ops"))
    #expect(try contents(trace) != written)
  }

  @Test("a shape lives in the folder for temporary files while it is measured; Ctrl-C leaves nothing there")
  func shape() throws {
    let scratch = Scratch()
    let process = try DibitProcess(["bench", "--shape", "110m", "--runs", "1000"], environment: ["TMPDIR": scratch.path])
    try process.wait { process.errors.contains("writing a model:") }
    #expect(scratch.names.count == 1 && scratch.names[0].hasPrefix(".dibit-bench-110m.partial-"))
    process.interrupt()
    let outcome = try process.finish()
    #expect(outcome.status == 130)
    #expect(outcome.errorLines == ["error: interrupted"])
    #expect(outcome.output == "")
    #expect(scratch.names == [])
  }

  @Test func failures() throws {
    let work = try Workplace()
    try expectFailure(
      ["bench", work.model, "--prompt-tokens", "1000"], status: 64,
      message:
        "1000 tokens do not fit the model's context of 256: ask for fewer with --prompt-tokens, --decode-tokens or --context")
    let missing = work.scratch("none")
    let outcome = try dibit("bench", missing)
    #expect(outcome.status == 66)
    #expect(outcome.errorLines.count == 1 && outcome.errors.contains("'\(missing)'"))
  }

  @Test func selftestInWords() throws {
    let outcome = try dibit("selftest", "--no-timing")
    #expect(outcome.status == 0, "\(outcome.errors)")
    for isa in ISA.available { #expect(outcome.output.contains("\(isa)\n  matrix-vector f32 ")) }
    #expect(!outcome.output.contains("MISMATCH") && outcome.output.hasSuffix(" as promised\n"))
  }

  @Test("a kernel that is wrong ends the self-test with 70")
  func selftest() throws {
    let outcome = try dibit("selftest", "--json", "--no-timing", "--fault", "rms norm")
    #expect(outcome.status == 70)
    #expect(outcome.errorLines.count == 1)
    #expect(outcome.errorLines.first?.hasPrefix("error: kernel 'rms norm' on scalar differs from the scalar one at result 0") == true)
    let report = try outcome.json()
    #expect(report["ok"] == false)
    let wrong = try #require(report["kernels"]?.array).filter { $0["ok"] == false }
    #expect(report["machine"] == [])
    #expect(wrong.allSatisfy { $0["kernel"] == "rms norm" } && !wrong.isEmpty)
  }
}
