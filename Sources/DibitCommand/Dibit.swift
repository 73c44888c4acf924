public import ArgumentParser

/// The `dibit` command.
public struct Dibit: ParsableCommand {
  /// Name, help and subcommands.
  public static let configuration = CommandConfiguration(
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
    version: "0.1.0",
    subcommands: [
      ConvertCommand.self, ExportCommand.self, InspectCommand.self, TrainCommand.self, EvaluateCommand.self, CrossValidateCommand.self,
      CurveCommand.self, ReportCommand.self, PredictCommand.self, GenerateCommand.self, ChatCommand.self,
      EmbedCommand.self,
      PerplexityCommand.self, PretrainCommand.self, VerifyCommand.self, TokenizeCommand.self, DetokenizeCommand.self, DatasetCommand.self,
      BenchCommand.self,
      SelftestCommand.self,
    ])

  /// A command without arguments, as the argument parser asks for it.
  public init() {}

  /// Parses the arguments, runs the command and exits with its code.
  public static func runAndExit() -> Never {
    do {
      var command = try parseAsRoot(CheckedArguments.ofProcess())
      try command.run()
    } catch {
      if let failure = Failure(error) ?? usageFailure(error) { failure.exit() }
      // Help and the like are results of their own.
      guard exitCode(for: error) == .success else { Dibit.exit(withError: error) }
      print(fullMessage(for: error))
    }
    Dibit.exit()
  }

  /// A wrong call in one line, as every other failure; nil for a call for help, which is none.
  private static func usageFailure(_ error: any Error) -> Failure? {
    guard exitCode(for: error) == .validationFailure else { return nil }
    let message = message(for: error).split(separator: "\n").joined(separator: " ")
    let lines = fullMessage(for: error).split(separator: "\n").map { $0.drop { $0 == " " } }
    // "See 'dibit convert --help' for more information."
    let help = lines.last { $0.hasPrefix("See '") }
      .map { "; see " + $0.dropFirst(4).prefix { $0 != "." }.replacing(" for more information", with: "") }
    return Failure(.usage, message + (help ?? ""))
  }
}
