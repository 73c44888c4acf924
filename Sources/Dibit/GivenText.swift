internal import DibitDataset
internal import DibitTokenizer

/// A text that is given to measure, calibrate or train on: plain text, or conversations, which are read as the model is spoken to.
enum GivenText {
  /// Files, each a document, and files of rows with a text each.
  case plain(TextFolder)
  /// A file of conversations, and what was noticed while it was read.
  case conversations([Conversation], findings: [String])

  /// Opens what is at a path: a file, or a folder of files.
  static func open(_ path: String) throws -> [GivenText] {
    let (files, others) = try TextFolder.open(path: path).separating(Dataset.holdsConversations)
    return try (others.map { [.plain($0)] } ?? []) + files.map(readConversations)
  }

  private static func readConversations(_ path: String) throws -> GivenText {
    let dataset = try Dataset.read(path)
    let conversations = dataset.train.compactMap { if case .conversation(let conversation) = $0 { conversation } else { nil } }
    return .conversations(conversations, findings: dataset.report.summary.map { "'\(path)': \($0)" })
  }

  /// The tokens of conversations, one behind the other, as they are written for the model at `path`; as many conversations as have `limit`
  /// tokens.
  static func tokens(
    of conversations: [Conversation], for path: String, _ tokenizer: Tokenizer, limit: Int = .max
  ) throws -> [Int32] {
    let format = try ModelPrompts(path, tokenizer: tokenizer).conversationFormat(maximumTokens: .max)
    var tokens: [Int32] = []
    for conversation in conversations where tokens.count < limit { tokens += try format.encode(conversation).tokens }
    return tokens
  }
}
