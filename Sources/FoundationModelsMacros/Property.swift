#if FoundationModelsMacros
  internal import SwiftSyntax

  /// A property that is generated: a stored property of a structure, or an associated value of a case.
  struct Property {
    /// The name as Swift source spells it, in backticks where it needs them.
    let identifier: String
    /// The name in generated content.
    let name: String
    /// The type.
    let type: TypeSpelling
    /// The description and the guides.
    let guide: GuideArguments

    /// True for the property that holds the identifier of the content instead of a part of it.
    var isIdentity: Bool { name == "id" && type.isGenerationID }
  }

  extension Property {
    /// The stored properties that a declaration adds to what is generated.
    ///
    /// None for variables of the type, those with accessors, observers among them, and those without a type; nor for a constant that has
    /// its value already, or what is lazy.
    static func properties(of declaration: DeclSyntax) -> [Property] {
      guard let variable = declaration.as(VariableDeclSyntax.self), variable.isOfInstance else { return [] }
      let guide = GuideArguments(variable.attributes)
      var properties: [Property] = []
      // `var first, second: T` gives both names the type behind the second.
      var type: TypeSyntax?
      for binding in variable.bindings.reversed() {
        type = binding.typeAnnotation?.type ?? (binding.initializer == nil ? type : nil)
        guard binding.accessorBlock == nil, !(variable.bindingSpecifier.tokenKind == .keyword(.let) && binding.initializer != nil),
          let identifier = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier, let type
        else { continue }
        properties.append(Property(identifier: identifier.text, name: identifier.name, type: TypeSpelling(type), guide: guide))
      }
      return properties.reversed()
    }
  }

  extension VariableDeclSyntax {
    /// True unless the variable belongs to the type, or is lazy.
    fileprivate var isOfInstance: Bool {
      !modifiers.contains { [.keyword(.static), .keyword(.class), .keyword(.lazy)].contains($0.name.tokenKind) }
    }

    /// True where each name of the declaration is stored in the instance. One with observers does not count, as with Apple's macro.
    var isStored: Bool { isOfInstance && bindings.allSatisfy { $0.accessorBlock == nil } }
  }

  extension TokenSyntax {
    /// The identifier without its backticks.
    var name: String {
      text.count > 2 && text.hasPrefix("`") && text.hasSuffix("`") ? String(text.dropFirst().dropLast()) : text
    }
  }
#endif
