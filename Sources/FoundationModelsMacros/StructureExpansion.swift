#if FoundationModelsMacros
  internal import SwiftSyntax

  /// A structure: generated content has a part for each stored property.
  struct StructureExpansion: Expansion {
    let target: Target
    private let properties: PropertyList
    /// True where the structure says that it is identifiable: how its partial type is identified is then the client's to say.
    private let isIdentifiable: Bool

    /// Reads a structure.
    init(_ declaration: StructDeclSyntax, target: Target) {
      self.target = target
      properties = PropertyList(
        members: Conditional.members(of: declaration.memberBlock.members, Property.properties), options: target.options,
        discriminator: nil)
      isIdentifiable =
        declaration.inheritanceClause?.inheritedTypes.contains {
          ["Identifiable", "Swift.Identifiable"].contains($0.type.trimmedDescription)
        } ?? false
    }

    func writeSchema(to text: inout SourceText) { properties.writeSchema(to: &text) }

    func writeContent(to text: inout SourceText) { properties.writeContent(to: &text) }

    func writeInitializer(to text: inout SourceText) { properties.writeAssignments(to: &text) }

    func nestedTypes() -> [String] {
      guard !target.declaresPartialType else { return [] }
      let hasIdentity = properties.identity != nil
      let declaresID = properties.generated.flatMap(\.elements).contains { $0.name == "id" }
      let addsIdentity = hasIdentity || !declaresID && !isIdentifiable
      let identifiable = addsIdentity ? "Swift.Identifiable, " : ""
      let head = "nonisolated \(target.access)struct PartiallyGenerated"
      let partial = SourceText.of { text in
        text.block("\(head): \(identifiable)nonisolated FoundationModels.ConvertibleFromGeneratedContent") { text in
          if addsIdentity { text.line("\(target.access)var id: FoundationModels.GenerationID") }
          text.each(properties.generated) { text, property in
            text.line("\(target.access)var \(property.identifier): \(property.type.partial(in: target.identifier))")
          }
          text.block("nonisolated \(target.access)init(_ content: FoundationModels.GeneratedContent) throws") { text in
            if addsIdentity { text.line("self.id = content.id ?? FoundationModels.GenerationID()") }
            text.each(properties.generated) { text, property in
              text.line("self.\(property.identifier) = try content.value(forProperty: \(property.name.literal))")
            }
          }
        }
      }
      return [partial]
    }
  }
#endif
