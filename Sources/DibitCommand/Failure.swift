internal import Dibit
internal import DibitFailure
internal import Glibc

/// One line for the user and the exit code that goes with it.
struct Failure: Error {
  /// Codes of sysexits.h, the shell's code for an interruption, and one for what was asked for and does not hold.
  enum Code: Int32 {
    /// A condition that was asked for with an option and does not hold: nothing failed.
    case unmet = 3
    case usage = 64
    case badData = 65
    case missingInput = 66
    case internalError = 70
    case cannotCreate = 73
    case inputOutput = 74
    case interrupted = 130
  }

  let code: Code
  let message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The failure that an engine's error amounts to; nil for errors of the argument parser, which knows how to show them.
  init?(_ error: any Error) {
    switch error {
    case let failure as Failure: self = failure
    case let error as DibitError: self.init(error)
    case let error as any EngineError: self.init(of: error)
    default: return nil
    }
  }

  /// The failure that an engine's error amounts to.
  init(of error: any EngineError) { self.init(Code(error.kind), Advice.sentence(of: error)) }

  /// A failure of the library, with advice in the words of the command line.
  init(_ error: DibitError) {
    let message =
      switch error.advice {
      case nil: error.sentence
      case .plainPrompts: error.sentence + "; --prompt-form plain goes without"
      case .generateInstead: error.sentence + ": use it with 'dibit chat' or 'dibit generate'"
      case .tagInstead: error.sentence + ": use it with 'dibit predict' or 'dibit generate'"
      case .nameLabels:
        error.sentence + ": give them with 'dibit convert ADAPTER --base MODEL --labels LABEL,LABEL', or use it with 'dibit generate'"
      case .continueTexts: error.sentence + ": continue texts with 'dibit generate --raw'"
      case .otherSplit: error.sentence + ": name another one with --split, or leave it out"
      case .leaveOutLeakage: error.sentence + ": --leave-out-leakage evaluates the others, --allow-leakage all the same"
      case .nothingHeldOut:
        error.sentence + "; none is left to evaluate: give texts that were held out, or ask 'dibit crossvalidate'; "
          + "--allow-leakage evaluates these all the same"
      case .keepParts: error.sentence + "; --output FOLDER keeps them"
      case .resumeParts: error.sentence + "; the same command with --resume goes on behind them"
      case .ownShape: "--from " + error.sentence + "; leave it out there, or train without --from"
      }
    self.init(Code(error.kind), (error.option.map { Advice.flag($0) + ": " } ?? "") + Advice.options(in: message))
  }

  func exit() -> Never {
    Terminal.write("error: \(message)\n")
    Glibc.exit(code.rawValue)
  }

  /// Adds what was being done in front of an error's sentence, unless that names what `doing` has in quotes: no path stands twice in a line.
  /// What cannot be created is the output, which needs no input beside it.
  static func context<Result>(_ doing: String, _ body: () throws -> Result) throws -> Result {
    do { return try body() } catch {
      guard let failure = Failure(error) else { throw error }
      if failure.code == .cannotCreate { throw failure }
      let named = doing.drop { $0 != "'" }
      let isNamed = named.count > 2 && (failure.message.contains(named) || failure.message.contains(String(named.dropLast()) + "/"))
      throw Failure(failure.code, isNamed ? failure.message : "\(doing): \(failure.message)")
    }
  }
}

extension Failure.Code {
  init(_ kind: DibitError.Kind) {
    switch kind {
    case .missing: self = .missingInput
    case .invalidData: self = .badData
    case .invalidArgument: self = .usage
    case .cannotCreate: self = .cannotCreate
    case .inputOutput: self = .inputOutput
    case .diverged, .unexpected: self = .internalError
    case .cancelled: self = .interrupted
    }
  }

  init(_ kind: FailureKind) {
    switch kind {
    case .invalidRequest: self = .usage
    case .badData: self = .badData
    case .notFound, .noPermission: self = .missingInput
    case .failedRun: self = .internalError
    case .cannotCreate: self = .cannotCreate
    case .inputOutput: self = .inputOutput
    case .interrupted: self = .interrupted
    }
  }
}
