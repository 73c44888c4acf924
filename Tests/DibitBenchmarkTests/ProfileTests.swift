import DibitJSON
import DibitKernels
import DibitTestSupport
import Testing

@testable import DibitBenchmark

@Suite struct ProfileTests {
  @Test("every pass holds its ops, and the trace says the same in Chrome's format")
  func trace() throws {
    let scratch = Scratch()
    let path = try Tiny.write(Tiny.llama, to: scratch)
    var options = BenchmarkOptions()
    options.promptTokens = 9
    let profile = try Benchmark(model: path, options: options, on: Compute(threads: 2)).profile()
    #expect(profile.phases.map(\.name) == [.prefill, .decode])
    let (prefill, decode) = (profile.phases[0], profile.phases[1])
    #expect(prefill.passes.map(\.rows) == [9])
    #expect(decode.passes.map(\.rows) == [Int](repeating: 1, count: 8))

    // Two layers of seven projections, of which one loop computes those of a single row that read the same; and the head. In the last
    // layer of a prompt only the last row goes on to its queries. Two norms each, and the last.
    func calls(_ phase: Profile.Phase, _ name: String) -> Int { phase.ops.filter { $0.name == name }.count }
    #expect(calls(prefill, "linear") == 14)
    #expect(calls(decode, "linear") == 8 * 9)
    #expect(calls(decode, "rms norm") == 8 * 5)
    #expect(calls(decode, "attention") == 8 * 2)
    #expect(calls(decode, "embedding") == 8)
    for phase in profile.phases {
      for op in phase.ops {
        #expect(phase.passes.contains { $0.start <= op.start && op.start + op.duration <= $0.start + $0.duration }, "\(op)")
      }
    }
    // The head reads 320 rows of 32 bytes of codes and a scale.
    let head = try #require(decode.summary.first { $0.name == "linear [320, 64]" })
    #expect(head.calls == 8 && head.bytes == 8 * 320 * 34 && head.bytesPerSecond ?? 0 > 0)
    #expect(decode.summary.reduce(0) { $0 + $1.duration } == decode.duration)
    #expect(decode.summary.contains { $0.name == "between ops" })

    let json = try JSONValue(parsing: Array(profile.trace.serialized().utf8))
    let events = try #require(json["traceEvents"]?.array)
    let spans = events.filter { $0["ph"] == "X" }
    #expect(spans.count == profile.phases.reduce(0) { $0 + $1.passes.count + $1.ops.count })
    #expect(events.count == spans.count + 2)
    for span in spans {
      #expect(span["name"]?.string?.isEmpty == false)
      #expect(try #require(span["ts"]?.double) >= 0 && #require(span["dur"]?.double) >= 0)
      #expect(span["pid"]?.int == 1 && [1, 2].contains(span["tid"]?.int))
    }
  }

  @Test("a compute without a profiler records nothing")
  func silence() {
    #expect(Compute(threads: 1).profiler == nil)
    let profiler = Profiler()
    #expect(Compute(threads: 1, profiler: profiler).profiler === profiler)
    #expect(profiler.events.isEmpty)
  }
}
