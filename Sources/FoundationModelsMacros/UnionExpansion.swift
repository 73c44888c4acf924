#if FoundationModelsMacros
  internal import SwiftSyntax

  /// An enumeration with associated values: generated content is one structure of several, which says under `type` which it is.
  struct UnionExpansion: Expansion {
    let target: Target
    private let cases: [Conditional<EnumerationCase>]
    private let isIndirect: Bool

    /// Takes over what is read of an enumeration.
    init(_ declaration: EnumDeclSyntax, cases: [Conditional<EnumerationCase>], target: Target) {
      self.target = target
      self.cases = cases
      isIndirect = declaration.modifiers.contains { $0.name.tokenKind == .keyword(.indirect) }
    }

    func writeSchema(to text: inout SourceText) {
      let type = "FoundationModels.GenerationSchema"
      let arguments = target.options.schemaArguments
      guard cases.contains(where: \.isDirective) else {
        let types = cases.flatMap(\.elements).map { $0.structureName + ".self" }.joined(separator: ", ")
        return text.call(type, arguments + ["anyOf: [\(types)]"])
      }
      text.line("var types: [any FoundationModels.Generable.Type] = []")
      text.line("types.reserveCapacity(\(cases.flatMap(\.elements).count))")
      text.each(cases) { text, element in text.line("types.append(\(element.structureName).self)") }
      text.line("return \(type)(\((arguments + ["anyOf: types"]).joined(separator: ", ")))")
    }

    func writeContent(to text: inout SourceText) {
      text.line("switch self {")
      text.each(cases) { text, element in
        let pattern = element.values.isEmpty ? "" : "(" + element.values.map { "let " + $0.identifier }.joined(separator: ", ") + ")"
        let parts = ["\"type\": " + element.name.literal] + element.values.map { "\($0.name.literal): \($0.identifier)" }
        text.line("case .\(element.identifier)\(pattern):")
        text.indented { text in
          text.line("return FoundationModels.GeneratedContent(properties: [\(parts.joined(separator: ", "))])")
        }
      }
      text.line("}")
    }

    func writeInitializer(to text: inout SourceText) {
      text.line("let type = try content.value(Swift.String.self, forProperty: \"type\")")
      text.line("switch type {")
      text.each(cases) { text, element in
        let values = element.arguments { "content.value(forProperty: \($0.name.literal))" }
        text.line("case \(element.name.literal): self = \(values.isEmpty ? "" : "try ").\(element.identifier)\(values)")
      }
      text.line("default:")
      text.indented { $0.throwUnexpected("type", "type", of: target.name) }
      text.line("}")
    }

    func nestedTypes() -> [String] {
      let structures = cases.map { member in
        SourceText.of { text in text.each([member]) { text, element in write(structureOf: element, to: &text) } }
      }
      return structures + (target.declaresPartialType ? [] : [SourceText.of(writePartialType)])
    }

    /// Adds the structure that stands for a case in the schema.
    private func write(structureOf element: EnumerationCase, to text: inout SourceText) {
      let properties = PropertyList(
        members: element.values.map(Conditional.element), options: target.options.ofCase, discriminator: element.name)
      text.block("nonisolated private struct \(element.structureName): nonisolated FoundationModels.Generable") { text in
        for value in element.values { text.line("let \(value.identifier): \(value.type.stored(in: target.identifier))") }
        text.block("static var generationSchema: FoundationModels.GenerationSchema", properties.writeSchema)
        text.block("var generatedContent: FoundationModels.GeneratedContent", properties.writeContent)
        text.block("init(_ content: FoundationModels.GeneratedContent) throws", properties.writeAssignments)
      }
    }

    private func writePartialType(to text: inout SourceText) {
      let indirect = isIndirect ? "indirect " : ""
      let head =
        "nonisolated \(target.access)\(indirect)enum PartiallyGenerated: nonisolated FoundationModels.ConvertibleFromGeneratedContent"
      text.block(head) { text in
        text.each(cases) { text, element in
          let values = element.parameters { $0.type.partial(in: target.identifier) }
          text.line("\(element.isIndirect ? "indirect " : "")case \(element.identifier)\(values)")
        }
        text.block("nonisolated \(target.access)init(_ content: FoundationModels.GeneratedContent) throws", writeInitializer)
      }
    }
  }
#endif
