internal import DibitDataset
internal import DibitFailure
internal import DibitInference
internal import DibitModel
internal import DibitModelStore
internal import DibitTokenizer

/// Texts that models are measured on: plain text, or conversations, of which the answers are measured.
struct MeasuredDocuments: Sendable {
  /// The texts, cut into windows.
  private(set) var text: MeasuredText
  /// Notes on what was noticed while they were read.
  private(set) var notes: [String] = []
  /// The last words before the first answer, for each conversation; nil for plain text.
  private(set) var questions: [String]?

  /// The amount of text, in words.
  var extent: String {
    questions == nil
      ? "\(counted(text.tokens, "token")) of \(counted(text.documents, "document"))"
      : "\(counted(text.tokens, "token")) of answers in \(counted(text.documents, "conversation"))"
  }

  /// Reads what is at `path`, as tokens of a model and of the reference that it is compared with.
  ///
  /// - Parameters:
  ///   - window: tokens of a window, at most as many as the models' context.
  ///   - limit: how many tokens of the text are used, or of answers, up to a whole conversation; nil for all.
  /// - Throws: ``DibitError`` where there is no text, and where the reference has other tokens for it.
  init(_ path: String, _ model: StoredModel, _ reference: StoredModel?, window: Int, limit: Int?) throws {
    text = MeasuredText(window: window, tokenizer: model.tokenizer)
    var (folder, conversations): (TextFolder?, [Conversation]) = (nil, [])
    for text in try GivenText.open(path) {
      switch text {
      case .plain(let found): folder = found
      case .conversations(let found, let findings):
        conversations += found
        notes += findings
      }
    }
    if let folder, conversations.isEmpty {
      try readTexts(folder, model, reference, limit: limit)
    } else if folder == nil {
      try read(conversations, model, reference, limit: limit)
      guard text.tokens > 0 else { throw DibitError(.invalidData, "'\(path)': no answer has a token that can be predicted") }
    } else {
      throw DibitError(.invalidData, "'\(path)' holds conversations beside other texts, which are measured apart: name one or the other")
    }
  }

  private mutating func readTexts(_ folder: TextFolder, _ model: StoredModel, _ reference: StoredModel?, limit: Int?) throws {
    let tokenizer = model.tokenizer
    var (tokens, bytes, total): ([Int32], Int, Int) = ([], 0, 0)
    var reader = folder.makeIterator()
    while total < limit ?? .max, let piece = reader.next() {
      var ids = tokenizer.encode(piece.text, addingSpecialTokens: false, parsingSpecialTokens: false)
      if let reference, reference.tokenizer.encode(piece.text, addingSpecialTokens: false, parsingSpecialTokens: false) != ids {
        throw Self.otherTokens(reference, model, piece.path)
      }
      bytes += piece.text.utf8.count
      if let limit, total + ids.count > limit {
        ids = Array(ids.prefix(limit - total))
        bytes = tokenizer.decode(tokens + ids).utf8.count
      }
      tokens += ids
      total += ids.count
      guard piece.endsDocument || total == limit else { continue }
      text.append(tokens, bytes: bytes, tokenizer: tokenizer)
      (tokens, bytes) = ([], 0)
    }
    notes = reader.report.summary
    guard text.tokens > 0 else {
      let found = notes.isEmpty ? "" : " (\(notes.joined(separator: "; ")))"
      throw DibitError(.invalidData, "'\(folder.path)' has \(counted(total, "token")); at least 2 are needed\(found)")
    }
  }

  private mutating func read(_ conversations: [Conversation], _ model: StoredModel, _ reference: StoredModel?, limit: Int?) throws {
    let format = try ModelPrompts(model).conversationFormat(maximumTokens: text.window)
    // Both models are asked in the same words.
    let other = try reference.map {
      try ModelPrompts(model.path, tokenizer: $0.tokenizer).conversationFormat(maximumTokens: text.window)
    }
    var (questions, shortened): ([String], Int) = ([], 0)
    for conversation in conversations where text.tokens < limit ?? .max {
      let example = try encode(conversation, format)
      if let other, let reference, try encode(conversation, other).tokens != example.tokens {
        throw Self.otherTokens(reference, model, conversation.path)
      }
      let answers = example.answers
      guard !answers.isEmpty else { continue }
      text.append(
        example.tokens, predicted: answers,
        bytes: answers.reduce(0) { $0 + model.tokenizer.decode(example.tokens[$1]).utf8.count })
      questions.append(conversation.answers.first.map { conversation.messages[..<$0].last?.content ?? "" } ?? "")
      if example.truncatedTokens > 0 { shortened += 1 }
    }
    self.questions = questions
    guard shortened > 0 else { return }
    notes.append(
      "\(counted(shortened, "conversation")) longer than \(counted(text.window, "token")), measured without the rest; "
        + "\(optionName("window")) sets that length")
  }

  private func encode(_ conversation: Conversation, _ format: ConversationFormat) throws -> TokenizedExample {
    do { return try format.encode(conversation) } catch .tooLong(let location, let limit) {
      throw DibitError(
        .invalidData,
        "'\(location)': the messages before the answer need \(limit) tokens or more, which a window has: raise \(optionName("window"))")
    }
  }

  private static func otherTokens(_ reference: StoredModel, _ model: StoredModel, _ file: String) -> DibitError {
    DibitError(
      .invalidData, "'\(reference.path)' and '\(model.path)' cut '\(file)' into different tokens: a reference needs the same tokenizer")
  }
}

extension TokenizedExample {
  /// The tokens of its answers and of what ends them, each a run; without the very first token, which nothing predicts.
  fileprivate var answers: [Range<Int>] {
    var runs: [Range<Int>] = []
    for index in roles.indices.dropFirst() where roles[index] != .given {
      if let last = runs.last, last.upperBound == index {
        runs[runs.count - 1] = last.lowerBound..<index + 1
      } else {
        runs.append(index..<index + 1)
      }
    }
    return runs
  }
}
