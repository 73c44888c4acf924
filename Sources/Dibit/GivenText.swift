internal import DibitDataset
internal import DibitFailure
internal import DibitTokenizer

/// A text that is given to calibrate or train on: files of plain text, or conversations, which are read as the model is spoken to.
enum GivenText {
  case plain(TextFolder)
  case conversations([Conversation], findings: [String])

  /// Opens a file or a folder of plain text, or reads a file of conversations.
  init(_ path: String) throws {
    guard Dataset.isJSONLines(path) else {
      self = .plain(try TextFolder.open(path: path))
      return
    }
    let (conversations, findings) = try Dataset.readConversations(path)
    self = .conversations(conversations, findings: findings.map { "'\(path)': \($0)" })
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

extension Dataset {
  /// Reads a file of conversations.
  ///
  /// - Throws: ``DibitError`` where it has other rows.
  static func readConversations(_ path: String) throws -> (conversations: [Conversation], findings: [String]) {
    let dataset = try Dataset.read(path)
    guard dataset.kind == .conversation else {
      throw DibitError(
        .invalidData,
        "'\(path)': expected conversations, {\"messages\": [...]} on each line, found labelled texts: give plain text another ending")
    }
    let conversations = dataset.train.compactMap { if case .conversation(let conversation) = $0 { conversation } else { nil } }
    return (conversations, dataset.report.summary)
  }
}
