internal import DibitJSON
internal import DibitJinja
internal import Testing

/// The error of parsing and rendering, or nil.
func failure(_ template: String, _ context: [(String, JSONValue)] = [], limits: JinjaLimits = JinjaLimits()) -> JinjaError? {
  do throws(JinjaError) {
    _ = try JinjaTemplate(parsing: template).render(context, limits: limits)
    return nil
  } catch {
    return error
  }
}

/// The limit that an error is about.
private func exceeded(_ error: JinjaError?) -> JinjaLimit? {
  guard case .limit(_, let limit, _) = error else { return nil }
  return limit
}

@Suite struct HostileTests {
  @Test func nestingIsBounded() {
    for template in [
      "{{ " + String(repeating: "(", count: 100_000) + "1" + String(repeating: ")", count: 100_000) + " }}",
      "{{ " + String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000) + " }}",
      "{{ " + String(repeating: "not ", count: 100_000) + "1 }}",
      "{{ " + String(repeating: "-", count: 100_000) + "1 }}", "{{ 1" + String(repeating: " + 1", count: 100_000) + " }}",
      "{{ x" + String(repeating: ".a", count: 100_000) + " }}", String(repeating: "{% if 1 %}", count: 100_000),
      "{{ " + String(repeating: "1 if 1 else ", count: 50_000) + "1 }}",
    ] {
      guard case .limit(_, .nesting, _) = failure(template) else {
        Issue.record("\(template.prefix(20)) is not refused for its nesting")
        continue
      }
    }
  }

  @Test func workIsBounded() {
    let loops = (0..<6).map { "{% for a\($0) in range(1000) %}" }.joined() + String(repeating: "{% endfor %}", count: 6)
    var limits = JinjaLimits()
    limits.operations = 100_000
    #expect(exceeded(failure(loops, limits: limits)) == .operations)
    let doubling = "{% set ns = namespace(a='aa') %}{% for i in range(100) %}{% set ns.a = ns.a ~ ns.a %}{% endfor %}"
    #expect(exceeded(failure(doubling)) == .textBytes)
    let nested = "{% set ns = namespace(a=[]) %}{% for i in range(1000) %}{% set ns.a = [ns.a] %}{% endfor %}"
    #expect(exceeded(failure(nested)) == .valueDepth)
    #expect(exceeded(failure("{{ 'a' * 10**9 }}")) == .textBytes)
    #expect(exceeded(failure("{{ [1] * 10**9 }}")) == .elements)
    #expect(exceeded(failure("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}")) == .depth)
    #expect(exceeded(failure("{{ 9223372036854775807 + 1 }}")) == .integer)
    #expect(exceeded(failure("{{ (-9223372036854775807 - 1) // -1 }}")) == .integer)
    #expect(exceeded(failure("{{ range(-9223372036854775807, 9223372036854775807)|list }}")) == .range)
  }

  @Test func theSandboxHoldsShut() throws {
    // As in transformers: reading gives nothing, using it is refused.
    #expect(try JinjaTemplate(parsing: "{{ ''.__class__ }}").render([]).isEmpty)
    #expect(failure("{{ ''.__class__.__mro__ }}")?.description.hasSuffix("the attribute '__class__' is refused by the sandbox") == true)
    #expect(failure("{{ [1].append(2) }}")?.description.hasSuffix("the attribute 'append' is refused by the sandbox") == true)
    for template in ["{{ x.__init__ }}", "{{ {}.update({}) }}", "{% set ns = namespace() %}{% set ns._a = 1 %}"] {
      #expect(failure(template) != nil, "\(template)")
    }
  }

  @Test func whatIsNotSupportedIsNamed() {
    #expect(
      failure("a\n{% include 'x' %}")
        == .unsupported(at: JinjaPosition(line: 2, column: 4), "the tag 'include'"))
    for template in [
      "{% import 'x' as y %}", "{% extends 'x' %}", "{% block a %}{% endblock %}", "{{ lipsum() }}", "{{ cycler(1) }}", "{{ '%s' % 1 }}",
      "{{ 'a'.format() }}", "{{ [1]|batch(2) }}", "{{ 'a'|escape }}",
    ] {
      #expect(failure(template)?.description.hasSuffix("lies outside the supported subset of Jinja") == true, "\(template)")
    }
  }

  @Test func brokenTagsAreErrors() {
    for template in [
      "{{", "{%", "{#", "{{ 'a", "{% if", "{% if 1 %}", "{% raw %}", "{{ 1 +", "{{ }}", "{% endif %}", "{% for %}", "{{ a[ }}",
      "{{ \u{0} }}",
    ] {
      guard case .syntax = failure(template) else {
        Issue.record("\(template)")
        continue
      }
    }
    #expect(failure("a\u{0}b") == nil)
  }

  @Test func errorsDoNotTellTheChat() {
    let error = failure(
      "{{ raise_exception('No role ' + messages[0].content) }}", [("messages", .array([["content": "my secret"]]))])
    #expect(error == .raised(at: JinjaPosition(line: 1, column: 19), "No role …"))
  }
}
