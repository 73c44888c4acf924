#if FoundationModelsMacros
  import Testing

  /// The arguments of `@Guide` in the schema.
  @Suite struct GuideTests {
    @Test(
      "expressions are spliced as they are written",
      arguments: [
        (#"@Guide(description: "Its name")"#, #"description: "Its name", type: String.self"#),
        (
          #"@Guide(description: "Its" + suffix(of: 3), .anyOf(Self.words))"#,
          #"description: "Its" + suffix(of: 3), type: String.self, guides: [.anyOf(Self.words)]"#
        ),
        (#"@Guide(description: nil, .constant("a"))"#, #"type: String.self, guides: [.constant("a")]"#),
        ("@Guide(/[A-Z]{3}-\\d{4}/)", "type: String.self, guides: [/[A-Z]{3}-\\d{4}/]"),
        (#"@Guide(description: "d", pattern)"#, #"description: "d", type: String.self, guides: [pattern]"#),
        ("@Guide(.pattern(/a/))", "type: String.self, guides: [.pattern(/a/)]"),
        (#"@FoundationModels.Guide(.anyOf(["a", "b"]))"#, #"type: String.self, guides: [.anyOf(["a", "b"])]"#),
        (#"@Guide(.pattern(/a/)) @Guide(description: "d")"#, #"description: "d", type: String.self, guides: [.pattern(/a/)]"#),
        (#"@Guide(/a/) @Guide(.anyOf(["a"]))"#, #"type: String.self, guides: [.pattern(/a/), .anyOf(["a"])]"#),
        ("@Other.Guide(.pattern(/a/)) @State", "type: String.self"),
      ])
    func splicing(attribute: String, arguments: String) {
      let expanded = Expanded("@Generable struct S { \(attribute) var x: String }")
      #expect(expanded.isValid)
      #expect(expanded.lines.contains(#"FoundationModels.GenerationSchema.Property(name: "x", \#(arguments)),"#))
    }

    @Test func severalGuides() {
      let expanded = Expanded(
        "@Generable struct S { @Guide(.minimumCount(1), .maximumCount(3), .element(.range(1...shared))) var x: [Int]? }")
      #expect(
        expanded.lines.contains(
          #"FoundationModels.GenerationSchema.Property(name: "x", type: [Int]?.self, "#
            + "guides: [.minimumCount(1), .maximumCount(3), .element(.range(1...shared))]),"))
    }

    @Test func aTextOfSeveralLinesKeepsItsIndentation() {
      let expanded = Expanded(
        #"""
        @Generable(
          description: """
            A text
              of lines
            """
        )
        struct S {}
        """#)
      #expect(expanded.isValid)
      #expect(expanded.lines.contains(#"description: """"#) && expanded.lines.contains("of lines"))
    }

    @Test func aGuideItselfAddsNothing() {
      let expanded = Expanded("struct S {\n  @Guide(description: \"No effect\") var x: String\n}")
      #expect(expanded.text == "struct S {\n  var x: String\n}")
      #expect(expanded.errors.isEmpty)
    }
  }
#endif
