package import DibitCheckpoint
package import DibitFailure
package import DibitFiles
package import DibitDataset

/// The reasons for which training cannot start or go on.
package enum TrainingError: EngineError, Equatable {
  case noExamples
  case tooLong(path: String, tokens: Int, maximum: Int)
  case tooLittleText(tokens: Int, needed: Int)
  case conversation(ConversationError)
  case memoryLimit(given: Int, least: Int)
  // The watchdog.
  case notANumber(step: Int, checkpoint: Int?)
  case diverged(step: Int, loss: Float, median: Float, checkpoint: Int?)
  // Checkpoints.
  case file(FileError)
  case tensors(CheckpointError)
  case incompleteRun(directory: String, step: Int)
  case changedModel(checkpoint: String)
  case changedData(checkpoint: String)
  case changedOption(checkpoint: String, key: String, was: String, found: String)
  case pastEnd(directory: String, step: Int, end: Int)
  case badCheckpoint(path: String, problem: String)

  /// One sentence: what, what was expected and found, and what to do.
  package var description: String {
    switch self {
    case .noExamples: "there is no training example"
    case .tooLong(let path, let tokens, let maximum):
      "'\(path)': prompt and answer need \(tokens) tokens even without the text, but the limit is \(maximum): raise \(optionName("maxTokens")) or shorten the label"
    case .tooLittleText(let tokens, let needed): "the text has \(tokens) tokens; at least \(needed) are needed"
    case .conversation(let error): "\(error)"
    case .memoryLimit(let given, let least):
      "\(optionName("memoryLimit")): \(given) bytes are given, but the least that this run needs are \(least): allow as much, or lower the tokens of a step"
    case .notANumber(let step, let checkpoint):
      "step \(step): the loss is not a number any more: lower the learning rate" + Self.kept(checkpoint)
    case .diverged(let step, let loss, let median, let checkpoint):
      "step \(step): the loss is \(loss), far above the median of \(median) before, and has been for a while: lower the learning rate"
        + Self.kept(checkpoint)
    case .file(let error): "\(error)"
    case .tensors(let error): "\(error)"
    case .incompleteRun(let directory, let step):
      "'\(directory)' holds a run that was stopped after step \(step): pass \(optionName("resume")) to go on, or \(optionName("overwrite")) to begin anew"
    case .changedModel(let checkpoint): "'\(checkpoint)' belongs to a run with another model: \(Self.advice)"
    case .changedData(let checkpoint): "'\(checkpoint)' belongs to a run with other data: \(Self.advice)"
    case .changedOption(let checkpoint, let key, let was, let found):
      "'\(checkpoint)' belongs to a run with \(key) \(was), not \(found): \(Self.advice)"
    case .pastEnd(let directory, let step, let end):
      "'\(directory)' holds a run that has done \(step) steps, more than the \(end) asked for: ask for at least \(step)"
    case .badCheckpoint(let path, let problem): "'\(path)': \(problem)"
    }
  }

  private static let advice = "restore it to go on, or pass \(optionName("overwrite")) instead of \(optionName("resume")) to begin anew"

  private static func kept(_ checkpoint: Int?) -> String { checkpoint.map { "; the checkpoint of step \($0) is kept" } ?? "" }
}

extension TrainingError {
  /// The kind of failure.
  package var kind: FailureKind {
    switch self {
    case .noExamples, .tooLong, .tooLittleText, .conversation, .changedModel, .changedData, .changedOption, .pastEnd, .badCheckpoint:
      .badData
    case .memoryLimit: .invalidRequest
    case .notANumber, .diverged: .failedRun
    case .incompleteRun: .cannotCreate
    case .file(let error): error.kind
    case .tensors(let error): error.kind
    }
  }

  /// The failure of a file or of a conversation.
  package var cause: (any EngineError)? {
    switch self {
    case .file(let error): error
    case .tensors(let error): error
    case .conversation(let error): error
    default: nil
    }
  }
}
