internal import Dibit
internal import DibitDataset

extension ModelPrompts {
  /// Says what prompts are put into, where that is a matter of the model.
  func announce(_ form: PromptForm?) {
    switch form {
    case .chat: Terminal.note("prompts are put into the model's chat template; --prompt-form plain goes without")
    case .plain:
      if let fault { Terminal.note("prompts are plain lines, because the model's chat template cannot be used: \(fault)") }
    case .turns, nil: break
    }
  }
}
