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
  public var history: HistoryView {
    get { HistoryView(entries: entries[historyStart...]) }
    set { entries.replaceSubrange(historyStart..., with: newValue) }
  }

  /// Entries behind the instructions of a transcript.
  public struct HistoryView: Sendable, Equatable {
    fileprivate var entries: ArraySlice<Entry>
  }

  private var historyStart: Int { if case .instructions? = entries.first { 1 } else { 0 } }
}

extension Transcript.HistoryView: RandomAccessCollection, MutableCollection, RangeReplaceableCollection {
  /// A part of the entries is such a view as well.
  public typealias SubSequence = Self

  /// No entries.
  public init() { entries = [] }

  /// The position of the first entry.
  public var startIndex: Int { entries.startIndex }
  /// The position behind the last entry.
  public var endIndex: Int { entries.endIndex }

  /// The entry at a position.
  ///
  /// - Parameter position: The position, from ``startIndex`` up to but without ``endIndex``.
  public subscript(position: Int) -> Transcript.Entry {
    get { entries[position] }
    set { entries[position] = newValue }
  }

  /// The entries at some positions.
  ///
  /// - Parameter bounds: The positions.
  public subscript(bounds: Range<Int>) -> Self {
    get { Self(entries: entries[bounds]) }
    set { entries[bounds] = newValue.entries }
  }

  /// Puts entries in the place of others.
  ///
  /// - Parameters:
  ///   - subrange: The positions of the entries that go.
  ///   - newElements: The entries that come.
  public mutating func replaceSubrange<C>(_ subrange: Range<Int>, with newElements: C) where C: Collection, C.Element == Transcript.Entry {
    entries.replaceSubrange(subrange, with: newElements)
  }
}

extension Transcript.HistoryView: ExpressibleByArrayLiteral {
  /// Entries one by one.
  ///
  /// - Parameter elements: The entries.
  public init(arrayLiteral elements: Transcript.Entry...) { entries = elements[...] }
}
