import DibitTestSupport
import Glibc
import Testing

/// Commands that the system gives too little: each ends in time, with its result or with one line and a documented code.
@Suite struct ResourceLimitTests {
  /// Runs `dibit` under a limit of the shell; nil when it did not end within `seconds`.
  private func limited(_ limit: String, _ arguments: [String], _ scratch: Scratch, seconds: Int = 30) throws -> (
    status: Int32, errors: String
  )? {
    let call = ([DibitProcess.executable] + arguments).map { "'\($0)'" }.joined(separator: " ")
    let errors = scratch("errors")
    let status = run(
      "/bin/sh", ["-c", "ulimit \(limit); exec timeout -s KILL \(seconds) \(call) > '\(scratch("result"))' 2> '\(errors)' < /dev/null"])
    return status == 137 || status == 9 ? nil : (status, try text(errors))
  }

  @Test("under any limit of memory every command ends with its result or one line")
  func memory() throws {
    let work = try Workplace(adapter: true)
    let note = try work.scratch.write("once upon a time there was a text to read", to: "note.txt")
    let (model, source) = (work.model, work.scratch("source"))
    let commands = [
      ["convert", source, "-o", work.scratch("c")], ["inspect", model], ["generate", source, "--prompt", "a", "--max-tokens", "2"],
      ["predict", model, "--adapter", work.adapter, note],
      ["train", model, "--data", work.data, "--epochs", "1", "--rank", "2", "-o", work.scratch("t")],
      ["evaluate", model, "--data", work.data, "--baselines", "none", "--split", "train", "--alone", "1"],
      ["perplexity", model, "--data", note], ["tokenize", model, "--text", "a text"], ["dataset", work.data],
      ["bench", model, "--prompt-tokens", "4", "--decode-tokens", "2", "--runs", "1"],
    ]
    // The loader maps the program and its libraries before the program's first instruction: below that nothing can be told.
    let least = try least(work)
    for kilobytes in [1000, 2000, 4000, 7000, 11_000, 17_000, 25_000, 45_000, 90_000, 200_000].map({ least + $0 }) {
      for arguments in commands {
        let name = "\(arguments[0]), \(kilobytes) kB"
        guard let (status, errors) = try limited("-v \(kilobytes)", arguments, work.scratch) else {
          Issue.record("\(name): no end")
          continue
        }
        #expect([0, 74].contains(status), "\(name): \(status) \(errors)")
        #expect(errors.split(separator: "\n").count { $0.hasPrefix("error: ") } == (status == 0 ? 0 : 1), "\(name): \(errors)")
        #expect(!errors.contains("Fatal error") && !errors.contains("crashed"), "\(name): \(errors)")
        for left in ["c", "t", "t.checkpoints"] where exists(work.scratch(left)) { try work.scratch.remove(left) }
        #expect(work.scratch.names.allSatisfy { !$0.contains(".partial-") }, "\(name): \(work.scratch.names)")
      }
    }
  }

  @Test("memory that ends inside the Swift runtime, which holds its locks then, ends the command as well")
  func insideTheRuntime() throws {
    let work = try Workplace(adapter: true)
    let note = try work.scratch.write("a text", to: "note.txt")
    let least = try least(work)
    for kilobytes in stride(from: least, to: least + 2000, by: 40) {
      let (status, errors) = try #require(
        try limited("-v \(kilobytes)", ["predict", work.model, "--adapter", work.adapter, note], work.scratch), "\(kilobytes) kB: no end")
      #expect(status == 74, "\(kilobytes) kB: \(status) \(errors)")
      #expect(errors.hasPrefix("error: ") && errors.split(separator: "\n").count == 1, "\(kilobytes) kB: \(errors)")
    }
  }

  /// The fewest kilobytes of address space, to 1 %, under which the program starts at all.
  private func least(_ work: Workplace) throws -> Int {
    var (low, high) = (10_000, 500_000)
    while high - low > high / 100 {
      let middle = (low + high) / 2
      if try limited("-v \(middle)", ["--version"], work.scratch)?.status == 0 { high = middle } else { low = middle }
    }
    return high
  }

  @Test("without room for OpenBLAS's work memory Dibit's own kernels multiply, and a note says so")
  func workMemory() throws {
    let work = try Workplace()
    let source = work.scratch("source")
    let free = try dibit("bench", source, "--prompt-tokens", "4", "--decode-tokens", "2", "--runs", "1")
    try #require(free.status == 0, "\(free.errors)")
    // Else there is nothing to leave out.
    guard free.output.contains("products: OpenBLAS") else { return }
    let arguments = ["generate", source, "--prompt", "a", "--max-tokens", "2", "--threads", "2"]
    let (status, errors) = try #require(try limited("-v \(least(work) + 230_000)", arguments, work.scratch))
    #expect(status == 0, "\(errors)")
    #expect(
      errors.hasPrefix(
        "note: OpenBLAS cannot be used (the system refuses its work memory for 2 threads): "
          + "Dibit's own kernels multiply instead, and round a little differently\n"), "\(errors)")
  }

  @Test("room for the output is looked for before the work")
  func space() throws {
    let work = try Workplace()
    let out = work.scratch("out")
    for arguments in [
      ["convert", work.scratch("source"), "-o", out], ["export", work.model, "--format", "safetensors", "-o", out],
      ["train", work.model, "--data", work.data, "--epochs", "1", "-o", out],
    ] {
      // Of sh: eight blocks of 512 bytes.
      let (status, errors) = try #require(try limited("-f 8", arguments, work.scratch))
      #expect(status == 74, "\(arguments): \(errors)")
      let line = errors.split(separator: "\n").last ?? ""
      #expect(line.contains("'\(work.scratch.path)") && line.contains("': a file of "), "\(errors)")
      #expect(line.hasSuffix(" bytes is needed there, at most 4096 are allowed (ulimit -f)"), "\(errors)")
      #expect(!exists(out))
    }
    #expect(work.scratch.names == ["data", "errors", "model", "result", "source"])
  }

  @Test("a folder for temporary files that is none is called by its variable")
  func temporaryFolder() throws {
    try expectFailure(
      ["bench", "--shape", "110m"], status: 73,
      message: "TMPDIR is '/nonexistent', which is no directory: create it, or set TMPDIR to another",
      environment: ["TMPDIR": "/nonexistent"])
  }

  @Test("a limit of memory that cannot be kept is an error that says the least")
  func memoryLimit() throws {
    let work = try Workplace()
    func train(_ limit: String, _ more: String...) throws -> Outcome {
      try dibit(["train", work.model, "--data", work.data, "--epochs", "1", "--memory-limit", limit, "-o", work.scratch("a")] + more)
    }
    let refused = try train("1k")
    #expect(refused.status == 64)
    let line = refused.errorLines.first ?? ""
    let start = "error: --memory-limit: 1000 bytes are given, but the least that this run needs are "
    #expect(line.hasPrefix(start) && line.hasSuffix(": allow as much, or lower the tokens of a step"), "\(refused.errors)")
    let least = try #require(Int(line.dropFirst(start.count).prefix { $0.isNumber }))
    #expect(try train("\(least - 1)").status == 64)
    #expect(try train("\(least)").status == 0)
  }
}
