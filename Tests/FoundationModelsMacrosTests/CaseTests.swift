#if FoundationModelsMacros
  import Testing

  /// The names that cases and their values have in generated content.
  @Suite struct CaseTests {
    @Test(
      "associated values have names",
      arguments: [
        ("a(x: Int, y: Bool)", "\"x\": x, \"y\": y", ".a(x: content.value(forProperty: \"x\"), y: content.value(forProperty: \"y\"))"),
        ("a(Int)", "\"value\": value", ".a(content.value(forProperty: \"value\"))"),
        (
          "a(Int, b: Int, Int)", "\"value\": value, \"b\": b, \"value1\": value1",
          ".a(content.value(forProperty: \"value\"), b: content.value(forProperty: \"b\"), content.value(forProperty: \"value1\"))"
        ),
        ("a(_ inner: Int)", "\"inner\": inner", ".a(content.value(forProperty: \"inner\"))"),
        ("a(repeat: Int)", "\"repeat\": `repeat`", ".a(repeat: content.value(forProperty: \"repeat\"))"),
        ("a(`inout`: Int)", "\"inout\": `inout`", ".a(`inout`: content.value(forProperty: \"inout\"))"),
        ("a(`let`: Int)", "\"let\": `let`", ".a(let: content.value(forProperty: \"let\"))"),
      ])
    func values(declaration: String, parts: String, call: String) {
      let expanded = Expanded("@Generable enum E { case \(declaration) }")
      #expect(expanded.isValid)
      #expect(expanded.text.contains("return FoundationModels.GeneratedContent(properties: [\"type\": \"a\", \(parts)])"))
      #expect(expanded.lines.count { $0 == "case \"a\": self = try \(call)" } == 2)
    }

    @Test func integersAreNoStrings() {
      let expanded = Expanded("@Generable enum E: Int { case poor = 1, excellent = 5 }")
      #expect(expanded.lines.contains(#"anyOf: ["poor", "excellent"]"#))
      #expect(expanded.lines.contains(#"case .poor: return FoundationModels.GeneratedContent("poor")"#))
      #expect(expanded.lines.contains(#"case "excellent": self = .excellent"#))
    }

    @Test func backticksAreNoPartOfAName() {
      let choice = Expanded("@Generable enum E { case `default` }")
      #expect(choice.lines.contains(#"case .`default`: return FoundationModels.GeneratedContent("default")"#))
      let union = Expanded("@Generable enum E { case `default`(Int) }")
      #expect(union.isValid)
      #expect(union.lines.contains("nonisolated private struct DiscriminatedDefault: nonisolated FoundationModels.Generable {"))
      #expect(union.lines.contains("case `default`(Int.PartiallyGenerated?)"))
    }

    @Test func anIndirectEnumerationHasAnIndirectPartialType() {
      let whole = Expanded("@Generable indirect enum Tree { case leaf, node(Self, right: Tree?) }")
      #expect(
        whole.lines.contains(
          "nonisolated indirect enum PartiallyGenerated: nonisolated FoundationModels.ConvertibleFromGeneratedContent {"))
      #expect(whole.lines.contains("case node(Tree.PartiallyGenerated?, right: Tree.PartiallyGenerated?)"))
      #expect(whole.lines.contains("let value: Tree"))
      #expect(Expanded("@Generable enum Tree { indirect case node(Tree) }").lines.contains("indirect case node(Tree.PartiallyGenerated?)"))
    }

    @Test func aPartialTypeOfTheClientStays() {
      let expanded = Expanded("@Generable enum E { case a(Int); enum PartiallyGenerated {} }")
      #expect(!expanded.text.contains("nonisolated enum PartiallyGenerated"))
      #expect(expanded.text.contains("DiscriminatedA"))
    }
  }
#endif
