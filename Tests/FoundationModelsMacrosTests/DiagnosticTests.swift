#if FoundationModelsMacros
  import Testing

  /// What the macros report, and that nothing is reported twice.
  @Suite struct DiagnosticTests {
    @Test(
      "types that cannot be generated",
      arguments: [
        ("class C {}", "1:1 '@Generable' can only be used on structs and enums."),
        ("actor A {}", "1:1 '@Generable' can only be used on structs and enums."),
        ("enum E {}", "1:1 Generable enums must have at least one case."),
        ("enum E {\n  #if DEBUG\n  #endif\n}", "1:1 Generable enums must have at least one case."),
        (
          "struct S: Generable {}",
          "1:1 Type already conforms to 'Generable'. Remove the '@Generable' macro or delete the existing conformance."
        ),
        (
          "enum E: Equatable, FoundationModels.Generable { case a }",
          "1:1 Type already conforms to 'Generable'. Remove the '@Generable' macro or delete the existing conformance."
        ),
        (
          "enum E {\n  case a(Int), b(type: String)\n}",
          "2:16 The associated value 'type' of 'b' needs another label: generated content has the name of the case under 'type'."
        ),
      ])
    func types(declaration: String, error: String) {
      let expanded = Expanded("@Generable " + declaration)
      #expect(expanded.errors == [error])
      #expect(!expanded.text.contains("nonisolated"))
    }

    @Test func aConformanceElsewhere() {
      let expanded = Expanded("@Generable struct S {}", conformances: [])
      #expect(
        expanded.errors == ["1:1 Type already conforms to 'Generable'. Remove the '@Generable' macro or delete the existing conformance."])
      #expect(!expanded.text.contains("extension"))
    }

    @Test(
      "a guide needs a stored property",
      arguments: [
        "var x: String { \"\" }", "var x: Int { get { 1 } set {} }", "static var x: Int = 1", "var x: Int = 1 { didSet {} }",
        "lazy var x: Int = 1", "func x() {}", "struct X {}",
      ])
    func guides(declaration: String) {
      let expanded = Expanded("@Generable struct S {\n  @Guide(description: \"d\") \(declaration)\n}")
      #expect(expanded.errors == ["2:3 '@Guide' can only be used with a stored property."])
    }
  }
#endif
