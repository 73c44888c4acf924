extension LanguageModelSession.DynamicProfile {
  fileprivate func configured(_ change: @escaping (inout SessionSetup) -> Void) -> some LanguageModelSession.DynamicProfile {
    ConfiguredProfile(content: self) { setup, _ in change(&setup) }
  }

  /// Names the model that answers.
  ///
  /// - Parameter model: The model.
  /// - Returns: The profile with it.
  public func model(_ model: some LanguageModel) -> some LanguageModelSession.DynamicProfile {
    configured { setup in setup.chosen = setup.chosen ?? model }
  }

  /// Names the model that answers.
  ///
  /// - Parameter model: The model, of any type.
  /// - Returns: The profile with it.
  public func model(_ model: any LanguageModel) -> some LanguageModelSession.DynamicProfile {
    configured { setup in setup.chosen = setup.chosen ?? model }
  }

  /// Sets the number that logits are divided by.
  ///
  /// - Parameter temperature: The number; nil for the model's own.
  /// - Returns: The profile with it.
  public func temperature(_ temperature: Double?) -> some LanguageModelSession.DynamicProfile {
    configured { setup in setup.temperature = setup.temperature ?? temperature }
  }

  /// Sets the way in which tokens are chosen.
  ///
  /// - Parameter samplingMode: The way; nil for the model's own.
  /// - Returns: The profile with it.
  public func samplingMode(_ samplingMode: GenerationOptions.SamplingMode?) -> some LanguageModelSession.DynamicProfile {
    configured { setup in setup.samplingMode = setup.samplingMode ?? samplingMode }
  }

  /// Sets the most tokens that an answer may have.
  ///
  /// - Parameter maximumResponseTokens: The number; nil for as many as the context takes.
  /// - Returns: The profile with it.
  public func maximumResponseTokens(_ maximumResponseTokens: Int?) -> some LanguageModelSession.DynamicProfile {
    configured { setup in setup.maximumResponseTokens = setup.maximumResponseTokens ?? maximumResponseTokens }
  }

  /// Sets the time that the model takes for thoughts.
  ///
  /// - Parameter reasoningLevel: The time; nil for none.
  /// - Returns: The profile with it.
  public func reasoningLevel(_ reasoningLevel: ContextOptions.ReasoningLevel?) -> some LanguageModelSession.DynamicProfile {
    configured { setup in setup.reasoningLevel = setup.reasoningLevel ?? reasoningLevel }
  }

  /// Sets the permission to call tools, by an older name.
  ///
  /// - Parameter toolCallingMode: The permission; nil for calls as the model sees fit.
  /// - Returns: The profile with it.
  @available(*, deprecated, renamed: "toolCallingMode(_:)")
  public func toolCalling(_ toolCallingMode: GenerationOptions.ToolCallingMode?) -> some LanguageModelSession.DynamicProfile {
    self.toolCallingMode(toolCallingMode)
  }

  /// Sets the permission to call tools.
  ///
  /// - Parameter toolCallingMode: The permission; nil for calls as the model sees fit.
  /// - Returns: The profile with it.
  public func toolCallingMode(_ toolCallingMode: GenerationOptions.ToolCallingMode?) -> some LanguageModelSession.DynamicProfile {
    configured { setup in setup.toolCallingMode = setup.toolCallingMode ?? toolCallingMode }
  }

  /// Changes what a model is shown of the transcript, by an older name.
  ///
  /// - Parameter filter: Takes the entries behind the instructions, and returns those that are shown instead.
  /// - Returns: The profile with it.
  @available(*, deprecated, renamed: "historyTransform(_:)")
  public func inputFilter(_ filter: @escaping ([Transcript.Entry]) -> [Transcript.Entry]) -> some LanguageModelSession.DynamicProfile {
    historyTransform(filter)
  }

  /// Changes what a model is shown of the transcript. The transcript itself stays as it is.
  ///
  /// - Parameter transform: Takes the entries behind the instructions, the prompt among them, and returns those that are shown instead.
  /// - Returns: The profile with it.
  public func historyTransform(_ transform: @escaping ([Transcript.Entry]) -> [Transcript.Entry]) -> some LanguageModelSession
    .DynamicProfile
  {
    configured { setup in setup.transforms.append(transform) }
  }

  /// Sets the fate of the entries of a turn that fails. That of the session, if it has one, is taken instead.
  ///
  /// - Parameter transcriptErrorHandlingPolicy: The fate; nil takes them back.
  /// - Returns: The profile with it.
  public func transcriptErrorHandlingPolicy(_ transcriptErrorHandlingPolicy: TranscriptErrorHandlingPolicy?) -> some LanguageModelSession
    .DynamicProfile
  {
    configured { setup in setup.errorHandling = setup.errorHandling ?? transcriptErrorHandlingPolicy }
  }
}
