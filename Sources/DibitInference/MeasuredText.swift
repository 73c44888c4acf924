package import DibitTokenizer

/// Texts that a model's predictions are measured on, cut into windows that do not overlap.
///
/// A window never holds tokens of two documents. Where the tokenizer begins a text with a token of its own, every window of plain text begins
/// with it and all tokens of the text are predicted: models that were trained so predict badly without. Where it does not, the first token of
/// each window is not predicted. Of a conversation only the answers are predicted.
package struct MeasuredText: Sendable {
  /// Tokens that a model runs at once.
  package struct Window: Equatable, Sendable {
    /// The tokens, those that begin the window included.
    package let tokens: [Int32]
    /// The tokens that are predicted, in order; never the first.
    package let predicted: [Range<Int>]

    /// The number of predicted tokens.
    var predictedCount: Int { predicted.reduce(0) { $0 + $1.count } }
  }

  /// The number of documents.
  package private(set) var documents = 0
  /// The number of predicted tokens.
  package private(set) var tokens = 0
  /// The UTF-8 bytes of the text that is predicted.
  package private(set) var bytes = 0
  /// The most tokens of a window, those that begin it included.
  package let window: Int
  /// The windows in order.
  package private(set) var windows: [Window] = []
  private let prefix: [Int32]

  /// No text yet, for windows of at most `window` tokens, from 2 on, that begin with `prefix`.
  package init(window: Int, prefix: [Int32] = []) {
    self.prefix = Array(prefix.prefix(max(0, window - 1)))
    self.window = max(window, 2)
  }

  /// No text yet, for windows that begin as the tokenizer begins a text.
  package init(window: Int, tokenizer: Tokenizer) {
    // What the tokenizer puts in front is what differs there.
    let (plain, whole) = (tokenizer.encode("a", addingSpecialTokens: false), tokenizer.encode("a"))
    let start = whole.indices.first { whole[$0...].starts(with: plain) } ?? 0
    self.init(window: window, prefix: Array(whole[..<start]))
  }

  /// Adds a document: its tokens without special ones, the UTF-8 bytes of its text, and the tokenizer that tells how many of those the
  /// tokens hold that are not predicted.
  package mutating func append(_ document: [Int32], bytes: Int, tokenizer: Tokenizer) {
    append(document)
    self.bytes += bytes
    guard prefix.isEmpty else { return }
    for first in stride(from: 0, to: document.count, by: window) { self.bytes -= tokenizer.bytes(of: document[first]).count }
    self.bytes = max(self.bytes, 0)
  }

  /// Adds a document whose bytes do not matter.
  package mutating func append(_ document: [Int32]) {
    documents += 1
    let firstPredicted = max(prefix.count, 1)
    for first in stride(from: 0, to: document.count, by: window - prefix.count) {
      let piece = prefix + document[first..<min(first + window - prefix.count, document.count)]
      guard piece.count > firstPredicted else { continue }
      append(Window(tokens: piece, predicted: [firstPredicted..<piece.count]))
    }
  }

  /// Adds a document that is a window by itself, special tokens included and no more than a window has, of which some tokens are predicted, in
  /// order and without the first; `bytes` are the UTF-8 bytes of these, where they matter.
  package mutating func append(_ tokens: [Int32], predicted: [Range<Int>], bytes: Int = 0) {
    documents += 1
    self.bytes += bytes
    append(Window(tokens: tokens, predicted: predicted))
  }

  private mutating func append(_ window: Window) {
    windows.append(window)
    tokens += window.predictedCount
  }
}
