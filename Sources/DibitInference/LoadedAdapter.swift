public import DibitModel

/// An adapter in memory that any number of sessions share; it never changes.
public final class LoadedAdapter: Sendable {
  /// The adapter.
  public let adapter: Adapter

  /// Takes an adapter over.
  public init(_ adapter: consuming Adapter) { self.adapter = adapter }

  /// Its rank; 0 for one that changes nothing.
  public var rank: Int { adapter.configuration.rank }
}
