extension LanguageModelSession {
  /// Something that can be done to any profile.
  ///
  /// ```swift
  /// struct Careful: LanguageModelSession.DynamicProfileModifier {
  ///   func body(content: Content) -> some DynamicProfile {
  ///     content.samplingMode(.greedy).maximumResponseTokens(200)
  ///   }
  /// }
  ///
  /// Profile { Instructions("Answer in one sentence.") }.modifier(Careful())
  /// ```
  public protocol DynamicProfileModifier {
    /// The kind of the modified profile.
    associatedtype Body: LanguageModelSession.DynamicProfile

    /// Modifies a profile.
    ///
    /// - Parameter content: The profile.
    /// - Returns: The modified one.
    @LanguageModelSession.DynamicProfileBuilder func body(content: Self.Content) -> Self.Body

    /// A profile that is modified.
    typealias Content = LanguageModelSession.DynamicProfileModifierContent<Self>
  }

  /// A profile that a modifier modifies.
  public struct DynamicProfileModifierContent<Modifier>: LanguageModelSession.DynamicProfile
  where Modifier: LanguageModelSession.DynamicProfileModifier {
    /// There is none: the profile describes itself.
    public typealias Body = Never

    fileprivate let profile: any LanguageModelSession.DynamicProfile

    /// There is none, and asking for it ends the program.
    public var body: Never { return bodyless(Self.self) }
  }

  /// A profile with its modifier.
  public struct ModifiedDynamicProfile<Content, Modifier>: LanguageModelSession.DynamicProfile
  where Content: LanguageModelSession.DynamicProfile, Modifier: LanguageModelSession.DynamicProfileModifier {
    /// There is none: the profile describes itself.
    public typealias Body = Never

    fileprivate let content: Content
    fileprivate let modifier: Modifier

    /// There is none, and asking for it ends the program.
    public var body: Never { return bodyless(Self.self) }
  }
}

extension LanguageModelSession.DynamicProfileModifier {
  /// A description of how a session answers.
  public typealias DynamicProfile = LanguageModelSession.DynamicProfile
  /// A property of the session whose profile is modified.
  public typealias SessionProperty = LanguageModelSession.SessionProperty
}

extension LanguageModelSession.DynamicProfile {
  /// Modifies the profile.
  ///
  /// - Parameter modifier: The modifier.
  /// - Returns: The modified profile.
  public func modifier<Modifier>(
    _ modifier: Modifier
  ) -> some LanguageModelSession.DynamicProfile where Modifier: LanguageModelSession.DynamicProfileModifier {
    LanguageModelSession.ModifiedDynamicProfile(content: self, modifier: modifier)
  }
}

extension LanguageModelSession.DynamicProfileModifierContent: ProfilePart {
  func add(to setup: inout SessionSetup, at position: [ProfileStep]) { setup.add(profile, at: position + [.content]) }
}

extension LanguageModelSession.ModifiedDynamicProfile: ProfilePart {
  func add(to setup: inout SessionSetup, at position: [ProfileStep]) {
    let modified = modifier.body(content: LanguageModelSession.DynamicProfileModifierContent(profile: content))
    setup.add(modified, at: position + [.body(ObjectIdentifier(Modifier.self))])
  }
}

/// A profile with something that is said beside it, once it has been said itself.
struct ConfiguredProfile<Content: LanguageModelSession.DynamicProfile>: LanguageModelSession.DynamicProfile, ProfilePart {
  let content: Content
  let change: (inout SessionSetup, _ position: [ProfileStep]) -> Void

  var body: Never { return bodyless(Self.self) }

  func add(to setup: inout SessionSetup, at position: [ProfileStep]) {
    setup.add(content, at: position + [.content])
    change(&setup, position)
  }
}
