internal import DibitDataset
internal import DibitEvaluation
internal import DibitFailure
internal import DibitFiles
internal import DibitJSON
internal import DibitJinja
internal import DibitModelStore
internal import DibitTokenizer

/// What a model is asked, in tokens.
struct GenerationPrompt {
  let tokens: [Int32]
  /// The text that is continued and shown before what comes; nothing where the prompt is asked for an answer.
  var shown = ""
  /// The tokens that end the answer.
  let endTokens: Set<Int32>
  /// What the answer satisfies if nothing else was asked for: the form that an adapter learnt.
  var answer: JSONValue?

  /// The most labels of an answer.
  private static let mostTags = 8

  /// The prompt in the words of an adapter that tags texts, in the model's chat template or turns, or as it is.
  init(
    _ content: PromptArguments.Content, _ arguments: PromptArguments, _ adapter: (description: AdapterDescription, task: TokenizedTask)?,
    model: StoredModel
  )
    throws
  {
    if case .text(let text) = content, !arguments.raw, text.allSatisfy(\.isWhitespace) { Terminal.write("note: the prompt is empty\n") }
    let chat = try model.chatFormat()
    endTokens = chat.endTokens
    if let adapter, !arguments.raw {
      guard case .text(let text) = content, arguments.system == nil else {
        let option = arguments.messages == nil ? "--system" : "--messages"
        throw Failure(.usage, "\(option): the adapter tags texts and has an instruction of its own; use 'dibit generate' without it")
      }
      let (description, task) = adapter
      let prompt = task.prompt(text, reserving: task.reserve(for: description.labels))
      if prompt.truncatedTokens > 0 {
        Terminal.write(
          "note: the text lost its last \(counted(prompt.truncatedTokens, "token")), to fit the \(grouped(description.task.maximumTokens)) that the adapter learnt with\n"
        )
      }
      tokens = prompt.tokens
      // What keeps labels apart is not made for more of them.
      answer = OpenTagger.answerSchema(
        key: description.task.key, mostTags: min(Self.mostTags, description.labels.count), labels: description.labels,
        repeats: description.labels.count > 64)
      return
    }
    switch content {
    case .messages(let messages):
      guard chat.tellsRoles else { throw Failure(.badData, StoredModel.noChat(model.path)) }
      tokens = try model.render { () throws(JinjaError) -> [Int32] in try chat.prompt(messages) }
    case .text(let text) where chat.tellsRoles && !arguments.raw:
      let messages = (arguments.system.map { [ChatMessage(role: .system, content: $0)] } ?? []) + [ChatMessage(role: .user, content: text)]
      tokens = try model.render { () throws(JinjaError) -> [Int32] in try chat.prompt(messages) }
    case .text(let text):
      if arguments.system != nil { throw Failure(.usage, "--system: '\(model.path)' has no chat template that could say it") }
      shown = text
      tokens = Self.plain(text, model.tokenizer, parsingSpecialTokens: arguments.specialTokens)
    }
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
  /// How the model is spoken to, today.
  func chatFormat() throws -> ChatFormat {
    let today = LocalTime.now.flatMap {
      JinjaClock(year: $0.year, month: $0.month, day: $0.day, hour: $0.hour, minute: $0.minute, second: $0.second)
    }
    return try ChatSource.open(path).format(for: tokenizer, today: today)
  }

  /// What the model's chat template makes.
  fileprivate func render(_ body: () throws(JinjaError) -> [Int32]) throws -> [Int32] {
    do throws(JinjaError) { return try body() } catch { throw ModelStoreError.chatTemplate("\(error)", path: path) }
  }

  /// What to say of a model that cannot tell who speaks.
  static func noChat(_ path: String) -> String {
    "'\(path)' has no chat template, nor turns that Dibit knows, so that it cannot tell who speaks: continue texts with 'dibit generate --raw'"
  }
}
