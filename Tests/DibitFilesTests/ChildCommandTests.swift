import DibitFiles
import Glibc
import Testing

@Suite struct ChildCommandTests {
  init() { signal(SIGPIPE, SIG_IGN) }

  private func shell(_ script: String, input: String = "", limit: Int = 1 << 20, isStopped: () -> Bool = { false }) throws
    -> CommandResult?
  { try ChildCommand(["/bin/sh", "-c", script]).run(input: Array(input.utf8), limit: limit, isStopped: isStopped) }

  @Test func outputAndStatus() throws {
    let said = try #require(try shell("read line; echo \"heard $line\"; exit 3", input: "moon\n"))
    #expect(String(decoding: said.output, as: UTF8.self) == "heard moon\n" && said.status == 3)
    #expect(try shell("kill -9 $$")?.status == 137)
    #expect(try shell("exit 0")?.output == [])
    // Found as a shell finds it, with the variables of this process.
    #expect(try ChildCommand(["env"]).run(input: [], limit: 1 << 20, isStopped: { false })?.output.isEmpty == false)
  }

  @Test("more than a pipe holds goes both ways, and need not be read")
  func much() throws {
    let text = String(repeating: "0123456789abcde\n", count: 40_000)
    #expect(try shell("cat", input: text)?.output == Array(text.utf8))
    #expect(try shell("exec 0<&-; echo done", input: text)?.output == Array("done\n".utf8))
  }

  @Test func faults() {
    #expect(throws: FileError.notFound(path: "/no/such/program")) {
      try ChildCommand(["/no/such/program"]).run(input: [], limit: 1, isStopped: { false })
    }
    #expect(throws: FileError.self) { try shell("while :; do echo much; done", limit: 1000) }
  }

  @Test("a command that is stopped is killed with what it started, and one that leaves something behind is not waited for")
  func ends() throws {
    let start = ContinuousClock.now
    let ends = start.advanced(by: .milliseconds(300))
    #expect(try shell("sleep 60 & sleep 60", isStopped: { .now > ends }) == nil)
    #expect(try shell("exec 1<&-; sleep 60", isStopped: { .now > ends }) == nil)
    #expect(try shell("sleep 5 & echo done")?.output == Array("done\n".utf8))
    #expect(ContinuousClock.now - start < .seconds(5))
  }
}
