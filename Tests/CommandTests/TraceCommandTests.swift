import DibitTestSupport
import Testing

/// `dibit trace`, over a trace as the library FoundationModels writes it.
@Suite struct TraceCommandTests {
  private let scratch = Scratch()

  private static let lines = """
    {"session":"A1","event":"load","time":1000,"seconds":0.25,"model":"m16"}
    {"session":"A1","event":"step","time":1000.3,"seconds":1.5,"prompt_tokens":40,"read_tokens":30,"made_tokens":11,"first_seconds":0.5,"calls":1,"end":"stop"}
    {"session":"A1","event":"tool","time":1001.8,"seconds":0.1,"tool":"lookup"}
    {"session":"B2","event":"turn","time":1001.9,"seconds":0.2,"error":"concurrentRequests"}
    {"session":"A1","event":"turn","time":1000.3,"seconds":2,"form":"Report","response_tokens":11}

    """

  @Test("events of each session stand in the order of time, a turn before what happened in it")
  func timeline() throws {
    let file = try scratch.write(Self.lines, to: "trace.jsonl")
    let whole = try dibit("trace", file)
    #expect(whole.status == 0)
    #expect(
      whole.output == """
        session A1
             0.000 s  load         0.250 s  m16
             0.300 s  turn         2.000 s  Report, 11 tokens
             0.300 s    step       1.500 s  30 of 40 tokens read, 11 made, the first after 0.500 s, then 10 a second; 1 call
             1.800 s    tool       0.100 s  lookup
        session B2
             0.000 s  turn         0.200 s  failed: concurrentRequests

        """)
    let one = try dibit("trace", file, "--session", "B2")
    #expect(one.output.hasPrefix("session B2\n") && !one.output.contains("A1"))
  }

  @Test("what is no trace is one line with its number, and so is a session that is not in it")
  func faults() throws {
    let file = try scratch.write(Self.lines + "{\"session\":1}\n", to: "broken.jsonl")
    let broken = try dibit("trace", file)
    #expect(broken.status == 65 && broken.errorLines.count == 1 && broken.errors.contains("line 6"))
    let none = try dibit("trace", try scratch.write(Self.lines, to: "trace.jsonl"), "--session", "C3")
    #expect(none.status == 65 && none.errors.contains("'C3'"))
    #expect(try dibit("trace", scratch("nowhere")).status == 66)
    #expect(try dibit("trace", scratch.write("", to: "empty")).status == 65)
  }
}
