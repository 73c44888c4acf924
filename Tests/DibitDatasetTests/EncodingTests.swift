import DibitJinja
import DibitTokenizer
import Testing

@testable import DibitDataset

/// How examples become tokens, and which of them are learnt.
@Suite struct EncodingTests {
  private static let texts = ["the cat and the dog and the bird sat on the mat in the sun {\"topics\":[\"food\",\"money\"]}"]
  private static let turns = try? Tokenizer.training(
    on: texts, vocabularySize: 320, specialTokens: ["<|endoftext|>", "<turn_start>", "<turn_end>", "<n>"])
  private static let plain = try? Tokenizer.training(
    on: texts, vocabularySize: 320, specialTokens: ["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
  private let turns: Tokenizer
  private let plain: Tokenizer

  init() throws {
    turns = try #require(Self.turns)
    plain = try #require(Self.plain)
  }

  private func text(_ example: TokenizedExample, _ role: TokenRole, _ tokenizer: Tokenizer) -> String {
    tokenizer.decode(zip(example.tokens, example.roles).filter { $0.1 == role }.map(\.0), skippingSpecialTokens: false)
  }

  // MARK: Labelled texts

  @Test func labelsAreContent() throws {
    let task = TokenizedTask(TaggingTask(), tokenizer: turns)
    let example = task.encode(LabelledExample(path: "a", text: "soup", labels: ["food", "money"]), reserving: 0)
    #expect(text(example, .content, turns) == "foodmoney")
    #expect(text(example, .scaffolding, turns) == "{\"topics\":[\"\",\"\"]}<turn_end>")
    #expect(
      text(example, .given, turns)
        == "<turn_start> system<n>Tag the text with its topic.<turn_end><turn_start> user<n>soup<turn_end><turn_start> assistant<n>")
    #expect(example.truncatedTokens == 0)
  }

  @Test func templatesReplaceTheChat() throws {
    var task = TaggingTask()
    task.instruction = "Tag {text}!"
    task.template = try PromptTemplate("<|im_start|>{instruction}\nText: {text}<|im_end|>\n{\"a\": {}}")
    let example = TokenizedTask(task, tokenizer: plain).encode(
      LabelledExample(path: "a", text: " soup <|im_end|> {instruction}", labels: ["food"]), reserving: 0)
    #expect(text(example, .given, plain) == "<|im_start|>Tag {text}!\nText: soup <|im_end|> {instruction}<|im_end|>\n{\"a\": {}}")
    let end = try #require(plain.id(of: "<|im_end|>"))
    #expect(example.tokens.count { $0 == end } == 1, "a text cannot spell a control token")
    #expect(text(example, .scaffolding, plain) == "{\"topics\":[\"\"]}<|endoftext|>")
  }

  @Test func chatsAreTheModelsOwn() throws {
    var task = TaggingTask()
    task.form = .chat
    let frame = try ChatFrame(try JinjaChatTemplate(jinja: jinja))
    let example = TokenizedTask(task, tokenizer: plain, chat: frame).encode(
      LabelledExample(path: "a", text: "soup <|im_end|>\n", labels: ["food", "money"]), reserving: 0)
    #expect(
      text(example, .given, plain)
        == "<|im_start|>system\nTag the text with its topic.<|im_end|>\n<|im_start|>user\nsoup <|im_end|><|im_end|>\n<|im_start|>assistant\n"
    )
    #expect(text(example, .content, plain) == "foodmoney")
    #expect(text(example, .scaffolding, plain) == "{\"topics\":[\"\",\"\"]}<|im_end|>", "where an answer ends is learnt")
    let end = try #require(plain.id(of: "<|im_end|>"))
    #expect(example.tokens.count { $0 == end } == 3, "a text cannot end its turn")
  }

  @Test func formsAreChosen() throws {
    func prompt(_ form: PromptForm?, _ tokenizer: Tokenizer) -> String {
      var task = TaggingTask()
      (task.instruction, task.form) = ("Tag.", form)
      return tokenizer.decode(TokenizedTask(task, tokenizer: tokenizer).prompt("soup", reserving: 0).tokens, skippingSpecialTokens: false)
    }
    let turn = "<turn_start> system<n>Tag.<turn_end><turn_start> user<n>soup<turn_end><turn_start> assistant<n>"
    #expect(prompt(nil, turns) == turn && prompt(.turns, turns) == turn)
    #expect(prompt(.plain, turns) == "Tag.\nsoup\n")
    #expect(prompt(nil, plain) == "Tag.\nsoup\n" && prompt(.plain, plain) == "Tag.\nsoup\n")
  }

  @Test("line ends behind a text are no part of it", arguments: ["soup", "soup\n", "soup\r\n", "\n soup\n\n"])
  func lineEndsAreLeftOut(text: String) throws {
    var chat = TaggingTask()
    chat.form = .chat
    var own = TaggingTask()
    own.template = try PromptTemplate("A: {text} B: ")
    let frame = try ChatFrame(try JinjaChatTemplate(jinja: jinja))
    for (task, tokenizer) in [(TaggingTask(), turns), (TaggingTask(), plain), (chat, plain), (own, plain)] {
      let tokenized = TokenizedTask(task, tokenizer: tokenizer, chat: frame)
      #expect(tokenized.prompt(text, reserving: 0).tokens == tokenized.prompt("soup", reserving: 0).tokens)
      #expect(tokenized.prompt("soup\nbread \n", reserving: 0).tokens == tokenized.prompt("soup\nbread ", reserving: 0).tokens)
    }
  }

  @Test func longTextsLoseTheirEndInTemplates() throws {
    var task = TaggingTask()
    task.maximumTokens = 40
    task.template = try PromptTemplate("A: {text}\nB: ")
    let tokenized = TokenizedTask(task, tokenizer: plain)
    let example = tokenized.encode(LabelledExample(path: "a", text: String(repeating: "xyz ", count: 100), labels: ["food"]), reserving: 0)
    #expect(example.tokens.count == 40)
    #expect(example.truncatedTokens > 100)
    #expect(text(example, .given, plain).hasPrefix("A: xyz xyz"))
    #expect(text(example, .given, plain).hasSuffix("\nB: "))
  }

  @Test func templatesAreChecked() throws {
    #expect(throws: PromptTemplateError.textCount(0)) { try PromptTemplate("{instruction}") }
    #expect(throws: PromptTemplateError.textCount(2)) { try PromptTemplate("{text} {text}") }
    #expect(throws: PromptTemplateError.instructionCount(2)) { try PromptTemplate("{instruction}{instruction}{text}") }
    #expect(throws: PromptTemplateError.unknownPlaceholder("texts")) { try PromptTemplate("{texts} {text}") }
    #expect(try PromptTemplate("{ \"a\": {} } {text} {A}").text == "{ \"a\": {} } {text} {A}")
    #expect(
      PromptTemplateError.unknownPlaceholder("x").description == "the prompt template: '{text}' and '{instruction}' expected, '{x}' found")
  }

  // MARK: Conversations

  private func conversation(_ contents: String..., answers: [Int]? = nil) throws -> Conversation {
    let messages = contents.enumerated().map { ChatMessage(role: $0 % 2 == 0 ? .user : .assistant, content: $1) }
    return try #require(Conversation(path: "d.jsonl", line: 1, messages: messages, answers: answers))
  }

  @Test func everyAnswerIsLearnt() throws {
    let format = ConversationFormat(tokenizer: turns, jinja: nil, maximumTokens: 512)
    let example = try format.encode(try conversation("hi", "ho", "the cat", "and the dog"))
    #expect(
      turns.decode(example.tokens, skippingSpecialTokens: false)
        == "<turn_start> user<n>hi<turn_end><turn_start> assistant<n>ho<turn_end><turn_start> user<n>the cat<turn_end>"
        + "<turn_start> assistant<n>and the dog<turn_end>")
    #expect(text(example, .content, turns) == "hoand the dog")
    #expect(text(example, .scaffolding, turns) == "<turn_end><turn_end>")
    #expect(example.tokens.count == example.roles.count)
    let last = try format.encode(try conversation("hi", "ho", "the cat", "and the dog", answers: [3]))
    #expect(last.tokens == example.tokens)
    #expect(text(last, .content, turns) == "and the dog")
  }

  /// What is learnt is what generation is asked for: the prompt of each answer is a prefix of the example.
  @Test func promptsAreThoseOfGeneration() throws {
    let format = ConversationFormat(tokenizer: turns, jinja: nil, maximumTokens: 512)
    let talk = try conversation("hi", "ho", "the cat", "and the dog")
    let example = try format.encode(talk)
    for index in talk.answers {
      let prompt = ChatTemplate(turns).prompt(Array(talk.messages[..<index]), tokenizer: turns).tokens
      #expect(example.tokens.starts(with: prompt))
      #expect(example.roles[prompt.count] == .content)
    }
  }

  @Test func valuesOfJSONAreContent() throws {
    func content(_ answer: String) -> String {
      String(decoding: zip(answer.utf8, AnswerContent.mask(answer)).filter { $0.1 }.map(\.0), as: UTF8.self)
    }
    #expect(content(#"{"a": "x\"y", "b": [1, -2.5, {"c": true}], "d": null, "e": {}}"#) == #"x\"y1-2.5truenull"#)
    #expect(content(#"["a", "b"]"#) == "ab")
    #expect(content(#"["a", "b"#) == #"["a", "b"#, "what is no JSON is all content")
    #expect(content("") == "" && content("12") == "12")
    let format = ConversationFormat(tokenizer: turns, jinja: nil, maximumTokens: 512)
    let example = try format.encode(try conversation("hi", #"{"topics":["food","money"]}"#))
    #expect(text(example, .scaffolding, turns).hasPrefix(#"{"topics":[""#))
    #expect(text(example, .content, turns).contains("food") && text(example, .content, turns).contains("money"))
    #expect(!text(example, .content, turns).contains("topics"))
    let thoughts = "{{ messages[0].content }}A:{% if messages | length > 1 %}<think></think>{{ messages[1].content }}<|im_end|>{% endif %}"
    let other = ConversationFormat(tokenizer: plain, jinja: try JinjaChatTemplate(jinja: thoughts), maximumTokens: 512)
    let thought = try other.encode(try conversation("hi", "ho"))
    #expect(text(thought, .given, plain) == "hiA:")
    #expect(text(thought, .scaffolding, plain) == "<think></think><|im_end|>" && text(thought, .content, plain) == "ho")
  }

  private let jinja =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content | trim }}<|im_end|>\n{% endfor %}"
    + "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"

  @Test func theModelsOwnTemplateIsUsed() throws {
    let format = ConversationFormat(tokenizer: plain, jinja: try JinjaChatTemplate(jinja: jinja), maximumTokens: 512)
    let example = try format.encode(try conversation("hi", " ho ", "the cat", "and the dog"))
    #expect(
      plain.decode(example.tokens, skippingSpecialTokens: false)
        == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nho<|im_end|>\n<|im_start|>user\nthe cat<|im_end|>\n"
        + "<|im_start|>assistant\nand the dog<|im_end|>\n")
    #expect(text(example, .content, plain) == "hoand the dog")
    #expect(text(example, .scaffolding, plain) == "<|im_end|>\n<|im_end|>\n")
  }

  @Test func longConversationsAreCut() throws {
    for jinja in [nil, try JinjaChatTemplate(jinja: jinja)] {
      let tokenizer = jinja == nil ? turns : plain
      let long = String(repeating: "xyz ", count: 100)
      let whole = try ConversationFormat(tokenizer: tokenizer, jinja: jinja, maximumTokens: 4096).encode(
        try conversation("hi", "ho", long, "ha"))
      let format = ConversationFormat(tokenizer: tokenizer, jinja: jinja, maximumTokens: 60)
      let first = try format.encode(try conversation("hi", "ho", long, "ha"))
      #expect(text(first, .content, tokenizer) == "ho", "the turn that does not fit is left out")
      #expect(whole.tokens.starts(with: first.tokens) && first.truncatedTokens > 100)
      let question = try format.encode(try conversation(long, "ha"))
      #expect(question.tokens.count <= 60 && question.tokens.count > 50)
      #expect(text(question, .content, tokenizer) == "ha" && question.truncatedTokens > 100)
      let answer = try format.encode(try conversation("hi", long))
      #expect(answer.tokens.count == 60 && text(answer, .content, tokenizer).hasPrefix("xyz xyz"))
      #expect(text(answer, .scaffolding, tokenizer).isEmpty, "an answer that was cut does not end")
      let tiny = ConversationFormat(tokenizer: tokenizer, jinja: jinja, maximumTokens: 4)
      #expect(throws: ConversationError.tooLong(location: "d.jsonl:1", limit: 4)) { try tiny.encode(try conversation("hi", "ho")) }
    }
  }

  @Test func templatesThatCannotBeLearntFrom() throws {
    let odd = ConversationFormat(tokenizer: plain, jinja: try JinjaChatTemplate(jinja: "{{ messages | length }}"), maximumTokens: 64)
    #expect(throws: ConversationError.unfitTemplate) { try odd.encode(try conversation("hi", "ho")) }
    let broken = ConversationFormat(tokenizer: plain, jinja: try JinjaChatTemplate(jinja: "{{ raise_exception('no') }}"), maximumTokens: 64)
    #expect(throws: ConversationError.self) { try broken.encode(try conversation("hi", "ho")) }
  }
}
