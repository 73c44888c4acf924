import DibitJSON
import Testing

@testable import DibitTokenizer

@Suite struct ToolCallFormTests {
  private func form(_ template: String) throws -> ToolCallForm? {
    ToolCallForm(try JinjaChatTemplate(jinja: template, specialTokens: [("bos_token", "<s>"), ("eos_token", "</s>")]))
  }

  /// Offers tools, says messages, and writes calls as `calls` does.
  private func template(calls: String, ending: String = "<end>") -> String {
    """
    {% if tools %}[TOOLS]{{ tools | tojson }}{% endif %}{% for message in messages %}<{{ message.role }}>{% if message.tool_calls %}\(calls)\
    {% else %}{{ message.content }}{% endif %}\(ending){% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}
    """
  }

  @Test("calls between tags: what begins, parts and ends them")
  func tags() throws {
    let calls = """
      {% for call in message.tool_calls %}{% if not loop.first %}\\n{% endif %}<tool_call>\\n{"name": "{{ call.function.name }}", \
      "arguments": {{ call.function.arguments | tojson }}}\\n</tool_call>{% endfor %}
      """.replacing("\\n", with: "{{ '\\n' }}")
    let form = try #require(try form(template(calls: calls)))
    #expect(form.opening == "<tool_call>\n{\"name\": \"" && form.middle == "\", \"arguments\": ")
    #expect(form.separator == "}\n</tool_call>\n<tool_call>\n{\"name\": \"" && form.closing == "}\n</tool_call>")
    #expect(form.marker == "<tool_call>")
  }

  @Test("one call as bare JSON, and a template that refuses two")
  func bare() throws {
    let calls = """
      {% if message.tool_calls | length > 1 %}{{ raise_exception('one call only') }}{% endif %}{"name": "{{ message.tool_calls[0].function.name }}", \
      "parameters": {{ message.tool_calls[0].function.arguments | tojson }}}
      """
    let form = try #require(try form(template(calls: calls)))
    #expect(form.opening == "{\"name\": \"" && form.marker == form.opening && form.middle == "\", \"parameters\": ")
    #expect(form.separator == nil && form.closing == "}")
  }

  @Test("a list of calls with identifiers behind a control token")
  func list() throws {
    let calls = """
      [TOOL_CALLS] [{% for call in message.tool_calls %}{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}, \
      "id": "{{ call.id }}"}{% if not loop.last %}, {% endif %}{% endfor %}]
      """
    let form = try #require(try form(template(calls: calls, ending: "</s>")))
    #expect(form.opening == "[TOOL_CALLS] [{\"name\": \"" && form.marker == "[TOOL_CALLS]")
    #expect(form.separator?.hasSuffix("}, {\"name\": \"") == true && form.closing.hasSuffix("\"}]"))
  }

  @Test(
    "templates that write no calls, no tools, arguments before names or as text have none",
    arguments: [
      "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}",
      "{% for m in messages %}{{ m.content }}{% if m.tool_calls %}{{ m.tool_calls | tojson }}{% endif %}{% endfor %}",
      """
      {{ tools | tojson }}{% for m in messages %}{% if m.tool_calls %}{"arguments": {{ m.tool_calls[0].function.arguments | tojson }}, "name": \
      "{{ m.tool_calls[0].function.name }}"}{% else %}{{ m.content }}{% endif %};{% endfor %}
      """,
      """
      {{ tools | tojson }}{% for m in messages %}{% if m.tool_calls %}{{ m.tool_calls[0].function.name }}\
      ({{ m.tool_calls[0].function.arguments | tojson | tojson }}){% else %}{{ m.content }}{% endif %};{% endfor %}
      """,
      "{{ raise_exception('no') }}",
    ])
  func none(template: String) throws { #expect(try form(template) == nil) }
}
