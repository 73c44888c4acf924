import DibitJSON
import DibitJinja
import DibitTokenizer
import Testing

@testable import DibitDataset

/// Conversations with tools: rows as OpenAI has them, learnt as the model's own template writes them.
@Suite struct ToolUseTests {
  private static let tokenizer = try? Tokenizer.training(
    on: ["weather in the city is sunny and the get_weather tool says so"], vocabularySize: 320,
    specialTokens: ["<|endoftext|>", "<|im_start|>", "<|im_end|>"])

  /// Tools first, calls as JSON between marks, results as a turn of the user.
  private static let template =
    "{% if tools %}<|im_start|>system\n{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}<|im_end|>\n{% endif %}"
    + "{% for m in messages %}{% if m.role == 'tool' %}<|im_start|>user\n<result>{{ m.content }}</result><|im_end|>\n{% else %}"
    + "<|im_start|>{{ m.role }}\n{{ m.content }}{% for call in m.tool_calls or [] %}<call>"
    + "{{ {'name': call.function.name, 'arguments': call.function.arguments} | tojson }}</call>{% endfor %}<|im_end|>\n{% endif %}"
    + "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"

  private static let row =
    #"{"tools": [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}], "messages": ["#
    + #"{"role": "user", "content": "the city?"}, "#
    + #"{"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function", "#
    + #""function": {"name": "get_weather", "arguments": "{\"city\": \"Rome\"}"}}]}, "#
    + #"{"role": "tool", "tool_call_id": "1", "content": "sunny"}, {"role": "assistant", "content": "It is sunny."}]}"#

  private func conversation(_ row: String, answers: RowOptions.Answers = .all) throws -> Conversation {
    let data = try read(row + "\n", as: "d.jsonl") { $0.answers = answers }
    guard case .conversation(let conversation)? = data.train.first else { throw RowFault.noMessages }
    return conversation
  }

  private func format(_ jinja: String?, _ maximum: Int = 4096) throws -> ConversationFormat {
    ConversationFormat(
      tokenizer: try #require(Self.tokenizer), jinja: try jinja.map { try JinjaChatTemplate(jinja: $0) }, maximumTokens: maximum)
  }

  private func text(_ example: TokenizedExample, _ role: TokenRole) throws -> String {
    try #require(Self.tokenizer).decode(
      zip(example.tokens, example.roles).filter { $0.1 == role }.map(\.0), skippingSpecialTokens: false)
  }

  @Test("arguments become objects, results keep their role, and words stand for both")
  func rows() throws {
    let talk = try conversation(Self.row)
    let use = try #require(talk.toolUse)
    #expect(use.messages[1]["tool_calls"]?.array?[0]["function"]?["arguments"] == ["city": "Rome"])
    #expect(use.messages[2] == ["role": "tool", "content": "sunny", "tool_call_id": "1"])
    #expect(talk.messages.map(\.role) == [.user, .assistant, .user, .assistant] && talk.answers == [1, 3])
    #expect(talk.messages[1].content.contains("get_weather"))
    #expect(try conversation(Self.row, answers: .last).answers == [3])
    let other = try conversation(Self.row.replacing("sunny\"}", with: "rainy\"}"))
    #expect(other.digest != talk.digest)
    #expect(try conversation(Self.row.replacing("\"parameters\"", with: "\"strict\"")).digest != talk.digest)
    // Empty lists say nothing.
    let plain = try conversation(
      #"{"tools": [], "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "tool_calls": []}]}"#)
    #expect(plain.toolUse == nil)
  }

  @Test("calls and answers are learnt; tools, questions and results are given")
  func learnt() throws {
    let example = try format(Self.template).encode(try conversation(Self.row))
    let call = #"<call>{"name": "get_weather", "arguments": {"city": "Rome"}}</call>"#
    #expect(try text(example, .content) == call + "It is sunny.")
    #expect(try text(example, .scaffolding) == "<|im_end|>\n<|im_end|>\n")
    #expect(
      try text(example, .given)
        == "<|im_start|>system\n" + #"{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}"#
        + "\n<|im_end|>\n<|im_start|>user\nthe city?<|im_end|>\n<|im_start|>assistant\n"
        + "<|im_start|>user\n<result>sunny</result><|im_end|>\n<|im_start|>assistant\n")
    let last = try format(Self.template).encode(try conversation(Self.row, answers: .last))
    #expect(last.tokens == example.tokens)
    #expect(try text(last, .content) == "It is sunny.")
    // Thoughts that a template writes before an answer are no part of it.
    let thinking = Self.template.replacing(
      "<|im_start|>{{ m.role }}\n{{ m.content }}",
      with: "<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' %}<think></think>{% endif %}{{ m.content }}")
    let thought = try format(thinking).encode(try conversation(Self.row))
    #expect(try text(thought, .content) == call + "It is sunny.")
    #expect(try text(thought, .scaffolding).hasPrefix("<think></think><|im_end|>"))
    // A call that ends in another way than an answer is learnt whole.
    let other = Self.template.replacing(
      "</call>{% endfor %}<|im_end|>\n", with: "</call>{% endfor %}{{ '<eom>' if m.tool_calls else '<|im_end|>' }}")
    #expect(try text(format(other).encode(try conversation(Self.row)), .content) == call + "<eom>It is sunny.")
  }

  @Test("turns that do not fit are left out")
  func tooLong() throws {
    let whole = try format(Self.template).encode(try conversation(Self.row))
    let cut = try format(Self.template, whole.tokens.count - 1).encode(try conversation(Self.row))
    #expect(try text(cut, .content).hasSuffix("</call>") && cut.truncatedTokens > 0 && whole.tokens.starts(with: cut.tokens))
    #expect(throws: ConversationError.tooLong(location: "d.jsonl:1", limit: 8)) {
      try format(Self.template, 8).encode(try conversation(Self.row))
    }
  }

  @Test("a template that leaves something out, or refuses it, is refused with the row")
  func refused() throws {
    func fault(_ jinja: String?) throws -> String {
      let (format, talk) = (try format(jinja), try conversation(Self.row))
      do throws(ConversationError) {
        _ = try format.encode(talk)
        return ""
      } catch { return error.description }
    }
    func unwritten(_ what: String) -> String {
      "'d.jsonl:1': the model's chat template does not write \(what), so that it cannot be learnt; take the row out, or train a model whose "
        + "template knows tools"
    }
    #expect(
      try fault(nil)
        == "'d.jsonl:1': the model has no chat template by which tools and their calls are written; take them out, or train a model that has one"
    )
    #expect(try fault(Self.template.replacing("{{ tool | tojson }}", with: "")) == unwritten("tools"))
    #expect(try fault(Self.template.replacing("call.function.arguments}", with: "'x'}")) == unwritten("calls of tools"))
    #expect(try fault(Self.template.replacing("call.function.name", with: "'x'")) == unwritten("calls of tools"))
    #expect(try fault(Self.template.replacing("<result>{{ m.content }}", with: "<result>")) == unwritten("what tools gave"))
    #expect(
      try fault(Self.template.replacing("<|im_start|>assistant\n{% endif %}", with: "=> {% endif %}"))
        == unwritten("an answer or a call behind the prompt for it"))
    let message = try fault("{{ raise_exception('one call at once') }}")
    #expect(message.hasPrefix("'d.jsonl:1': the model's chat template refuses these tools or calls: "), "\(message)")
  }
}
