package import ArgumentParser
internal import DibitFiles
internal import Glibc

/// The `dibit` command.
package struct CommandLineTool: ParsableCommand {
  /// Name, help and subcommands.
  package static let configuration = CommandConfiguration(
    commandName: "dibit",
    abstract: "2-bit language models and their adapters, on the CPU and offline.",
    discussion: """
      A first run:
        dibit convert CHECKPOINT --output MODEL
        dibit train MODEL --data PATH --output ADAPTER
        dibit evaluate MODEL --adapter ADAPTER --data PATH
        dibit predict MODEL --adapter ADAPTER note.txt

      DIBIT_ISA=scalar|avx2|avxvnni|avx512|avx512bf16|amx|neon forces an instruction set.
      """,
    version: Version.text,
    groupedSubcommands: [
      CommandGroup(name: "Model", subcommands: [ConvertCommand.self, ExportCommand.self, InspectCommand.self, VerifyCommand.self]),
      CommandGroup(
        name: "Training",
        subcommands: [
          DatasetCommand.self, SynthesizeCommand.self, TrainCommand.self, PretrainCommand.self, QATCommand.self, RecoverCommand.self,
        ]),
      CommandGroup(
        name: "Evaluation",
        subcommands: [
          EvaluateCommand.self, CrossValidateCommand.self, CurveCommand.self, ReportCommand.self, PerplexityCommand.self,
          CompareCommand.self,
        ]),
      CommandGroup(
        name: "Use",
        subcommands: [
          PredictCommand.self, GenerateCommand.self, ChatCommand.self, EmbedCommand.self, TokenizeCommand.self, DetokenizeCommand.self,
        ]),
      CommandGroup(
        name: "Machine", subcommands: [TraceCommand.self, BenchCommand.self, SelftestCommand.self, VersionCommand.self, ManualCommand.self]),
    ])

  @Flag(name: .customShort("V"), help: .hidden) var showsVersion = false

  /// A command without arguments, as the argument parser asks for it.
  package init() {}

  /// Answers `-V`, as many tools do.
  package func validate() throws { if showsVersion { throw CleanExit.message(Version.text) } }

  /// Parses the arguments, runs the command and exits with its code.
  package static func runAndExit() -> Never {
    OutOfMemory.listen()
    // A file that may not grow (ulimit -f) is told as a full disk is.
    signal(SIGXFSZ, SIG_IGN)
    // A reader that goes away is noticed where results are written: see `Output`.
    signal(SIGPIPE, SIG_IGN)
    let arguments = Array(CommandLine.arguments.dropFirst())
    do {
      var command = try parseAsRoot(CheckedArguments.ofProcess())
      if let mistake = mistake(arguments, isHelp: true) { throw mistake }
      try command.run()
      try OpenedModels.waitForChecks()
    } catch {
      if let failure = Failure(error) ?? usageFailure(error, arguments) { failure.exit() }
      // Help and the like are results of their own.
      guard exitCode(for: error) == .success else { CommandLineTool.exit(withError: error) }
      // Wrapped by us, because the parser keeps the line ends of the source.
      Output.print(
        HelpText(fullMessage(for: error, columns: HelpText.unwrapped)).wrapped(to: StandardOutput.size?.columns ?? HelpText.usualWidth))
    }
    CommandLineTool.exit()
  }

  /// A wrong call in one line, as every other failure; nil for a call for help, which is none.
  private static func usageFailure(_ error: any Error, _ arguments: [String]) -> Failure? {
    guard exitCode(for: error) == .validationFailure else { return nil }
    if let mistake = mistake(arguments, isHelp: false) { return mistake }
    var message = message(for: error).split(separator: "\n").joined(separator: " ")
    // Of an option whose check says what is wrong, with its name and its value, the parser says both once more in front.
    if message.hasPrefix("The value '"), let check = message.firstRange(of: ">': --") {
      message = String(message[message.index(check.upperBound, offsetBy: -2)...])
    }
    message = refusedNumber(message) ?? message
    let lines = fullMessage(for: error).split(separator: "\n").map { $0.drop { $0 == " " } }
    // "See 'dibit convert --help' for more information."
    let help = lines.last { $0.hasPrefix("See '") }
      .map { "; see " + $0.dropFirst(4).prefix { $0 != "." }.replacing(" for more information", with: "") }
    return Failure(.usage, message + (help ?? ""))
  }

  /// Describes the value that was expected in place of a value that is no number of the right kind, of which the parser says no more than
  /// that; nil for other messages. Numbers are the only values that are parsed without a check of ours, and what was refused tells which
  /// kind it should be.
  private static func refusedNumber(_ message: String) -> String? {
    guard let mark = message.firstRange(of: "' is invalid for '--"), message.hasPrefix("The value '") else { return nil }
    let value = message[..<mark.lowerBound].dropFirst("The value '".count)
    let option = message[mark.upperBound...].prefix { $0 != " " && $0 != "'" }
    let isWhole = !value.isEmpty && value.drop { $0 == "-" }.allSatisfy { $0.isASCII && $0.isNumber }
    let expected =
      isWhole ? (value.first == "-" ? "a number of 0 or more" : "a smaller number") : Double(value) != nil ? "a whole number" : "a number"
    return "--\(option): expected \(expected), found '\(value)'"
  }

  /// Finds the word that the call names and nothing knows. Of calls that the parser takes, only one for help can hold it.
  private static func mistake(_ arguments: [String], isHelp: Bool) -> Failure? {
    guard !isHelp || arguments.first == "help" else { return nil }
    guard let tool = CommandDescription.tool() else { return nil }
    return CommandLineMistake(arguments, tool: tool).map { Failure(.usage, $0.message) }
  }
}
