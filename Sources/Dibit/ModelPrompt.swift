package import DibitDataset
internal import DibitEvaluation
internal import DibitFiles
package import DibitJSON
internal import DibitJinja
package import DibitModelStore
package import DibitTokenizer

/// The prompt that a model is asked, in tokens.
package struct ModelPrompt: Sendable {
  /// The prompt.
  package let tokens: [Int32]
  /// The text that is continued and shown before what comes; nothing where the prompt is asked for an answer.
  package private(set) var shown = ""
  /// The tokens that end the answer.
  package let endTokens: Set<Int32>
  /// The schema that the answer satisfies if nothing else was asked for: the form that an adapter learnt.
  package private(set) var answer: JSONValue?
  /// Tokens of the text that were cut off to fit what an adapter learnt with.
  package private(set) var truncatedTokens = 0

  /// The most labels of an answer.
  private static let mostTags = 8

  /// The prompt in the words of an adapter that tags texts, in the model's chat template or turns, or as it is.
  package init(_ prompt: Prompt, adapter: (description: AdapterDescription, task: TokenizedTask)? = nil, model: StoredModel) throws {
    let chat = try model.chatFormat()
    endTokens = chat.endTokens
    switch prompt.content {
    case .user(let text, let system):
      if let adapter {
        guard system == nil else { throw Self.hasInstruction }
        (tokens, truncatedTokens, answer) = Self.tags(text, adapter)
      } else if chat.tellsRoles {
        let messages = (system.map { [ChatMessage(role: .system, content: $0)] } ?? []) + [ChatMessage(role: .user, content: text)]
        tokens = try model.render { () throws(JinjaError) -> [Int32] in try chat.prompt(messages) }
      } else {
        guard system == nil else {
          throw DibitError(.invalidArgument, option: "system", "'\(model.path)' has no chat template that could say it")
        }
        shown = text
        tokens = Self.plain(text, model.tokenizer, parsingSpecialTokens: false)
      }
    case .chat(let messages):
      guard adapter == nil else { throw Self.hasInstruction }
      guard chat.tellsRoles else { throw StoredModel.noChat(model.path) }
      tokens = try model.render { () throws(JinjaError) -> [Int32] in try chat.prompt(messages) }
    case .text(let text, let parsesSpecialTokens):
      shown = text
      tokens = Self.plain(text, model.tokenizer, parsingSpecialTokens: parsesSpecialTokens)
    }
  }

  /// The failure for a prompt that an adapter that tags cannot be asked.
  private static let hasInstruction = DibitError(.invalidArgument, "the adapter tags texts and has an instruction of its own")

  /// A text in the prompt of an adapter that tags, and the form of its answer.
  private static func tags(
    _ text: String, _ adapter: (description: AdapterDescription, task: TokenizedTask)
  ) -> (tokens: [Int32], truncatedTokens: Int, answer: JSONValue) {
    let (description, task) = adapter
    let prompt = task.prompt(text, reserving: task.reserve(for: description.labels))
    // What keeps labels apart is not made for more of them.
    let answer = OpenTagger.answerSchema(
      key: description.task.key, mostTags: min(mostTags, description.labels.count), labels: description.labels,
      repeats: description.labels.count > 64, allowsNone: task.task.allowsNone)
    return (prompt.tokens, prompt.truncatedTokens, answer)
  }

  /// A text as it is. One whose control tokens count may begin with the token that begins every text, which is then not put there again.
  private static func plain(_ text: String, _ tokenizer: Tokenizer, parsingSpecialTokens: Bool) -> [Int32] {
    guard parsingSpecialTokens else { return tokenizer.encode(text, parsingSpecialTokens: false) }
    let own = tokenizer.encode(text, addingSpecialTokens: false)
    let beginning = tokenizer.encode("", addingSpecialTokens: true)
    return !beginning.isEmpty && own.starts(with: beginning) ? own : tokenizer.encode(text)
  }
}

extension StoredModel {
  /// Returns the format in which the model is spoken to, today.
  package func chatFormat() throws -> ChatFormat {
    let today = LocalTime.now.flatMap {
      JinjaClock(year: $0.year, month: $0.month, day: $0.day, hour: $0.hour, minute: $0.minute, second: $0.second)
    }
    return try ChatSource.open(path).format(for: tokenizer, today: today)
  }

  /// Returns the tokens that the model's chat template makes.
  fileprivate func render(_ body: () throws(JinjaError) -> [Int32]) throws -> [Int32] {
    do throws(JinjaError) { return try body() } catch { throw ModelStoreError.chatTemplate("\(error)", path: path) }
  }

  /// Returns the failure of a model that cannot tell who speaks.
  package static func noChat(_ path: String) -> DibitError {
    DibitError(
      .invalidData, "'\(path)' has no chat template, nor turns that Dibit knows, so that it cannot tell who speaks", .continueTexts)
  }
}
