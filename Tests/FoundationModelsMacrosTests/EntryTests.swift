#if FoundationModelsMacros
  import Testing

  /// `@SessionPropertyEntry`, as text.
  @Suite struct EntryTests {
    @Test(
      "a variable reads and writes its key, which has the value that sessions begin with",
      arguments: [
        ("var step: Step = .shopping", "static var defaultValue: Step = .shopping"),
        ("public var step = 3", "static var defaultValue = 3"),
        ("var step: Step?", "static var defaultValue: Step? = nil"),
      ])
    func expands(declaration: String, value: String) {
      let expanded = Expanded("extension SessionPropertyValues {\n  @SessionPropertyEntry \(declaration)\n}")
      #expect(expanded.errors.isEmpty && expanded.isValid)
      let text = expanded.text.filter { !$0.isWhitespace }
      #expect(text.contains("@FoundationModels.__SessionPropertyEntryDefaultValue" + value.filter { !$0.isWhitespace } + "}"))
      #expect(text.contains("get{self[__Key_step.self]}set{self[__Key_step.self]=newValue}_modify{yield&self[__Key_step.self]}"))
      #expect(expanded.lines.contains("private nonisolated struct __Key_step: FoundationModels.SessionPropertyKey {"))
    }

    @Test("a value is made anew for each session")
    func values() {
      let expanded = Expanded("struct Key {\n  @__SessionPropertyEntryDefaultValue static var defaultValue = Store()\n}")
      #expect(expanded.errors.isEmpty)
      #expect(expanded.text.filter { !$0.isWhitespace } == "structKey{staticvardefaultValue{get{Store()}}}")
    }

    @Test(
      "what cannot be kept is told where it stands",
      arguments: [
        ("var step: Step", "2:29 A property of sessions needs the value that they begin with, unless it is an optional."),
        ("let step = 3", "2:3 '@SessionPropertyEntry' can only be used on a 'var'."),
        ("static var step = 3", "2:25 '@SessionPropertyEntry' cannot be used on a static property."),
        ("var step: Int { 3 }", "2:39 '@SessionPropertyEntry' can only be used on a stored property."),
        ("var (step, stop) = (3, 4)", "2:29 '@SessionPropertyEntry' can only be used on a property with a name of its own."),
      ])
    func reports(declaration: String, message: String) {
      let expanded = Expanded("extension SessionPropertyValues {\n  @SessionPropertyEntry \(declaration)\n}")
      #expect(expanded.errors.contains(message), "\(expanded.errors)")
      #expect(!expanded.text.contains("struct __Key_") || declaration.hasPrefix("static"))
    }

    @Test("a property of something else is none of a session's", arguments: ["struct Values", "extension Values"])
    func elsewhere(place: String) {
      let expanded = Expanded("\(place) {\n  @SessionPropertyEntry var step = 3\n}")
      #expect(expanded.errors.contains("2:3 '@SessionPropertyEntry' can only be used in an extension of 'SessionPropertyValues'."))
      #expect(!expanded.text.contains("struct __Key_"))
    }
  }
#endif
