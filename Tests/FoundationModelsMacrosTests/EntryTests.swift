#if FoundationModelsMacros
  import Testing

  /// `@SessionPropertyEntry`, as text.
  @Suite struct EntryTests {
    @Test(
      "a variable reads and writes its key, which has the value that sessions begin with",
      arguments: [
        ("var step: Step = .shopping", "static var defaultValue: Step { .shopping }"),
        ("public var step = 3", "static let defaultValue = 3"),
        ("var step: Step?", "static var defaultValue: Step? { nil }"),
      ])
    func expands(declaration: String, value: String) {
      let expanded = Expanded("extension SessionPropertyValues {\n  @SessionPropertyEntry \(declaration)\n}")
      #expect(expanded.errors.isEmpty && expanded.isValid)
      let text = expanded.text.filter { !$0.isWhitespace }
      #expect(text.contains(value.filter { !$0.isWhitespace }))
      #expect(text.contains("get{self[__Key_step.self]}set{self[__Key_step.self]=newValue}"))
      #expect(expanded.lines.contains("private nonisolated struct __Key_step: FoundationModels.SessionPropertyKey {"))
    }

    @Test(
      "what has no value of its own cannot be kept",
      arguments: ["var step: Step", "let step = 3", "static var step = 3", "var step: Int { 3 }", "func step() {}"])
    func reports(declaration: String) {
      let expanded = Expanded("extension SessionPropertyValues {\n  @SessionPropertyEntry \(declaration)\n}")
      #expect(expanded.errors.allSatisfy { $0.contains("'@SessionPropertyEntry' can only be used on a variable with a value") })
      #expect(!expanded.text.contains("__Key_"))
    }
  }
#endif
