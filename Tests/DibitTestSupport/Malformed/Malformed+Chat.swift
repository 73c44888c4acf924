internal import DibitJSON

extension MalformedFile {
  /// Chat templates that reach out of their sandbox, never end, or are no templates.
  static var chats: [MalformedFile] {
    func template(_ description: String, _ text: String, says: String) -> MalformedFile {
      let json: JSONValue = ["chat_template": .string(text)]
      return MalformedFile(
        "chat template: " + description, [(name: "tokenizer_config.json", bytes: Array(json.serialized().utf8))], for: .chat, says: says)
    }
    func nested(_ open: String, _ close: String, _ count: Int) -> String {
      String(repeating: open, count: count) + String(repeating: close, count: count)
    }
    return [
      template("a macro that calls itself", "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", says: "chat template"),
      template(
        "two macros that call each other", "{% macro f() %}{{ g() }}{% endmacro %}{% macro g() %}{{ f() }}{% endmacro %}{{ f() }}",
        says: "chat template"),
      template("100,000 parentheses", "{{ " + nested("(", ")", 100_000) + " }}", says: "chat template"),
      template("100,000 lists", "{{ " + nested("[", "]", 100_000) + " }}", says: "chat template"),
      template("10,000 conditions", nested("{% if true %}", "{% endif %}", 10_000), says: "chat template"),
      template("100,000 times not", "{{ " + String(repeating: "not ", count: 100_000) + "x }}", says: "chat template"),
      template("attributes of Python (CVE-2024-34359)", "{{ ''.__class__.__mro__[1].__subclasses__() }}", says: "chat template"),
      template("globals of a function", "{{ raise_exception.__globals__['os'].system('true') }}", says: "chat template"),
      template("an object's frame", "{{ self._TemplateReference__context.cycler.__init__ }}", says: "chat template"),
      template("a file of this machine", "{% include '/etc/passwd' %}", says: "include"),
      template("another template", "{% extends 'base' %}", says: "extends"),
      template("an import", "{% import 'os' as os %}", says: "import"),
      template("a range of 10^12", "{{ range(1000000000000) | list }}", says: "chat template"),
      template("text of 10^12 characters", "{{ 'a' * 1000000000000 }}", says: "chat template"),
      template(
        "text of 10^12 characters by joining", "{% for a in range(99999) %}{% for b in range(99999) %}ab{% endfor %}{% endfor %}",
        says: "chat template"),
      template("a number of 10^10 digits", "{{ 10 ** 10 ** 10 }}", says: "chat template"),
      template("a centred text of 10^12", "{{ 'a' | center(1000000000000) }}", says: "chat template"),
      template("division by zero", "{{ 1 // 0 }}", says: "chat template"),
      template("an unfinished block", "{% for m in messages %}", says: "chat template"),
      template("an unfinished expression", "{{ messages", says: "chat template"),
      template("a filter that is not known", "{{ messages | system }}", says: "system"),
      MalformedFile(
        "chat template: no JSON", [(name: "tokenizer_config.json", bytes: Array("{\"chat_template\":".utf8))], for: .chat,
        says: "tokenizer_config.json"),
    ]
  }
}
