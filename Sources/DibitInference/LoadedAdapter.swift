package import DibitModel

/// An adapter in memory that any number of sessions share; it never changes.
package final class LoadedAdapter: Sendable {
  /// The adapter.
  package let adapter: Adapter

  /// Takes an adapter over.
  package init(_ adapter: consuming Adapter) { self.adapter = adapter }

  /// Its rank; 0 for one that changes nothing.
  package var rank: Int { adapter.configuration.rank }
}
