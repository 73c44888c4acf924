#if FoundationModelsMacros
  internal import SwiftSyntax

  /// A type as it is spelled in a declaration, and the spellings that follow from it.
  struct TypeSpelling {
    /// The type of the declaration.
    private let type: TypeSyntax

    /// Takes the type of a declaration.
    init(_ type: TypeSyntax) { self.type = type }

    /// The type as that of a stored property: `T!` is not allowed everywhere, `T?` is.
    var stored: String {
      if let optional = type.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) { return optional.wrappedType.trimmedDescription + "?" }
      return type.trimmedDescription
    }

    /// The expression for the metatype.
    var metatype: String {
      if let optional = type.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) { return optional.wrappedType.trimmedDescription + "?.self" }
      return Self.base(type) + ".self"
    }

    /// The type of the property in a partial value: always optional, and once only for a type that is optional itself.
    ///
    /// - Parameters:
    ///   - owner: The name of the type that the property is declared in, which `Self` stands for there but not in the partial type.
    func partial(in owner: String) -> String {
      Self.base(Self.unwrapped(SelfReplacer(owner: owner).rewrite(type.trimmed).cast(TypeSyntax.self))) + ".PartiallyGenerated?"
    }

    /// The type as that of a stored property of a nested type, where `Self` would stand for the nested one.
    ///
    /// - Parameters:
    ///   - owner: The name of the type that the property is declared in.
    func stored(in owner: String) -> String {
      TypeSpelling(SelfReplacer(owner: owner).rewrite(type.trimmed).cast(TypeSyntax.self)).stored
    }

    /// True where the type is spelled as that of identifiers of generated content.
    var isGenerationID: Bool { ["GenerationID", "FoundationModels.GenerationID"].contains(type.trimmedDescription) }

    /// The type without the optionals and parentheses around it.
    private static func unwrapped(_ type: TypeSyntax) -> TypeSyntax {
      if let optional = type.as(OptionalTypeSyntax.self) { return unwrapped(optional.wrappedType) }
      if let optional = type.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) { return unwrapped(optional.wrappedType) }
      if let tuple = type.as(TupleTypeSyntax.self), let element = tuple.elements.first, tuple.elements.count == 1, element.firstName == nil,
        element.ellipsis == nil
      {
        return unwrapped(element.type)
      }
      return type
    }

    /// The type as something that a member can be asked of: a composition or the type of a function needs parentheses.
    private static func base(_ type: TypeSyntax) -> String {
      switch type.kind {
      case .someOrAnyType, .compositionType, .functionType, .attributedType, .suppressedType, .packExpansionType:
        "(\(type.trimmedDescription))"
      default: type.trimmedDescription
      }
    }
  }

  /// Puts the name of a type where `Self` is.
  private final class SelfReplacer: SyntaxRewriter {
    private let owner: String

    init(owner: String) {
      self.owner = owner
      super.init()
    }

    override func visit(_ node: IdentifierTypeSyntax) -> TypeSyntax {
      guard node.name.tokenKind == .keyword(.Self) else { return super.visit(node) }
      return TypeSyntax(
        node.with(\.name, .identifier(owner, leadingTrivia: node.name.leadingTrivia, trailingTrivia: node.name.trailingTrivia)))
    }
  }
#endif
