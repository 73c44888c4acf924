internal import Foundation
internal import Synchronization

/// The profile of a session, which is read by one at a time.
///
/// Profiles are of types that need not be `Sendable`; one is given away to its session, and nobody else has it.
final class ProfileHolder: @unchecked Sendable {
  private let profile: any LanguageModelSession.DynamicProfile
  // A body may ask the session for something that reads the profile.
  private let lock = NSRecursiveLock()
  /// The phases that the session is in.
  private var phases: [ProfilePhase] = []

  init(_ profile: sending some LanguageModelSession.DynamicProfile) { self.profile = profile }

  /// The setup that the profile describes now; `override` is said instead of its own instructions.
  func setup(override: (any DynamicInstructions)?) -> SessionSetup {
    lock.lock()
    defer { lock.unlock() }
    var setup = SessionSetup()
    setup.add(profile, at: [])
    if let override { setup.root = override }
    setup.say()
    return setup
  }

  /// Takes the phases of a setup for those that the session is in, and returns what has to be done: first for those that end.
  func enter(_ setup: SessionSetup) -> [@isolated(any) () async -> Void] {
    lock.lock()
    defer { lock.unlock() }
    let (before, after) = (Set(phases.map(\.position)), Set(setup.phases.map(\.position)))
    let actions =
      phases.filter { !after.contains($0.position) }.compactMap(\.onDeactivate)
      + setup.phases.filter { !before.contains($0.position) }.compactMap(\.onActivate)
    phases = setup.phases
    return actions
  }
}
