#if FoundationModelsMacros
  internal import SwiftSyntax

  /// The arguments of `@Generable`, as expressions.
  struct GenerableOptions {
    /// The form of a nil optional as generated content.
    enum NilRepresentation {
      /// The property is left out.
      case omitted
      /// The property is null.
      case explicit
      /// Null where the expression is true.
      case dependent(String)
    }

    /// The name of the schema; nil for that of the type.
    private(set) var name: String?
    /// The description of the schema; nil for none.
    private(set) var description: String?
    /// The value of `representNilExplicitlyInGeneratedContent`; nil where it is not given.
    private(set) var explicitNil: String?
    /// The representation that follows from it.
    private(set) var nilRepresentation = NilRepresentation.omitted

    /// Reads the attribute.
    init(_ attribute: AttributeSyntax) {
      for argument in attribute.arguments?.as(LabeledExprListSyntax.self) ?? [] {
        let expression = argument.expression
        switch argument.label?.text {
        case "name": name = expression.trimmedDescription
        case "description": description = expression.is(NilLiteralExprSyntax.self) ? nil : expression.trimmedDescription
        case "representNilExplicitlyInGeneratedContent":
          explicitNil = expression.trimmedDescription
          switch expression.as(BooleanLiteralExprSyntax.self)?.literal.tokenKind {
          case .keyword(.true): nilRepresentation = .explicit
          case .keyword(.false): nilRepresentation = .omitted
          default: nilRepresentation = .dependent(expression.trimmedDescription)
          }
        default: break
        }
      }
    }

    /// The options of the structure that stands for a case: all but the name, as Apple's macro has it.
    var ofCase: GenerableOptions {
      var options = self
      options.name = nil
      return options
    }

    /// The arguments of a schema that come before its properties or choices.
    var schemaArguments: [String] {
      ["type: Self.self"] + (name.map { ["name: " + $0] } ?? []) + (description.map { ["description: " + $0] } ?? [])
    }

    /// The argument that only a schema with properties takes.
    var explicitNilArgument: [String] { explicitNil.map { ["representNilExplicitlyInGeneratedContent: " + $0] } ?? [] }
  }
#endif
