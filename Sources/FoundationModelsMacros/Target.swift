#if FoundationModelsMacros
  internal import SwiftSyntax

  /// The type that `@Generable` is attached to.
  struct Target {
    /// The name as Swift source spells it.
    let identifier: String
    /// The name without backticks.
    let name: String
    /// The modifier of members, with a space behind it; empty for none.
    let access: String
    /// The options of the attribute.
    let options: GenerableOptions
    private let items: [DeclSyntax]

    /// Reads a declaration.
    ///
    /// - Parameters:
    ///   - name: The name of the type.
    ///   - declaration: The type.
    ///   - attribute: The attribute.
    ///   - context: The declarations around the type, the innermost first.
    init(name: TokenSyntax, declaration: some DeclGroupSyntax, attribute: AttributeSyntax, context: [Syntax]) {
      identifier = name.text
      self.name = name.name
      options = GenerableOptions(attribute)
      items = Conditional.members(of: declaration.memberBlock.members) { [$0] }.flatMap(\.elements)
      // The members of `public extension` are public themselves unless they say something else.
      let statesAccess = declaration.modifiers.contains { $0.detail == nil && Access(rawValue: $0.name.text) != nil }
      let outer = statesAccess ? nil : context.first?.as(ExtensionDeclSyntax.self)?.modifiers
      access = Access(outer ?? declaration.modifiers).ofMember
    }

    /// True where the type has a variable of a name.
    func declares(variable name: String, isStatic: Bool) -> Bool {
      items.contains { item in
        guard let variable = item.as(VariableDeclSyntax.self) else { return false }
        let isOfType = variable.modifiers.contains { [.keyword(.static), .keyword(.class)].contains($0.name.tokenKind) }
        return isOfType == isStatic
          && variable.bindings.contains { $0.pattern.as(IdentifierPatternSyntax.self)?.identifier.name == name }
      }
    }

    /// True where the type has `init(_: GeneratedContent)`.
    var declaresInitializer: Bool {
      items.contains { item in
        guard let parameters = item.as(InitializerDeclSyntax.self)?.signature.parameterClause.parameters, parameters.count == 1,
          let parameter = parameters.first
        else { return false }
        return parameter.firstName.tokenKind == .wildcard
          && ["GeneratedContent", "FoundationModels.GeneratedContent"].contains(parameter.type.trimmedDescription)
      }
    }

    /// True where the type has its own partial type.
    var declaresPartialType: Bool {
      items.contains { item in
        let name =
          item.as(StructDeclSyntax.self)?.name ?? item.as(EnumDeclSyntax.self)?.name ?? item.as(ClassDeclSyntax.self)?.name
          ?? item.as(ActorDeclSyntax.self)?.name ?? item.as(TypeAliasDeclSyntax.self)?.name
        return name?.name == "PartiallyGenerated"
      }
    }
  }
#endif
