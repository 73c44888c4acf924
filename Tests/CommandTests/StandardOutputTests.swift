import DibitJSON
import DibitTestSupport
import Testing

/// Results go to standard output, and what it does not take is told.
@Suite struct StandardOutputTests {
  @Test("every command tells on standard error what it wrote")
  func wrote() throws {
    let work = try Workplace(adapter: true)
    let commands = [
      ["convert", work.scratch("source"), "--output"], ["export", work.model, "--format", "safetensors", "--output"],
      ["export", work.model, "--adapter", work.adapter, "--format", "peft", "--output"],
      ["train", work.model, "--data", work.data, "--epochs", "1", "--rank", "4", "--json", "--output"],
      ["evaluate", work.model, "--data", work.data, "--split", "train", "--baselines", "none", "--json", "--report"],
    ]
    for (index, arguments) in commands.enumerated() {
      let path = work.scratch("output\(index)")
      let outcome = try dibit(arguments + [path])
      #expect(outcome.status == 0, "\(arguments): \(outcome.errors)")
      #expect(outcome.errors.contains("wrote \(path)\n"), "\(arguments)")
      #expect(!outcome.output.contains("wrote"), "\(arguments)")
    }
  }

  /// Runs `dibit` with a standard output that nobody reads.
  private func unread(_ arguments: [String], _ scratch: Scratch, input: String = "") throws -> (status: Int32, errors: String) {
    let call = ([DibitProcess.executable] + arguments).map { "'\($0)'" }.joined(separator: " ")
    let (lines, errors) = (try scratch.write(input, to: "unread-input"), scratch("unread-errors"))
    // The sleep lets the reader go first.
    let script = "(sleep 0.2; exec \(call) <'\(lines)' 2>'\(errors)') | true; exit ${PIPESTATUS[0]}"
    let status = run("/bin/bash", ["-c", script])
    return (status, try text(errors))
  }

  @Test("a reader that goes away is no fault of any command")
  func closedPipes() throws {
    let work = try Workplace(adapter: true)
    let note = try work.scratch.write("once upon a time there was a text to read", to: "note.txt")
    let commands = [
      ["--help"], ["--version"], ["version"], ["help", "train"], ["manual"], ["--generate-completion-script", "bash"],
      ["inspect", work.model], ["inspect", work.model, "--json"], ["verify", work.model], ["dataset", work.data],
      ["tokenize", work.model, "--text", "a text"], ["detokenize", work.model, "--ids", "5,6,7"],
      ["perplexity", work.model, "--data", note], ["generate", work.model, "--prompt", "a", "--max-tokens", "20"],
      ["generate", work.model, "--prompt", "a", "--max-tokens", "2", "--json"], ["embed", work.model, note],
      ["predict", work.model, "--adapter", work.adapter, note],
    ]
    for arguments in commands {
      let (status, errors) = try unread(arguments, work.scratch)
      #expect(status == 0, "\(arguments): \(errors)")
      #expect(!errors.contains("error: "), "\(arguments): \(errors)")
    }
    // What else a command was asked for is done all the same, and the exit code is its own.
    let report = work.scratch("report.html")
    let evaluate = ["evaluate", work.model, "--data", work.data, "--split", "train", "--baselines", "none", "--alone", "0"]
    #expect(try unread(evaluate + ["--resamples", "100", "--report", report], work.scratch).status == 0)
    #expect(exists(report))
    #expect(try unread(evaluate + ["--resamples", "100", "--require-improvement"], work.scratch).status == 3)
  }

  @Test("a chat that is kept goes on without a reader; one that is not ends")
  func closedChats() throws {
    let scratch = Scratch()
    let model = try writeChatModel(to: scratch)
    let call = ["chat", model, "--max-tokens", "3"]
    let kept = try unread(call + ["--save", scratch("kept.json")], scratch, input: "the goal\nthe moon\nthe cup\n")
    #expect(kept.status == 0, "\(kept.errors)")
    #expect(try JSONValue(parsing: try contents(scratch("kept.json"))).array?.count == 6)
    // The second message would not fit, but nobody is there to be told.
    let long = String(repeating: "the planet was small ", count: 400)
    let ended = try unread(call, scratch, input: "the goal\n\(long)\n")
    #expect(ended.status == 0 && ended.errors == "", "\(ended.errors)")
  }

  @Test("a full disk behind standard output ends every command with one line and 74")
  func fullDisk() throws {
    let work = try Workplace()
    let text = try work.scratch.write("once upon a time there was a text to read", to: "text.txt")
    let commands = [
      ["--help"], ["--version"], ["help", "train"], ["inspect", work.model], ["inspect", work.model, "--json"],
      ["dataset", work.data], ["tokenize", work.model, "--text", "a text"], ["perplexity", work.model, "--data", text],
      ["generate", work.model, "--prompt", "a", "--max-tokens", "2"],
      ["generate", work.model, "--prompt", "a", "--max-tokens", "2", "--json"],
      ["evaluate", work.model, "--data", work.data, "--baselines", "none", "--split", "train", "--allow-leakage"],
      ["bench", work.model, "--prompt-tokens", "8", "--decode-tokens", "4", "--runs", "1"], ["selftest", "--no-timing"],
    ]
    for arguments in commands {
      let outcome = try DibitProcess(arguments, output: "/dev/full").finish()
      #expect(outcome.status == 74, "\(arguments): \(outcome.errors)")
      #expect(outcome.errorLines == ["error: 'standard output': cannot write: No space left on device"], "\(arguments)")
    }
  }
}
