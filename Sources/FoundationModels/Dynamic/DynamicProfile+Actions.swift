extension LanguageModelSession.DynamicProfile {
  /// Does something when a prompt was added, before a model is asked.
  ///
  /// - Parameter action: The action. What it throws ends the turn.
  /// - Returns: The profile with it.
  public func onPrompt(
    perform action: nonisolated(nonsending) sending @escaping () async throws -> Void
  ) -> some LanguageModelSession.DynamicProfile {
    ConfiguredProfile(content: self) { setup, _ in setup.actions.onPrompt.append({ _ in try await action() }) }
  }

  /// Does something when a prompt was added, before a model is asked.
  ///
  /// - Parameter action: The action, which is given the prompt. What it throws ends the turn.
  /// - Returns: The profile with it.
  public func onPrompt(
    perform action: nonisolated(nonsending) sending @escaping (Transcript.Prompt) async throws -> Void
  ) -> some LanguageModelSession.DynamicProfile {
    ConfiguredProfile(content: self) { setup, _ in setup.actions.onPrompt.append(action) }
  }

  /// Does something when an answer was added, before whoever asked gets it.
  ///
  /// - Parameter action: The action. What it throws ends the turn.
  /// - Returns: The profile with it.
  public func onResponse(
    perform action: nonisolated(nonsending) sending @escaping () async throws -> Void
  ) -> some LanguageModelSession.DynamicProfile {
    ConfiguredProfile(content: self) { setup, _ in setup.actions.onResponse.append({ _ in try await action() }) }
  }

  /// Does something when an answer was added, before whoever asked gets it.
  ///
  /// - Parameter action: The action, which is given the answer. What it throws ends the turn.
  /// - Returns: The profile with it.
  public func onResponse(
    perform action: nonisolated(nonsending) sending @escaping (Transcript.Response) async throws -> Void
  ) -> some LanguageModelSession.DynamicProfile {
    ConfiguredProfile(content: self) { setup, _ in setup.actions.onResponse.append(action) }
  }

  #if FoundationModels27
    /// Does something when a model has thought, for models that tell their thoughts.
    ///
    /// - Parameter action: The action. What it throws ends the turn.
    /// - Returns: The profile with it.
    public func onReasoning(
      perform action: nonisolated(nonsending) sending @escaping () async throws -> Void
    ) -> some LanguageModelSession.DynamicProfile {
      ConfiguredProfile(content: self) { setup, _ in setup.actions.onReasoning.append({ _ in try await action() }) }
    }

    /// Does something when a model has thought, for models that tell their thoughts.
    ///
    /// - Parameter action: The action, which is given the thoughts. What it throws ends the turn.
    /// - Returns: The profile with it.
    public func onReasoning(
      perform action: nonisolated(nonsending) sending @escaping (Transcript.Reasoning) async throws -> Void
    ) -> some LanguageModelSession.DynamicProfile {
      ConfiguredProfile(content: self) { setup, _ in setup.actions.onReasoning.append(action) }
    }
  #endif

  /// Does something before a tool is called, for each call.
  ///
  /// - Parameter action: The action. What it throws ends the turn.
  /// - Returns: The profile with it.
  public func onToolCall(
    perform action: nonisolated(nonsending) sending @escaping () async throws -> Void
  ) -> some LanguageModelSession.DynamicProfile {
    ConfiguredProfile(content: self) { setup, _ in setup.actions.onToolCall.append({ _ in try await action() }) }
  }

  /// Does something before a tool is called, for each call.
  ///
  /// - Parameter action: The action, which is given the call. What it throws ends the turn.
  /// - Returns: The profile with it.
  public func onToolCall(
    perform action: nonisolated(nonsending) sending @escaping (Transcript.ToolCall) async throws -> Void
  ) -> some LanguageModelSession.DynamicProfile {
    ConfiguredProfile(content: self) { setup, _ in setup.actions.onToolCall.append(action) }
  }

  /// Does something when a tool has given something, for each call.
  ///
  /// - Parameter action: The action. What it throws ends the turn.
  /// - Returns: The profile with it.
  public func onToolOutput(
    perform action: nonisolated(nonsending) sending @escaping () async throws -> Void
  ) -> some LanguageModelSession.DynamicProfile {
    ConfiguredProfile(content: self) { setup, _ in setup.actions.onToolOutput.append({ _, _ in try await action() }) }
  }

  /// Does something when a tool has given something, for each call.
  ///
  /// - Parameter action: The action, which is given the call and what came of it. What it throws ends the turn.
  /// - Returns: The profile with it.
  public func onToolOutput(
    perform action: nonisolated(nonsending) sending @escaping (Transcript.ToolCall, Transcript.ToolOutput) async throws -> Void
  ) -> some LanguageModelSession.DynamicProfile {
    ConfiguredProfile(content: self) { setup, _ in setup.actions.onToolOutput.append(action) }
  }

  /// Does something when the profile becomes the one that the session follows: before the first request, and before the first behind one
  /// for which it was another.
  ///
  /// - Parameter action: The action.
  /// - Returns: The profile with it.
  public func onActivate(
    perform action: sending @escaping @isolated(any) () async -> Void
  ) -> some LanguageModelSession.DynamicProfile {
    ConfiguredProfile(content: self) { setup, position in setup.phases.append(ProfilePhase(position: position, onActivate: action)) }
  }

  /// Does something when the profile is no longer the one that the session follows.
  ///
  /// - Parameter action: The action.
  /// - Returns: The profile with it.
  public func onDeactivate(
    perform action: sending @escaping @isolated(any) () async -> Void
  ) -> some LanguageModelSession.DynamicProfile {
    ConfiguredProfile(content: self) { setup, position in setup.phases.append(ProfilePhase(position: position, onDeactivate: action)) }
  }
}
