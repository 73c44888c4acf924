import Testing

@Suite struct HelpTests {
  static let commands = [
    "convert", "export", "inspect", "train", "evaluate", "crossvalidate", "curve", "report", "predict", "generate", "chat", "embed",
    "perplexity", "pretrain", "verify", "tokenize", "detokenize", "dataset", "bench", "selftest",
  ]

  @Test("--help of every command shows how it is used", arguments: commands)
  func help(command: String) throws {
    let outcome = try dibit(command, "--help")
    #expect(outcome.status == 0)
    #expect(outcome.errors == "")
    #expect(outcome.output.contains("Example: dibit \(command) "))
    #expect(outcome.output.contains("USAGE: dibit \(command) "))
  }

  @Test func everyCommandIsListed() throws {
    let outcome = try dibit("--help")
    #expect(outcome.status == 0)
    let listed = outcome.output.split(separator: "\n").drop { $0 != "SUBCOMMANDS:" }.dropFirst()
      .filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") && !$0.hasPrefix("  See ") }.compactMap {
        $0.split(separator: " ").first.map(String.init)
      }
    #expect(listed == Self.commands)
    #expect(outcome.output.contains("dibit convert CHECKPOINT --output MODEL"))
  }

  @Test func version() throws {
    let outcome = try dibit("--version")
    #expect(outcome.status == 0)
    #expect(outcome.output == "0.1.0\n")
  }

  @Test func bareCommandShowsHelp() throws {
    let outcome = try dibit()
    #expect(outcome.status == 0)
    #expect(outcome.output.contains("SUBCOMMANDS:"))
  }
}
