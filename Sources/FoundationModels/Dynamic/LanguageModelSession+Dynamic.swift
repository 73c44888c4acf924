extension LanguageModelSession {
  /// A session that follows a profile. The transcript begins with the profile's instructions once a model has been asked.
  ///
  /// - Parameters:
  ///   - profile: The profile.
  ///   - history: What was said before, without instructions.
  public convenience init(
    profile: sending some LanguageModelSession.DynamicProfile, history: some Collection<Transcript.Entry> = []
  ) {
    self.init(.profile(ProfileHolder(profile)), Transcript(entries: Transcript(entries: history).history))
  }

  /// A session whose instructions and tools are said anew before each request to the model.
  ///
  /// - Parameters:
  ///   - model: The model that answers.
  ///   - dynamicInstructions: The instructions and the tools.
  ///   - history: What was said before, without instructions.
  public convenience init(
    model: some LanguageModel = SystemLanguageModel.default, dynamicInstructions: sending some DynamicInstructions,
    history: some Collection<Transcript.Entry> = []
  ) {
    self.init(profile: Profile { dynamicInstructions }.model(model), history: history)
  }

  /// The values that the session keeps for its profile, its instructions and its tools.
  public final var properties: SessionPropertyValues { values }
}
