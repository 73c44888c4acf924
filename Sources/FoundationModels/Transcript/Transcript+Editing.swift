extension Transcript: MutableCollection {}

extension Transcript: RangeReplaceableCollection {
  /// An empty transcript.
  public init() { self.init(entries: []) }

  /// Puts entries in the place of others.
  ///
  /// - Parameters:
  ///   - subrange: The positions of the entries that go.
  ///   - newElements: The entries that come.
  public mutating func replaceSubrange<C>(_ subrange: Range<Int>, with newElements: consuming C) where C: Collection, C.Element == Entry {
    entries.replaceSubrange(subrange, with: newElements)
  }
}

extension Transcript {
  /// The entries for which something holds, as a list: code of 26 expects one, where collections that can be edited give their own kind.
  ///
  /// - Parameters:
  ///   - isIncluded: Whether an entry is one of them.
  /// - Returns: The entries, in order.
  /// - Throws: What `isIncluded` throws.
  public func filter(_ isIncluded: (Entry) throws -> Bool) rethrows -> [Entry] { try entries.filter(isIncluded) }

  /// The entries behind the instructions.
  public var history: ArraySlice<Entry> {
    get { entries[historyStart...] }
    set { entries.replaceSubrange(historyStart..., with: newValue) }
  }

  private var historyStart: Int { if case .instructions? = entries.first { 1 } else { 0 } }
}
