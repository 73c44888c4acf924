internal import Dibit
internal import DibitDataset

extension ModelPrompts {
  /// Says what prompts are put into, where that is a matter of the model.
  func announce(_ form: PromptForm?) {
    switch form {
    case .chat: Terminal.write("note: prompts are put into the model's chat template; --prompt-form plain goes without\n")
    case .plain:
      if let fault { Terminal.write("note: prompts are plain lines, because the model's chat template cannot be used: \(fault)\n") }
    case .turns, nil: break
    }
  }
}
