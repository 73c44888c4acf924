#if FoundationModelsMacros
  internal import SwiftDiagnostics
  internal import SwiftSyntax
  internal import SwiftSyntaxMacros

  /// A misuse of a macro, as the compiler reports it.
  enum MacroDiagnostic: DiagnosticMessage {
    case notStructureOrEnumeration
    case noCase
    case conformsAlready
    case guideWithoutStoredProperty
    case entryElsewhere
    case entryOfConstant
    case entryOfType
    case entryOfSeveral
    case entryWithoutName
    case entryWithAccessors
    case entryWithoutValue
    case valueNamedAsDiscriminator(case: String)

    /// The text of the error.
    var message: String {
      switch self {
      case .notStructureOrEnumeration: "'@Generable' can only be used on structs and enums."
      case .noCase: "Generable enums must have at least one case."
      case .conformsAlready:
        "Type already conforms to 'Generable'. Remove the '@Generable' macro or delete the existing conformance."
      case .guideWithoutStoredProperty: "'@Guide' can only be used with a stored property."
      case .entryElsewhere: "'@SessionPropertyEntry' can only be used in an extension of 'SessionPropertyValues'."
      case .entryOfConstant: "'@SessionPropertyEntry' can only be used on a 'var'."
      case .entryOfType: "'@SessionPropertyEntry' cannot be used on a static property."
      case .entryOfSeveral: "'@SessionPropertyEntry' can only be used on a declaration of one property."
      case .entryWithoutName: "'@SessionPropertyEntry' can only be used on a property with a name of its own."
      case .entryWithAccessors: "'@SessionPropertyEntry' can only be used on a stored property."
      case .entryWithoutValue: "A property of sessions needs the value that they begin with, unless it is an optional."
      case .valueNamedAsDiscriminator(let name):
        "The associated value 'type' of '\(name)' needs another label: generated content has the name of the case under 'type'."
      }
    }

    /// The kind of the misuse, the same for each text of it.
    var diagnosticID: MessageID {
      let id =
        switch self {
        case .notStructureOrEnumeration: "notStructureOrEnumeration"
        case .noCase: "noCase"
        case .conformsAlready: "conformsAlready"
        case .guideWithoutStoredProperty: "guideWithoutStoredProperty"
        case .entryElsewhere: "entryElsewhere"
        case .entryOfConstant: "entryOfConstant"
        case .entryOfType: "entryOfType"
        case .entryOfSeveral: "entryOfSeveral"
        case .entryWithoutName: "entryWithoutName"
        case .entryWithAccessors: "entryWithAccessors"
        case .entryWithoutValue: "entryWithoutValue"
        case .valueNamedAsDiscriminator: "valueNamedAsDiscriminator"
        }
      return MessageID(domain: "FoundationModelsMacros", id: id)
    }

    /// Each is an error.
    var severity: DiagnosticSeverity { .error }
  }

  extension MacroExpansionContext {
    /// Reports a misuse at the attribute or the declaration that it is in.
    func report(_ message: MacroDiagnostic, at node: some SyntaxProtocol) { diagnose(Diagnostic(node: Syntax(node), message: message)) }
  }
#endif
