/// An adapter in memory that any number of passes share; it never changes.
package final class LoadedAdapter: Sendable {
  /// The adapter.
  package let adapter: Adapter

  /// Takes an adapter over.
  package init(_ adapter: consuming Adapter) { self.adapter = adapter }

  /// Its rank; 0 for one that changes nothing.
  package var rank: Int { adapter.configuration.rank }
}

/// Neighbouring rows of a pass that run under the same adapter.
struct AdapterRun: Sendable {
  var rows: Range<Int>
  let adapter: LoadedAdapter
}
