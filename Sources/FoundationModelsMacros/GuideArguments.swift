#if FoundationModelsMacros
  internal import SwiftSyntax

  /// The description and the guides that the `@Guide` attributes of a property give together.
  struct GuideArguments {
    /// The expression of the description; nil for none.
    private(set) var description: String?
    /// The expressions of the guides, as they are spelled.
    private(set) var guides: [String] = []

    /// None.
    init() {}

    /// Reads the attributes of a property. Several `@Guide` add up.
    init(_ attributes: AttributeListSyntax) {
      var expressions: [ExprSyntax] = []
      for attribute in attributes.attributes(named: "Guide") {
        for argument in attribute.arguments?.as(LabeledExprListSyntax.self) ?? [] {
          if argument.label?.text == "description" {
            if !argument.expression.is(NilLiteralExprSyntax.self) { description = argument.expression.trimmedDescription }
          } else {
            expressions.append(argument.expression)
          }
        }
      }
      // An array has elements of one type: beside other guides, a literal of a regular expression has to become a guide itself.
      let isMixed = !expressions.allSatisfy { $0.is(RegexLiteralExprSyntax.self) }
      guides = expressions.map {
        isMixed && $0.is(RegexLiteralExprSyntax.self) ? ".pattern(\($0.trimmedDescription))" : $0.trimmedDescription
      }
    }
  }

  extension AttributeListSyntax {
    /// The attributes of a name, with the name of the module before it or without.
    func attributes(named name: String) -> [AttributeSyntax] {
      compactMap { element in
        guard case .attribute(let attribute) = element else { return nil }
        if let type = attribute.attributeName.as(IdentifierTypeSyntax.self) { return type.name.text == name ? attribute : nil }
        guard let type = attribute.attributeName.as(MemberTypeSyntax.self) else { return nil }
        return type.name.text == name && type.baseType.trimmedDescription == "FoundationModels" ? attribute : nil
      }
    }
  }
#endif
