/// The settings by which the rows of CSV, TSV and JSONL files become examples.
package struct RowOptions: Equatable, Sendable {
  /// The choice of an assistant's messages that are learnt.
  package enum Answers: String, Equatable, Sendable, CaseIterable {
    /// All of them, as Apple's adapter toolkit does.
    case all
    /// The last one; the others are given.
    case last
  }

  /// The column or key of the text; nil takes the first known name that is there.
  package var textColumn: String?
  /// The column or key of the label or labels; nil takes the first known name that is there.
  package var labelColumn: String?
  /// The separator of several labels in one field; nil for one label in each.
  package var labelSeparator: String?
  /// The answers of a conversation that are learnt.
  package var answers = Answers.all
  /// Longer rows are refused, in bytes of UTF-8.
  package var maximumRowBytes = 4 << 20
  /// Reports rows that are no example and goes on, instead of refusing the data: for checks.
  package var toleratesFaults = false

  /// True where rows are examples, with a label or an answer; otherwise each has a text, and everything else in it is passed over.
  var needsLabels = true
  /// True where a user can say what the column of the text is called.
  var takesNames = true

  /// The defaults, with the names of columns where somebody gives them.
  package init(textColumn: String? = nil, labelColumn: String? = nil) { (self.textColumn, self.labelColumn) = (textColumn, labelColumn) }

  /// Names of a text, the first of which wins.
  static let textNames = ["text", "sentence", "content", "utterance", "query", "question", "body", "review", "message"]
  /// Names of labels, the first of which wins. `label_text` stands beside numbers in `label`.
  static let labelNames = [
    "label_text", "label_name", "labels", "label", "categories", "category", "topics", "topic", "tags", "tag", "intent", "class",
  ]

  /// The labels in a field: none where it is empty and may hold several.
  func labels(in field: String) -> [String] {
    guard let labelSeparator, !labelSeparator.isEmpty else { return [Self.trimmed(field)] }
    if Self.trimmed(field).isEmpty { return [] }
    return field.split(separator: labelSeparator, omittingEmptySubsequences: false).map(Self.trimmed)
  }

  /// A label without the spaces and tabs around it, as the names of columns are read.
  static func trimmed(_ label: some StringProtocol) -> String {
    let scalars = label.unicodeScalars
    func isSpace(_ scalar: Unicode.Scalar?) -> Bool { scalar == " " || scalar == "\t" }
    guard isSpace(scalars.first) || isSpace(scalars.last) else { return String(label) }
    let start = scalars.firstIndex { !isSpace($0) } ?? scalars.endIndex
    let end = scalars.lastIndex { !isSpace($0) }.map { scalars.index(after: $0) } ?? start
    return String(String.UnicodeScalarView(scalars[start..<end]))
  }

  /// The labels without repetition in the order of their bytes: none of an empty list, to whose text no label applies. Nil for a row that
  /// nobody has labelled, whose only label is empty.
  ///
  /// - Throws: for an empty label among others, and for one that is not a line of text.
  static func checked(_ labels: [String], key: String) throws(RowFault) -> [String]? {
    if labels.count == 1, labels[0].isEmpty { return nil }
    for label in labels {
      guard !label.isEmpty else { throw .noLabel(key: key) }
      guard label.unicodeScalars.allSatisfy(\.isLineSafe) else { throw .badLabel(label) }
    }
    return labels.count > 1 ? labels.distinctByBytes() : labels
  }
}

/// One array for each set of labels, which millions of rows share.
struct SharedLabels {
  private var known: [[UInt8]: [String]] = [:]

  mutating func share(_ labels: [String]) -> [String] {
    var key: [UInt8] = []
    for label in labels {
      key.append(contentsOf: label.utf8)
      key.append(0)
    }
    if let shared = known[key] { return shared }
    known[key] = labels
    return labels
  }
}
