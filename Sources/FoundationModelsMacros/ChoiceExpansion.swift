#if FoundationModelsMacros
  internal import SwiftSyntax

  /// An enumeration without associated values: generated content is one string of several.
  struct ChoiceExpansion: Expansion {
    let target: Target
    private let cases: [Conditional<EnumerationCase>]
    /// True where the strings are the raw values; the names of the cases otherwise.
    private let hasStrings: Bool

    /// Takes over what is read of an enumeration.
    init(_ declaration: EnumDeclSyntax, cases: [Conditional<EnumerationCase>], target: Target) {
      self.target = target
      self.cases = cases
      hasStrings =
        declaration.inheritanceClause?.inheritedTypes.contains { ["String", "Swift.String"].contains($0.type.trimmedDescription) } ?? false
    }

    private func string(_ element: EnumerationCase) -> String { (hasStrings ? element.rawValue : nil) ?? element.name.literal }

    func writeSchema(to text: inout SourceText) {
      let type = "FoundationModels.GenerationSchema"
      let arguments = target.options.schemaArguments
      guard cases.contains(where: \.isDirective) else {
        return text.call(type, arguments + ["anyOf: [" + cases.flatMap(\.elements).map(string).joined(separator: ", ") + "]"])
      }
      text.line("var choices: [Swift.String] = []")
      text.line("choices.reserveCapacity(\(cases.flatMap(\.elements).count))")
      text.each(cases) { text, element in text.line("choices.append(\(string(element)))") }
      text.line("return \(type)(\((arguments + ["anyOf: choices"]).joined(separator: ", ")))")
    }

    func writeContent(to text: inout SourceText) {
      guard !hasStrings else { return text.line("FoundationModels.GeneratedContent(self.rawValue)") }
      text.line("switch self {")
      text.each(cases) { text, element in
        text.line("case .\(element.identifier): return FoundationModels.GeneratedContent(\(element.name.literal))")
      }
      text.line("}")
    }

    func writeInitializer(to text: inout SourceText) {
      text.line("let string = try content.value(Swift.String.self)")
      guard !hasStrings else {
        text.block("guard let value = Self(rawValue: string) else") { $0.throwUnexpected("value", "string", of: target.name) }
        return text.line("self = value")
      }
      text.line("switch string {")
      text.each(cases) { text, element in text.line("case \(element.name.literal): self = .\(element.identifier)") }
      text.line("default:")
      text.indented { $0.throwUnexpected("value", "string", of: target.name) }
      text.line("}")
    }

    func nestedTypes() -> [String] { [] }
  }
#endif
