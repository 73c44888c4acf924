internal import DibitFailure
internal import DibitTokenizer

/// An example of a dataset, wherever it was read from.
package enum DatasetExample: Sendable, Equatable {
  /// A text whose labels are to be told.
  case labelled(LabelledExample)
  /// Messages whose answers are to be given.
  case conversation(Conversation)

  /// The two kinds; a dataset holds one of them.
  package enum Kind: String, Sendable, Equatable {
    case labelled
    case conversation

    /// The kind in words, many of it.
    package var plural: String { self == .labelled ? "labelled texts" : "conversations" }

    /// "1 labelled text", "4,000 conversations".
    package func counted(_ count: Int) -> String { DibitFailure.counted(count, self == .labelled ? "labelled text" : "conversation") }
  }

  /// The kind of this example.
  package var kind: Kind {
    switch self {
    case .labelled: .labelled
    case .conversation: .conversation
    }
  }

  /// The file, relative to the dataset's folder.
  package var path: String {
    switch self {
    case .labelled(let example): example.path
    case .conversation(let conversation): conversation.path
    }
  }

  /// The line on which the row begins, from 1; 0 when the example is a whole file.
  package var line: Int {
    switch self {
    case .labelled(let example): example.line
    case .conversation(let conversation): conversation.line
    }
  }

  /// The path, and the line if there is one: "train.csv:12".
  package var location: String { line == 0 ? path : "\(path):\(line)" }

  /// The labels; none for a conversation.
  package var labels: [String] {
    switch self {
    case .labelled(let example): example.labels
    case .conversation: []
    }
  }

  /// The text; of a conversation all contents, each from its own line on.
  package var text: String {
    switch self {
    case .labelled(let example): example.text
    case .conversation(let conversation): conversation.messages.map(\.content).joined(separator: "\n")
    }
  }

  /// SHA-256 of what is to be read and, in a conversation, said: equal digests are equal examples but for labels.
  package var digest: TextDigest {
    switch self {
    case .labelled(let example): example.digest
    case .conversation(let conversation): conversation.digest
    }
  }

  /// The stratum whose share a stratified draw keeps: the first label, nothing for conversations and texts without a label.
  var stratum: String {
    switch self {
    case .labelled(let example): example.labels.first ?? ""
    case .conversation: ""
    }
  }

  /// Checks that this comes before another in the order of the bytes of their paths, and of lines within a file.
  func isBefore(_ other: DatasetExample) -> Bool {
    let (path, its) = (path, other.path)
    // Rows of one file share its name, and `==` sees that at once; it may also hold for other bytes with the same meaning.
    if path == its, path.hasSameBytes(as: its) { return line < other.line }
    return path.precedesInBytes(its)
  }
}

extension [DatasetExample] {
  /// The examples in the order of the UTF-8 bytes of their paths, and of lines within a file.
  func sortedByLocation() -> [DatasetExample] {
    zip(self, dropFirst()).contains { $1.isBefore($0) } ? sorted { $0.isBefore($1) } : self
  }
}
