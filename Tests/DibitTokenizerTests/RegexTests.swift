@testable internal import DibitTokenizer
internal import Testing

@Suite struct RegexTests {
  private func match(_ pattern: String, _ text: String, at start: Int = 0) throws -> Int? {
    let bytes = Array(text.utf8)
    return try RegexProgram(parsing: pattern).matchEnd(in: ScalarScanner(bytes: bytes, end: bytes.count), at: start)
  }

  @Test(
    "matches end where Oniguruma's do",
    arguments: [
      ("a|ab", "ab", 1), ("a+?b", "aab", 3), ("a*+b", "aab", 3), ("a++a", "aaa", nil), ("(?:ab|a)b", "ab", 2), ("(?:ab|a)b", "abb", 3),
      (#"\s+(?!\S)"#, "   x", 2), (#"\s+(?!\S)"#, " x", nil), (#"\s+(?!\S)"#, "  ", 2), (#"\s+$"#, "  \n a", 2),
      (#"a{2,3}"#, "aaaa", 3), ("a{2}", "a", nil), ("a{1,3}+", "aaaaa", 5), ("(?i:'ST)", "'sT", 3), ("(?i:'s)", "'\u{17F}", 3),
      ("(?i:k)", "\u{212A}", 3), (#"[^\r\n\p{L}]"#, "é", nil), (#"[\p{L}\p{M}]+"#, "e\u{301}x1", 4), (#"\P{L}+"#, "12a", 2),
      (#"\p{^L}+"#, "12a", 2), (#"[\S]+"#, "ab c", 2), (#"[a\-z]+"#, "-az.", 3), (#"[一-龥]+"#, "世界x", 6), (#"\x41\u0042"#, "AB", 2),
      (#"\A +"#, "  a", 2), (#"a\z"#, "ab", nil), (#"(a|b)+c"#, "ababc", 5), ("(?=ab)a", "ab", 1), ("(?=ab)a", "ac", nil), (".+", "é\n", 2),
    ] as [(String, String, Int?)])
  func matches(pattern: String, text: String, end: Int?) throws {
    #expect(try match(pattern, text) == end)
  }

  @Test(
    "what is not supported is refused with the reason",
    arguments: [
      ("(a", "a '(' is not closed"), ("a)", "a ')' closes nothing"), ("*a", "'*' repeats nothing"),
      ("a{2}{3}", "a repetition follows a repetition"),
      (#"\w"#, "the escape '\\w' is not supported"), (#"\p{Han}"#, "the property 'Han' is not supported"),
      ("(?<=a)b", "it has a group of a kind that is not supported"), ("[]", "a class is empty"), ("[z-a]", "a range in a class is empty"),
      ("[a&&b]", "it intersects classes"), ("[[a]]", "a class holds a class"), ("a{2}+", "'+' follows an interval"),
      ("a{2}?", "'?' follows an interval"), ("a{3,2}", "an interval is empty"), ("a{b", "a '{' starts no interval"),
      ("a*", "it can match nothing"), ("(?:a*)+", "it repeats something that can match nothing"), (#"a\"#, "it ends in '\\'"),
      ("(?i:é)", "it folds the case of a letter outside ASCII"), (#"\xZZ"#, "an escape names no scalar"), ("[a", "it ends too early"),
      (String(repeating: "(?:", count: 40) + "a", "its groups are nested too deeply"),
      ("(?:(?:a{900}){900}){900}", "it needs more than 2000 steps"),
      (String(repeating: "a", count: 5000), "it is longer than 4096 characters"),
    ])
  func refused(pattern: String, reason: String) {
    #expect(throws: RegexParser.Fault(reason: reason)) { try RegexProgram(parsing: pattern) }
  }

  @Test("no pattern takes exponential time", .timeLimit(.minutes(10)))
  func noCatastrophe() throws {
    let text = String(repeating: "a", count: 300)
    for pattern in ["(?:a|a)+b", "(?:a+)+b", "(?:a|aa)+b", "(?:(?:a+)+)+b", "a+a+a+b", "(?:a?a?a?a?a)+b"] {
      #expect(try match(pattern, text) == nil, "\(pattern)")
    }
  }

  @Test("the patterns matched by hand are those that the engine matches")
  func handMatched() throws {
    let texts = try SpanGolden.texts()
    for pattern in [SplitPattern.gpt2, .llama3, .qwen2, .o200k] {
      let regex = SplitPattern.regex(of: pattern)
      #expect(SplitPattern(regex: regex) == pattern)
      let program = try RegexProgram(parsing: regex)
      for text in texts {
        let bytes = Array(text.utf8)
        let scanner = ScalarScanner(bytes: bytes, end: bytes.count)
        var start = 0
        while start < bytes.count {
          let end = pattern.matchEnd(in: scanner, at: start)
          #expect(program.matchEnd(in: scanner, at: start) == end, "\(pattern) \(text.debugDescription) \(start)")
          start = end
        }
      }
    }
  }
}
