import FoundationModels
import RegexBuilder
import Testing

/// Texts made under a pattern match it in Swift.
@Suite struct RegexMatchTests {
  private static let patterns = [
    #"[a-z]{3,8}"#, #"\d{4}-\d{2}-\d{2}"#, #"(?i)yes|no"#, #"[A-Z][a-z]+( [A-Z][a-z]+){0,2}"#, #"\w+@\w+\.(com|org)"#, #"#[0-9a-fA-F]{6}"#,
    #"(\+\d{1,3} )?\d{3}-\d{4}"#, #"[^a-z]{1,4}"#, #"\S{1,6}"#, #"\W{1,3}"#, #"a?b*c+"#, #"(ab|cd){2}"#, #"[[a-z]--[aeiou]]{3}"#,
    #"[a-z&&[^m-z]]{2,5}"#, #"\h{1,2}x"#, #"(?x) a b # both"#, #"[[:alpha:]]{2}"#, #"\Qa.b\E(x)?"#, #"(?<year>19|20)\d\d"#, #"x{,3}y"#,
    #"(?s:.){1,3}"#, #".{1,5}"#, #"[\w.]{1,8}"#, #"\D{2}"#, #"[^\d\s]{1,4}"#, #"\R?z"#, #"(a|b|)c"#, #"(?:a{2}){2}"#, #"[-a]{2}"#,
    #"^start$"#,
    #"\Aend\z"#, #"[\u{3b1}-\u{3c9}]{2}"#, #"é+"#, #"(?i)[k-m]{2}"#, #"(?i)straße"#, #"[^\W_]{2}"#, #"(?m)^a$"#,
    #"\p{Lu}\p{Ll}{1,3}"#, #"[\p{L}\p{Nd}]{1,4}"#, #"\P{L}{1,3}"#, #"[^\p{P}\p{Z}]{1,4}"#,
  ]

  @Test("what a pattern lets a model write it matches", arguments: patterns)
  func sound(_ pattern: String) async throws {
    let regex = try Regex(pattern)
    let test = try TestModel()
    let dynamic = DynamicGenerationSchema(type: String.self, guides: [.pattern(regex)])
    let schema = try GenerationSchema(root: dynamic, dependencies: [])
    var texts: Set<String> = []
    for seed in 0..<12 {
      let options = GenerationOptions(sampling: .random(top: 200, seed: UInt64(seed)), temperature: 3, maximumResponseTokens: 60)
      let answer = try await LanguageModelSession(model: test.model).respond(to: "x", schema: schema, options: options)
      let text = try answer.content.value(String.self)
      // Scalars are counted, where Swift counts characters.
      guard text.count == text.unicodeScalars.count else { continue }
      #expect(try regex.wholeMatch(in: text) != nil, "\(pattern) made \(text.debugDescription)")
      texts.insert(text)
    }
    #expect(!texts.isEmpty)
  }

  @Test func builtExpressions() async throws {
    let date = Regex {
      Capture {
        Repeat(.digit, count: 4)
      }
      "-"
      Capture {
        ChoiceOf {
          "jan"
          "feb"
        }
      }
      Optionally {
        " "
        OneOrMore(.word.subtracting(.digit))
      }
      ZeroOrMore(CharacterClass.anyOf("!?").union("."..."/"))
    }
    let test = try TestModel()
    let schema = try GenerationSchema(
      root: DynamicGenerationSchema(type: String.self, guides: [.pattern(date)]), dependencies: [])
    for seed in 0..<12 {
      let options = GenerationOptions(sampling: .random(top: 200, seed: UInt64(seed)), temperature: 3, maximumResponseTokens: 60)
      let text = try await LanguageModelSession(model: test.model).respond(to: "x", schema: schema, options: options).content
        .value(String.self)
      #expect(text.wholeMatch(of: date) != nil, "\(text.debugDescription)")
    }
  }
}
