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
