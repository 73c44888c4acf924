public import Observation
internal import Synchronization

/// A kind of value that a session keeps for profiles, dynamic instructions, tools and whoever holds the session.
///
/// ```swift
/// struct StepKey: SessionPropertyKey {
///   static var defaultValue: Step { .shopping }
/// }
///
/// extension SessionPropertyValues {
///   var step: Step {
///     get { self[StepKey.self] }
///     set { self[StepKey.self] = newValue }
///   }
/// }
/// ```
public protocol SessionPropertyKey: SendableMetatype {
  /// The type of the value.
  associatedtype Value

  /// The value that a session begins with.
  static var defaultValue: Self.Value { get }
}

/// The values that a session keeps for profiles, dynamic instructions, tools and whoever holds the session.
public final class SessionPropertyValues: Sendable {
  /// The values of whoever's code runs now on behalf of a session.
  @TaskLocal static var current: SessionPropertyValues?

  /// A value of any type. Whoever shares values that are not `Sendable` has to take care of them, as with other properties of objects.
  private struct Value: @unchecked Sendable { let value: Any }
  private struct Owner { weak var session: LanguageModelSession? }

  private let values = Mutex<[ObjectIdentifier: Value]>([:])
  private let root = Mutex<Value?>(nil)
  private let owner = Mutex(Owner())
  private let registrar = ObservationRegistrar()

  init() {}

  /// Begins to be about a session.
  func attach(to session: LanguageModelSession) { owner.withLock { $0.session = session } }

  private var session: LanguageModelSession? { owner.withLock { $0.session } }

  /// All values, to observe.
  private var all: Int { values.withLock { $0.count } }

  /// The value of a key.
  ///
  /// - Parameter key: The key.
  public subscript<K>(key: K.Type) -> K.Value where K: SessionPropertyKey {
    get {
      registrar.access(self, keyPath: \.all)
      if let value = values.withLock({ $0[ObjectIdentifier(key)] })?.value as? K.Value { return value }
      // Kept, so that an object that is a default value is the same one the next time.
      let made = Value(value: K.defaultValue)
      let kept = values.withLock { values in
        let value = values[ObjectIdentifier(key)] ?? made
        values[ObjectIdentifier(key)] = value
        return value
      }
      return kept.value as? K.Value ?? K.defaultValue
    }
    set {
      let value = Value(value: newValue)
      registrar.withMutation(of: self, keyPath: \.all) { values.withLock { $0[ObjectIdentifier(key)] = value } }
    }
  }

  /// The entries of the session's transcript behind the instructions.
  ///
  /// Entries that are set while the session answers are there for the next request of the same turn; a turn that fails takes them back.
  public var history: Transcript.HistoryView {
    get { session?.transcript.history ?? [] }
    set { session?.change { $0.set(history: newValue) } }
  }

  /// The instructions and tools of the session: those of the profile that it follows now, or of a session without one. Those that are set
  /// are said from the next request on, whatever the profile has.
  public var rootDynamicInstructions: any DynamicInstructions {
    get {
      registrar.access(self, keyPath: \.rootDynamicInstructions)
      return override ?? session?.instructions() ?? EmptyDynamicInstructions()
    }
    set {
      let value = Value(value: newValue)
      registrar.withMutation(of: self, keyPath: \.rootDynamicInstructions) { root.withLock { $0 = value } }
    }
  }

  /// The instructions that somebody has set.
  var override: (any DynamicInstructions)? { root.withLock { $0 }?.value as? any DynamicInstructions }
}

extension SessionPropertyValues: nonisolated Observable {}

extension LanguageModelSession {
  /// A property of the session for which the code runs: in profiles and their actions, dynamic instructions, tools and executors.
  ///
  /// ```swift
  /// @SessionProperty(\.step) var step
  /// ```
  @propertyWrapper
  public struct SessionProperty<Value> {
    private let keyPath: ReferenceWritableKeyPath<SessionPropertyValues, Value>

    /// A property of the session.
    ///
    /// - Parameter keyPath: The property.
    public init(_ keyPath: ReferenceWritableKeyPath<SessionPropertyValues, Value>) { self.keyPath = keyPath }

    /// The value that the session has. Code that runs for no session reads the value that sessions begin with, and must not write any.
    public var wrappedValue: Value {
      get { (SessionPropertyValues.current ?? SessionPropertyValues())[keyPath: keyPath] }
      nonmutating set {
        guard let values = SessionPropertyValues.current else {
          fatalError("a session property was set by code that no session runs; set it in the session's 'properties'")
        }
        values[keyPath: keyPath] = newValue
      }
    }
  }
}

// A key path of properties holds nothing that somebody could change.
extension LanguageModelSession.SessionProperty: @unchecked Sendable where Value: Sendable {}

extension Tool {
  /// A property of the session that calls the tool.
  public typealias SessionProperty = LanguageModelSession.SessionProperty
}
