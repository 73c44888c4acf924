import Dibit
import DibitInference
import DibitModel
import DibitModelStore
import DibitTokenizer
import Testing

/// A chat goes on from what it has read, and answers as if it had read all of it anew.
@Suite struct ChatSessionTests {
  private let tokenizer: Tokenizer
  private let model: (configuration: ModelConfiguration, weights: DecoderWeights)

  init() throws {
    tokenizer = try makeModel("llama").tokenizer
    model = try makePackedModel("llama")
  }

  private func chat(_ messages: [DialogueMessage] = [], context: Int? = nil, jinja: String? = nil) throws -> ChatSession {
    let session = Session(
      model.configuration, weights: model.weights, adapter: .none(for: model.weights), context: context, on: compute)
    // A published template counts only where the vocabulary has no turns of its own.
    let plain = try Tokenizer.training(on: ["the goal and the soup"], vocabularySize: 280, specialTokens: ["<|im_start|>", "<|im_end|>"])
    let format =
      try jinja.map { ChatFormat(tokenizer: plain, jinja: try JinjaChatTemplate(jinja: $0), endTokens: ["<|im_end|>"]) }
      ?? ChatFormat(tokenizer: tokenizer, jinja: nil)
    return ChatSession(DialogueSession(session, format: format), messages: messages)
  }

  private var options: Response.Options {
    var options = Response.Options(maximumTokens: 12)
    (options.temperature, options.seed) = (0.7, 5)
    // It looks back at the prompt, wherever that lies.
    options.repetitionPenalty = 1.3
    return options
  }

  private static let chatML =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content | trim }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
  /// Writes only the first letters of earlier answers, as templates do that leave out thoughts.
  private static let forgetful =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content[:3] if m.role == 'assistant' else m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"

  @Test("of a further turn only what is new is read, and the answer is that of a fresh chat", arguments: [nil, chatML, forgetful])
  func turns(jinja: String?) throws {
    var chat = try chat(jinja: jinja)
    var before = 0
    for (turn, text) in ["the goal of the match", "the soup", "and the bread of the bank", "calm"].enumerated() {
      var fresh = try self.chat(chat.messages, jinja: jinja)
      let expected = try fresh.answer(text, options: options)
      let answer = try chat.answer(text, options: options)
      #expect(answer.generation == expected.generation)
      #expect(answer.promptTokens == expected.promptTokens)
      #expect(expected.readTokens == expected.promptTokens)
      // The prompt of the turn before is held; with a template its last token may be another one than before an answer.
      if turn > 0 { #expect(answer.readTokens <= answer.promptTokens - before + (jinja == nil ? 0 : 1), "turn \(turn)") }
      before = answer.promptTokens
    }
    #expect(chat.messages.map(\.isAnswer) == (0..<8).map { !$0.isMultiple(of: 2) })
  }

  @Test func turnsAreTakenBack() throws {
    var chat = try chat()
    chat.system = "be calm"
    let first = try chat.answer("the goal", options: options).generation.text
    let kept = chat.messages
    #expect(
      kept == [
        .system("be calm"), .user("the goal"),
        .assistant(first),
      ])
    let second = try chat.answer("the soup", options: options)
    let isTaken = chat.undo()
    #expect(isTaken)
    #expect(chat.messages == kept)
    let again = try chat.answer("the soup", options: options)
    #expect(again.generation == second.generation)
    // All but the last token of the prompt is held still.
    #expect(again.readTokens == 1)
    chat.reset()
    #expect(chat.messages == [kept[0]])
    let isTakenAgain = chat.undo()
    #expect(!isTakenAgain)
    #expect(try chat.answer("the goal", options: options).generation.text == first)
    chat.system = nil
    #expect(chat.messages.first == .user("the goal"))
    #expect(chat.system == nil)
  }

  @Test("a chat whose last message is a user's is answered without a further one")
  func pending() throws {
    var chat = try chat()
    let expected = try chat.answer("the goal", options: options)
    var other = try self.chat([.user("the goal")])
    let awaits = other.awaitsAnswer
    #expect(awaits)
    #expect(try other.answer(nil, options: options) == expected)
    let awaitsMore = other.awaitsAnswer
    #expect(!awaitsMore)
    #expect(other.messages == chat.messages)
  }

  @Test func fullContextLosesNothing() throws {
    var chat = try chat(context: 48)
    var options = options
    options.maximumTokens = 1000
    let answer = try chat.answer("the goal", options: options)
    #expect(answer.isCutByContext || answer.generation.finishReason == .stop)
    let messages = chat.messages
    let long = String(repeating: "the planet was small ", count: 40)
    let error = #expect(throws: ChatError.self) { try chat.answer(long, options: options) }
    guard case .contextFull(let tokens, 48)? = error else { throw error ?? ChatError.contextFull(tokens: 0, context: 0) }
    #expect(
      error?.description == "the chat would have \(tokens) tokens, and the model's context of 48 leaves no room for an answer")
    #expect(chat.messages == messages)
    chat.reset()
    #expect(try chat.answer("the goal", options: options).generation == answer.generation)
  }

  @Test func interruptions() throws {
    var chat = try chat()
    let whole = try chat.answer("the goal", options: options)
    try #require(whole.generation.tokens.count > 3)
    chat.reset()
    // During the prompt, or before any text: as if nothing had been said.
    #expect(try chat.answer("the goal", options: options, receive: { _ in false }).generation.finishReason == .interrupted)
    #expect(chat.messages.count <= 2)
    chat.reset()
    var pieces = 0
    let part = try chat.answer(
      "the goal", options: options,
      receive: { _ in
        pieces += 1
        return pieces < 4
      })
    #expect(part.generation.finishReason == .interrupted)
    #expect(whole.generation.text.utf8.starts(with: part.generation.text.utf8))
    #expect(chat.messages.last == .assistant(part.generation.text))
    chat.reset()
    #expect(try chat.answer("the goal", options: options).generation == whole.generation)
  }

  @Test("a long prompt tells how much has been read, and can be given up")
  func reading() throws {
    let model = try makeModel("llama", context: 2048)
    var session = makeSession(model)
    let prompt = tokens(1300)
    var options = GenerationOptions()
    options.maximumTokens = 2
    var told: [Int] = []
    let whole = try session.generate(
      prompt, tokenizer: model.tokenizer, options: options,
      reading: {
        told.append($0)
        return true
      })
    #expect(told == [512, 1024, 1300])
    session.rewind(to: 100)
    told = []
    let rest = try session.generate(
      prompt, past: 100, tokenizer: model.tokenizer, options: options,
      reading: {
        told.append($0)
        return true
      })
    #expect(told == [612, 1124, 1300])
    #expect(rest.tokens.count == whole.tokens.count)
    session.rewind()
    let none = try session.generate(prompt, tokenizer: model.tokenizer, options: options, reading: { $0 < 600 })
    #expect(none.finishReason == .interrupted)
    #expect(none.tokens.isEmpty)
    #expect(session.count == 1024)
  }
}

extension DialogueMessage {
  fileprivate var isAnswer: Bool { if case .assistant = self { true } else { false } }
}
