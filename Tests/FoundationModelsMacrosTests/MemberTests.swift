#if FoundationModelsMacros
  import Testing

  /// The members of structures that are generated, and those that are not.
  @Suite struct MemberTests {
    @Test func onlyStoredPropertiesWithATypeAreGenerated() {
      let expanded = Expanded(
        """
        @Generable struct S {
          let kept: String
          var defaulted: Int = 42
          var inferred = 1
          let fixed: Int = 3
          static var shared: Bool = true
          lazy var late: Int = 4
          var computed: String { "" }
          var observed: Double = 0 { didSet {} }
          func method() {}
        }
        """)
      #expect(expanded.errors.isEmpty && expanded.isValid)
      #expect(expanded.lines(beginning: "append(") == [#"append("kept", self.kept)"#, #"append("defaulted", self.defaulted)"#])
    }

    @Test func severalNamesOfOneDeclaration() {
      let expanded = Expanded("@Generable struct S { var a, b: Int, c: String?; var d = 1, e: Bool }")
      #expect(
        expanded.lines(beginning: "var ").suffix(5)
          == [
            "var id: FoundationModels.GenerationID", "var a: Int.PartiallyGenerated?", "var b: Int.PartiallyGenerated?",
            "var c: String.PartiallyGenerated?", "var e: Bool.PartiallyGenerated?",
          ])
    }

    @Test func backticksAreNoPartOfAKey() {
      let expanded = Expanded("@Generable struct S { var `default`: String; var `full name`: Int }")
      #expect(expanded.isValid)
      #expect(
        expanded.lines(beginning: "append(") == [#"append("default", self.`default`)"#, #"append("full name", self.`full name`)"#])
      #expect(expanded.text.contains("var `default`: String.PartiallyGenerated?"))
    }

    @Test(
      "a partial type is valid for each spelling",
      arguments: [
        ("Int", "Int.PartiallyGenerated?", "Int.self"), ("Int?", "Int.PartiallyGenerated?", "Int?.self"),
        ("Int!", "Int.PartiallyGenerated?", "Int?.self"), ("(Int)?", "Int.PartiallyGenerated?", "(Int)?.self"),
        ("Optional<Int>", "Optional<Int>.PartiallyGenerated?", "Optional<Int>.self"),
        ("[S]", "[S].PartiallyGenerated?", "[S].self"), ("[Self]?", "[S].PartiallyGenerated?", "[Self]?.self"),
        ("Swift.Int", "Swift.Int.PartiallyGenerated?", "Swift.Int.self"), ("Box<A, B>", "Box<A, B>.PartiallyGenerated?", "Box<A, B>.self"),
        ("any P", "(any P).PartiallyGenerated?", "(any P).self"), ("A & B", "(A & B).PartiallyGenerated?", "(A & B).self"),
      ])
    func types(spelling: String, partial: String, metatype: String) {
      let expanded = Expanded("@Generable struct S { var x: \(spelling) }")
      #expect(expanded.isValid)
      #expect(expanded.lines.contains("var x: \(partial)"))
      #expect(expanded.lines.contains(#"FoundationModels.GenerationSchema.Property(name: "x", type: \#(metatype)),"#))
    }

    @Test func anIDOfTheClientReplacesTheOneOfThePartialType() {
      let stored = Expanded("@Generable struct S { let id: String; var x: Int }")
      #expect(
        stored.lines.contains("nonisolated struct PartiallyGenerated: nonisolated FoundationModels.ConvertibleFromGeneratedContent {"))
      #expect(stored.lines.contains("var id: String.PartiallyGenerated?"))
      #expect(!stored.text.contains("GenerationID"))
      let computed = Expanded(#"@Generable struct S { var id: String { "" } }"#)
      #expect(computed.lines.contains("var id: FoundationModels.GenerationID"))
      let identifiable = Expanded("@Generable struct S: Identifiable { var id: String { name }; var name: String }")
      #expect(!identifiable.text.contains("GenerationID"))
    }

    @Test func aPropertyMayHoldTheIdentifierOfTheContent() {
      let expanded = Expanded("@Generable struct S: Identifiable { var id: GenerationID; var x: Int }")
      #expect(expanded.isValid)
      #expect(expanded.lines(beginning: "append(") == [#"append("x", self.x)"#])
      #expect(!expanded.text.contains(#"name: "id""#))
      #expect(expanded.text.contains("GeneratedContent(properties: properties, id: self.id, uniquingKeysWith:"))
      #expect(expanded.lines.count { $0 == "self.id = content.id ?? FoundationModels.GenerationID()" } == 2)
      #expect(expanded.lines.contains("var id: FoundationModels.GenerationID"))
    }

    @Test(
      "what the client has written is not written again",
      arguments: [
        ("static var generationSchema: GenerationSchema { fatalError() }", "nonisolated static var generationSchema"),
        ("var generatedContent: GeneratedContent { fatalError() }", "nonisolated var generatedContent"),
        ("init(_ content: GeneratedContent) throws {}", "self.x = try content.value(forProperty: \"x\")\n  }\n}"),
        ("struct PartiallyGenerated {}", "struct PartiallyGenerated: "), ("enum PartiallyGenerated {}", "struct PartiallyGenerated"),
        ("class PartiallyGenerated {}", "struct PartiallyGenerated"), ("actor PartiallyGenerated {}", "struct PartiallyGenerated"),
        ("typealias PartiallyGenerated = S", "struct PartiallyGenerated"),
        ("#if DEBUG\n  struct PartiallyGenerated {}\n  #endif", "struct PartiallyGenerated: "),
      ])
    func existing(member: String, expansion: String) {
      #expect(!Expanded("@Generable struct S {\n  \(member)\n  var x: Int\n}").text.contains(expansion))
      #expect(Expanded("@Generable struct S {\n  var x: Int\n}").text.contains(expansion) || expansion == "struct PartiallyGenerated")
    }

    @Test func aMemberOfAnotherNameChangesNothing() {
      let expanded = Expanded("@Generable struct S { static var schema: Int { 1 }; var generationSchema: Int { 1 }; init(_ x: Int) {} }")
      #expect(expanded.text.contains("nonisolated static var generationSchema"))
      #expect(expanded.text.contains("nonisolated init(_ content: FoundationModels.GeneratedContent) throws"))
    }
  }
#endif
