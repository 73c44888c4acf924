/// The record of a conversation: what a model was told, asked and said, with the calls of tools.
///
/// It begins with the instructions, if there are any. A turn is a prompt, then any number of times the calls of tools with an output for
/// each, and at last a response.
///
/// ```swift
/// let data = try JSONEncoder().encode(session.transcript)
/// let later = LanguageModelSession(transcript: try JSONDecoder().decode(Transcript.self, from: data))
/// ```
public struct Transcript: Sendable, Equatable {
  /// The entries, in order.
  var entries: [Entry]

  /// A transcript of known entries.
  ///
  /// - Parameters:
  ///   - entries: The entries, in order.
  public init(entries: some Sequence<Entry> = []) { self.entries = Array(entries) }
}

extension Transcript: RandomAccessCollection {
  /// The position of an entry.
  public typealias Index = Int

  /// The entry at a position.
  ///
  /// - Parameters:
  ///   - index: The position, from ``startIndex`` up to but without ``endIndex``.
  public subscript(index: Int) -> Entry {
    get { entries[index] }
    set { entries[index] = newValue }
  }

  /// The position of the first entry: 0.
  public var startIndex: Int { entries.startIndex }
  /// The position behind the last entry: the number of entries.
  public var endIndex: Int { entries.endIndex }
}
