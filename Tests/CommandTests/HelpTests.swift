import DibitKernels
import Testing

@testable import DibitCommand

@Suite struct HelpTests {
  static let commands = [
    "convert", "export", "inspect", "verify", "dataset", "synthesize", "train", "pretrain", "qat", "recover", "evaluate", "crossvalidate",
    "curve",
    "report",
    "perplexity", "compare",
    "predict", "generate", "chat", "embed", "tokenize", "detokenize", "trace", "bench", "selftest", "version", "manual",
  ]

  @Test("--help of every command shows how it is used", arguments: commands)
  func help(command: String) throws {
    let outcome = try dibit(command, "--help")
    #expect(outcome.status == 0)
    #expect(outcome.errors == "")
    #expect(outcome.output.contains("Example: dibit \(command)"))
    #expect(outcome.output.contains("USAGE: dibit \(command)"))
    // Without a terminal it is laid out for 80 columns.
    #expect(outcome.output.split(separator: "\n").allSatisfy { $0.count <= 80 })
  }

  @Test func everyCommandIsListedInAGroup() throws {
    let outcome = try dibit("--help")
    #expect(outcome.status == 0)
    var (groups, listed, isGroup): ([String], [String], Bool) = ([], [], false)
    for line in outcome.output.split(separator: "\n") where !line.hasPrefix("  See ") {
      if !line.hasPrefix(" ") { isGroup = line.hasSuffix(" SUBCOMMANDS:") }
      if !line.hasPrefix(" "), isGroup { groups.append(String(line)) }
      if isGroup, line.hasPrefix("  "), !line.hasPrefix("   ") { listed += line.split(separator: " ").prefix(1).map(String.init) }
    }
    #expect(groups == ["MODEL", "TRAINING", "EVALUATION", "USE", "MACHINE"].map { $0 + " SUBCOMMANDS:" })
    #expect(listed == Self.commands)
    #expect(outcome.output.contains("dibit convert CHECKPOINT --output MODEL"))
    #expect(outcome.output.contains("See 'dibit help <subcommand>' for detailed help."))
  }

  @Test("the version is told in every usual way", arguments: [["--version"], ["-V"], ["version"]])
  func version(arguments: [String]) throws {
    let outcome = try dibit(arguments)
    #expect(outcome.status == 0 && outcome.errors == "")
    let lines = outcome.output.split(separator: "\n")
    #expect(lines.count == 2 && lines[0].hasPrefix("dibit 0.1.0"))
    #expect(lines[1] == "instruction sets of this CPU: " + ISA.available.map { "\($0)" }.joined(separator: ", "))
  }

  @Test func bareCommandShowsHelp() throws {
    let outcome = try dibit()
    #expect(outcome.status == 0)
    #expect(outcome.output.contains(" SUBCOMMANDS:"))
  }

  @Test("prose is wrapped at the width, whatever the lines of the source", arguments: [40, 60, 80, 200])
  func wrapping(width: Int) {
    let words = (1...60).map { "word\($0)" }
    let prose = words[..<9].joined(separator: " ") + "\n" + words[9...].joined(separator: " ")
    let help =
      "OVERVIEW: Do it.\n\nExample: dibit do it\n\n\(prose)\n  kept apart\n\nUSAGE: dibit do <it>\n\nOPTIONS:\n  --it <it>               "
      + words.joined(separator: " ")
    let lines = HelpText(help).wrapped(to: width).split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.allSatisfy { $0.count <= width })
    #expect(lines.contains("Example: dibit do it") && lines.contains("  kept apart") && lines.contains("USAGE: dibit do <it>"))
    // Every line but the last of a paragraph is full: the first word of the next would not fit.
    let start = lines.firstIndex { $0.hasPrefix("word1 ") } ?? 0
    let end = lines.firstIndex { $0 == "  kept apart" } ?? 0
    #expect(lines[start..<end].joined(separator: " ") == words.joined(separator: " "))
    for index in start..<end - 1 { #expect(lines[index].count + 1 + (lines[index + 1].split(separator: " ").first?.count ?? 0) > width) }
    let option = lines.drop { !$0.hasPrefix("  --it <it>") }
    #expect(option.dropFirst().allSatisfy { $0.hasPrefix(String(repeating: " ", count: min(26, width / 2))) })
  }

  @Test func otherTextsStayAsTheyAre() {
    let script = String(repeating: "complete -c dibit ", count: 20)
    #expect(HelpText(script).wrapped(to: 40) == script)
  }

  @Test("the manual page names every command and option, and no line is taken for a macro that is none")
  func manual() throws {
    let outcome = try dibit("manual")
    #expect(outcome.status == 0 && outcome.errors == "")
    let lines = outcome.output.split(separator: "\n")
    #expect(lines.first == ".TH DIBIT 1 \"\" \"dibit 0.1.0\"")
    for command in Self.commands { #expect(lines.contains(".SH DIBIT \(command.uppercased())"), "\(command)") }
    #expect(lines.contains(".B \\-\\-embedding\\-bits bits"))
    #expect(!outcome.output.contains("\\-\\-fault"), "hidden options stay hidden")
    let macros = [".TH", ".SH", ".B", ".br", ".PP", ".TP"]
    for line in lines where line.hasPrefix(".") { #expect(macros.contains { line == $0 || line.hasPrefix($0 + " ") }, "\(line)") }
    #expect(!lines.contains { $0.hasPrefix("'") })
  }

  @Test("completions for every shell", arguments: ["bash", "zsh", "fish"])
  func completions(shell: String) throws {
    let outcome = try dibit("--generate-completion-script", shell)
    #expect(outcome.status == 0 && outcome.output.contains("crossvalidate"))
  }
}
