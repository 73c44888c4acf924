#if FoundationModelsMacros
  internal import SwiftSyntax
  internal import SwiftSyntaxBuilder
  internal import SwiftSyntaxMacros

  /// `@Generable`: conforms a structure or an enumeration to the protocol of that name.
  ///
  /// The members are declared in the type, so that they may be private where it is; the conformance and its initializer are an extension.
  struct GenerableMacro {
    /// Off: the source of an expansion is laid out when it is written.
    static var formatMode: FormatMode { .disabled }

    /// The expansion for a declaration; nil for one that there is none for, which then is reported.
    ///
    /// - Parameters:
    ///   - declaration: The type.
    ///   - attribute: The attribute.
    ///   - context: Where the declaration is.
    ///   - report: Takes what is wrong with the declaration. Both roles of the macro find it; one of them tells.
    private static func expansion(
      of declaration: some DeclGroupSyntax, attribute: AttributeSyntax, in context: some MacroExpansionContext,
      report: (MacroDiagnostic, Syntax) -> Void
    ) -> (any Expansion)? {
      if let structure = declaration.as(StructDeclSyntax.self) {
        return StructureExpansion(
          structure, target: Target(name: structure.name, declaration: structure, attribute: attribute, context: context.lexicalContext))
      }
      guard let enumeration = declaration.as(EnumDeclSyntax.self) else {
        report(.notStructureOrEnumeration, Syntax(attribute))
        return nil
      }
      let cases = Conditional.members(of: enumeration.memberBlock.members, EnumerationCase.cases)
      guard !cases.isEmpty else {
        report(.noCase, Syntax(attribute))
        return nil
      }
      let target = Target(name: enumeration.name, declaration: enumeration, attribute: attribute, context: context.lexicalContext)
      let elements = cases.flatMap(\.elements)
      if elements.allSatisfy(\.values.isEmpty) { return ChoiceExpansion(enumeration, cases: cases, target: target) }
      let ambiguous = elements.filter { $0.values.contains { $0.name == "type" } }
      for element in ambiguous { report(.valueNamedAsDiscriminator(case: element.name), Syntax(element.syntax)) }
      return ambiguous.isEmpty ? UnionExpansion(enumeration, cases: cases, target: target) : nil
    }

    /// True where the declaration itself states the conformance.
    private static func statesConformance(_ declaration: some DeclGroupSyntax) -> Bool {
      declaration.inheritanceClause?.inheritedTypes.contains {
        ["Generable", "FoundationModels.Generable"].contains($0.type.trimmedDescription)
      } ?? false
    }

    /// The attributes of the extension: what the type, and those around it, are available for, the extension is.
    private static func availability(_ declaration: some DeclGroupSyntax, in context: some MacroExpansionContext) -> [String] {
      let outer = context.lexicalContext.reversed().compactMap { $0.asProtocol((any WithAttributesSyntax).self)?.attributes }
      return (outer + [declaration.attributes]).flatMap { attributes in
        attributes.attributes(named: "available").map(\.trimmedDescription)
      }
    }
  }

  extension GenerableMacro: MemberMacro {
    /// Adds the members, and reports what is wrong with the declaration.
    static func expansion(
      of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax, conformingTo protocols: [TypeSyntax],
      in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
      guard !statesConformance(declaration) else { return [] }
      let expansion = expansion(of: declaration, attribute: node, in: context) { context.report($0, at: $1) }
      return expansion?.members().map { DeclSyntax("\(raw: $0)") } ?? []
    }
  }

  extension GenerableMacro: ExtensionMacro {
    /// Adds the conformance, and reports one that is there already.
    static func expansion(
      of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax, providingExtensionsOf type: some TypeSyntaxProtocol,
      conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
      guard let expansion = expansion(of: declaration, attribute: node, in: context, report: { _, _ in }) else { return [] }
      guard !protocols.isEmpty, !statesConformance(declaration) else {
        context.report(.conformsAlready, at: node)
        return []
      }
      let attributes = availability(declaration, in: context)
      return [try ExtensionDeclSyntax("\(raw: expansion.conformance(of: type.trimmedDescription, attributes: attributes))")]
    }
  }
#endif
