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
  /// The entries behind the instructions.
  public var history: ArraySlice<Entry> {
    get { entries[historyStart...] }
    set { entries.replaceSubrange(historyStart..., with: newValue) }
  }

  private var historyStart: Int { if case .instructions? = entries.first { 1 } else { 0 } }
}
