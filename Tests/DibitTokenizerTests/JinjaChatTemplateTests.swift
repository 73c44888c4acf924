internal import DibitJSON
internal import DibitJinja
internal import DibitTokenizer
internal import Testing

@Suite struct JinjaChatTemplateTests {
  private let source = """
    {{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.thinking }}{{ m.content | trim }}{% endfor %}
    {%- if add_generation_prompt %}<assistant>{% endif %}{{ tools | length if tools else '' }}{{ style }}
    """

  @Test func rendersMessages() throws {
    let template = try JinjaChatTemplate(jinja: source, specialTokens: [("bos_token", "<s>")])
    let messages = [ChatMessage(role: .system, content: "Be kind. "), ChatMessage(role: .user, content: "Hello")]
    #expect(try template.render(messages) == "<s><system>Be kind.<user>Hello<assistant>")
    let reasoning: JSONValue = ["role": "assistant", "content": "Yes", "reasoning": "Hm. "]
    let text = try template.render([reasoning], addingGenerationPrompt: false, tools: [1, 2], variables: [("style", "!")])
    #expect(text == "<s><assistant>Hm. Yes2!")
  }

  @Test func datesComeFromTheCaller() throws {
    let template = try JinjaChatTemplate(jinja: "{{ strftime_now('%d %b %Y, %A') }}")
    #expect(try template.render([ChatMessage](), clock: JinjaClock(year: 2024, month: 2, day: 29)) == "29 Feb 2024, Thursday")
    #expect(throws: JinjaError.self) { try template.render([ChatMessage]()) }
    #expect(JinjaClock(year: 2023, month: 2, day: 29) == nil)
  }

  @Test func listsOfTemplatesAreChosenFrom() {
    let list: JSONValue = [["name": "default", "template": "a"], ["name": "tool_use", "template": "b"]]
    #expect(JinjaChatTemplate.source(in: "x") == "x")
    #expect(JinjaChatTemplate.source(in: list) == "a")
    #expect(JinjaChatTemplate.source(in: list, offersTools: true) == "b")
    #expect(JinjaChatTemplate.source(in: list, name: "tool_use") == "b")
    #expect(JinjaChatTemplate.source(in: list, name: "rag") == nil)
    #expect(JinjaChatTemplate.source(in: 1) == nil)
  }
}
