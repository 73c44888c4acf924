#if FoundationModelsMacros
  import Testing

  /// The arguments of `@Generable`, and the modifiers and attributes of the type.
  @Suite struct OptionTests {
    @Test(
      "nil is left out, written, or either",
      arguments: [
        ("", "if let value { properties.append((name, value)) }"),
        ("(representNilExplicitlyInGeneratedContent: false)", "if let value { properties.append((name, value)) }"),
        ("(representNilExplicitlyInGeneratedContent: true)", "properties.append((name, value))"),
        ("(representNilExplicitlyInGeneratedContent: flag)", "if value != nil || representsNil { properties.append((name, value)) }"),
      ])
    func explicitNil(arguments: String, statement: String) throws {
      let lines = Expanded("@Generable\(arguments) struct S { var x: Int? }").lines
      let index = try #require(lines.firstIndex { $0.hasPrefix("func append") && $0.contains("?)") })
      #expect(lines[index + 1] == statement)
      #expect(lines.contains("let representsNil: Swift.Bool = flag") == arguments.contains("flag"))
      #expect(lines.count { $0.hasPrefix("representNilExplicitlyInGeneratedContent: ") } == (arguments.isEmpty ? 0 : 1))
    }

    @Test func aNameIsTheFirstArgumentAfterTheType() {
      let structure = Expanded(#"@Generable(name: "A name", description: text) struct S { var x: Int }"#)
      #expect(structure.text.contains("type: Self.self,\n      name: \"A name\",\n      description: text,\n      properties: ["))
      let choice = Expanded(#"@Generable(name: "A name") enum E { case a }"#)
      #expect(choice.text.contains("type: Self.self,\n      name: \"A name\",\n      anyOf: [\"a\"]"))
      let union = Expanded(
        #"@Generable(name: "A name", description: "D", representNilExplicitlyInGeneratedContent: true) enum E { case a(Int) }"#)
      #expect(
        union.text.contains("type: Self.self,\n      name: \"A name\",\n      description: \"D\",\n      anyOf: [DiscriminatedA.self]"))
      #expect(union.lines.count { $0 == "name: \"A name\"," } == 1)
      #expect(union.lines.count { $0 == "representNilExplicitlyInGeneratedContent: true," } == 1)
    }

    @Test("members are as visible as the type", arguments: [("public ", "public "), ("package ", "package "), ("private ", ""), ("", "")])
    func access(modifier: String, members: String) {
      let structure = Expanded("@Generable \(modifier)struct S { var x: Int }")
      for line in [
        "nonisolated \(members)static var generationSchema: FoundationModels.GenerationSchema {",
        "nonisolated \(members)var generatedContent: FoundationModels.GeneratedContent {",
        "nonisolated \(members)struct PartiallyGenerated: Swift.Identifiable, "
          + "nonisolated FoundationModels.ConvertibleFromGeneratedContent {",
        "\(members)var id: FoundationModels.GenerationID", "\(members)var x: Int.PartiallyGenerated?",
      ] { #expect(structure.lines.contains(line)) }
      #expect(structure.lines.count { $0 == "nonisolated \(members)init(_ content: FoundationModels.GeneratedContent) throws {" } == 2)
      let union = Expanded("@Generable \(modifier)enum E { case a(Int) }")
      #expect(
        union.lines.contains(
          "nonisolated \(members)enum PartiallyGenerated: nonisolated FoundationModels.ConvertibleFromGeneratedContent {"))
      #expect(union.lines.contains("nonisolated private struct DiscriminatedA: nonisolated FoundationModels.Generable {"))
    }

    @Test func anExtensionGivesItsMembersItsAccess() {
      let expanded = Expanded("public extension Outer {\n  @Generable struct S { var x: Int }\n}")
      #expect(expanded.text.contains("nonisolated public static var generationSchema"))
      let stated = Expanded("public extension Outer {\n  @Generable internal struct S { var x: Int }\n}")
      #expect(stated.text.contains("nonisolated static var generationSchema"))
      let setter = Expanded("@Generable public private(set) struct S {}")
      #expect(setter.text.contains("nonisolated public static var generationSchema"))
    }

    @Test func availabilityIsThatOfTheTypeAndOfThoseAroundIt() {
      let expanded = Expanded(
        """
        @available(macOS 26, *) enum Outer {
          @available(macOS 27, *) @available(iOS, unavailable) @Generable struct S {}
        }
        """)
      #expect(
        expanded.text.contains(
          """
          @available(macOS 26, *)
          @available(macOS 27, *)
          @available(iOS, unavailable)
          extension Outer.S: nonisolated FoundationModels.Generable {
          """))
    }

    @Test func theModuleMayBeNamed() {
      #expect(Expanded("@FoundationModels.Generable struct S { var x: Swift.Int }").errors.isEmpty)
    }
  }
#endif
