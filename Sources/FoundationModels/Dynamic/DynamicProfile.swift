extension LanguageModelSession {
  /// A description of how a session answers, which is read anew before each request to a model: instructions, tools, model and
  /// options can depend on what has happened.
  ///
  /// ```swift
  /// struct Writing: LanguageModelSession.DynamicProfile {
  ///   @SessionProperty(\.isDraft) var isDraft
  ///   var body: some DynamicProfile {
  ///     if isDraft {
  ///       Profile { Instructions("Write freely.") }.temperature(1.2)
  ///     } else {
  ///       Profile { Instructions("Correct mistakes, and change nothing else.") }.samplingMode(.greedy)
  ///     }
  ///   }
  /// }
  ///
  /// let session = LanguageModelSession(profile: Writing())
  /// ```
  ///
  /// A value that several modifiers give is that of the modifier next to the profile. Actions and transformations of several modifiers are
  /// all done, from the profile outwards. What a request names itself, such as a temperature, is taken instead of the profile's.
  public protocol DynamicProfile {
    /// The kind of the profile that this one is now.
    associatedtype Body: LanguageModelSession.DynamicProfile

    /// The profile that this one is now.
    @LanguageModelSession.DynamicProfileBuilder var body: Self.Body { get }
  }

  /// Instructions and tools, with the model and the options of a session.
  public struct Profile: LanguageModelSession.DynamicProfile {
    /// There is none: the profile describes itself.
    public typealias Body = Never

    fileprivate let instructions: any DynamicInstructions

    /// A profile with instructions and tools. The model is ``SystemLanguageModel/default`` unless a modifier names another.
    ///
    /// - Parameter dynamicInstructions: The instructions and the tools.
    public init(@DynamicInstructionsBuilder _ dynamicInstructions: () -> some DynamicInstructions) { instructions = dynamicInstructions() }

    /// There is none, and asking for it ends the program.
    public var body: Never { return bodyless(Self.self) }
  }

  /// One of two profiles, by a condition.
  public struct ConditionalDynamicProfile<TrueContent, FalseContent>: LanguageModelSession.DynamicProfile
  where TrueContent: LanguageModelSession.DynamicProfile, FalseContent: LanguageModelSession.DynamicProfile {
    /// There is none: the profile describes itself.
    public typealias Body = Never

    fileprivate enum Branch {
      case first(TrueContent)
      case second(FalseContent)
    }

    fileprivate let branch: Branch

    /// There is none, and asking for it ends the program.
    public var body: Never { return bodyless(Self.self) }
  }

  /// A profile of any type.
  public struct AnyDynamicProfile: LanguageModelSession.DynamicProfile {
    /// There is none: the profile describes itself.
    public typealias Body = Never

    fileprivate let profile: any LanguageModelSession.DynamicProfile

    /// Hides the type of a profile.
    ///
    /// - Parameter dynamicProfile: The profile.
    public init(_ dynamicProfile: any LanguageModelSession.DynamicProfile) { profile = dynamicProfile }

    /// Hides the type of a profile.
    ///
    /// - Parameter dynamicProfile: The profile.
    public init(erasing dynamicProfile: some LanguageModelSession.DynamicProfile) { profile = dynamicProfile }

    /// There is none, and asking for it ends the program.
    public var body: Never { return bodyless(Self.self) }
  }

  /// Builds a ``DynamicProfile`` of a block that comes to one profile.
  @resultBuilder
  public struct DynamicProfileBuilder {
    /// Takes the only statement of a block.
    ///
    /// - Parameter content: The value of the statement.
    /// - Returns: The same value.
    public static func buildBlock<T>(_ content: T) -> T where T: LanguageModelSession.DynamicProfile { content }

    /// Takes the first branch of a condition.
    ///
    /// - Parameter content: The value of the branch.
    /// - Returns: A profile that is this one.
    public static func buildEither<TrueContent, FalseContent>(
      first content: TrueContent
    ) -> LanguageModelSession.ConditionalDynamicProfile<TrueContent, FalseContent>
    where TrueContent: LanguageModelSession.DynamicProfile, FalseContent: LanguageModelSession.DynamicProfile {
      ConditionalDynamicProfile(branch: .first(content))
    }

    /// Takes the second branch of a condition.
    ///
    /// - Parameter content: The value of the branch.
    /// - Returns: A profile that is this one.
    public static func buildEither<TrueContent, FalseContent>(
      second content: FalseContent
    ) -> LanguageModelSession.ConditionalDynamicProfile<TrueContent, FalseContent>
    where TrueContent: LanguageModelSession.DynamicProfile, FalseContent: LanguageModelSession.DynamicProfile {
      ConditionalDynamicProfile(branch: .second(content))
    }

    /// Takes a block that is there on some systems alone.
    ///
    /// - Parameter component: The value of the block.
    /// - Returns: A profile that is this one.
    public static func buildLimitedAvailability(_ component: some LanguageModelSession.DynamicProfile) -> AnyDynamicProfile {
      AnyDynamicProfile(component)
    }
  }
}

extension LanguageModelSession.DynamicProfile {
  /// Instructions and tools, with the model and the options of a session.
  public typealias Profile = LanguageModelSession.Profile
  /// A description of how a session answers.
  public typealias DynamicProfile = LanguageModelSession.DynamicProfile
  /// A property of the session that the profile describes.
  public typealias SessionProperty = LanguageModelSession.SessionProperty
}

extension Never: LanguageModelSession.DynamicProfile {}

/// A profile that describes itself, without a body.
protocol ProfilePart {
  /// Adds what the profile says. `position` tells apart what stands at different positions of the whole.
  func add(to setup: inout SessionSetup, at position: [ProfileStep])
}

/// A step from a profile to what it consists of.
enum ProfileStep: Hashable {
  case body(ObjectIdentifier)
  case first
  case second
  case content
}

extension SessionSetup {
  /// Adds what a profile says now.
  mutating func add<Profile: LanguageModelSession.DynamicProfile>(_ profile: Profile, at position: [ProfileStep]) {
    if let part = profile as? any ProfilePart {
      part.add(to: &self, at: position)
    } else {
      add(profile.body, at: position + [.body(ObjectIdentifier(Profile.self))])
    }
  }
}

extension LanguageModelSession.Profile: ProfilePart {
  func add(to setup: inout SessionSetup, at position: [ProfileStep]) { setup.root = instructions }
}

extension LanguageModelSession.AnyDynamicProfile: ProfilePart {
  func add(to setup: inout SessionSetup, at position: [ProfileStep]) { setup.add(profile, at: position) }
}

extension LanguageModelSession.ConditionalDynamicProfile: ProfilePart {
  func add(to setup: inout SessionSetup, at position: [ProfileStep]) {
    switch branch {
    case .first(let content): setup.add(content, at: position + [.first])
    case .second(let content): setup.add(content, at: position + [.second])
    }
  }
}
