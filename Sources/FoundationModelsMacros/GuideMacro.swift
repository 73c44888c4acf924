#if FoundationModelsMacros
  internal import SwiftSyntax
  internal import SwiftSyntaxMacros

  /// `@Guide`: marks a property for `@Generable` to read, and adds nothing itself.
  struct GuideMacro: PeerMacro {
    /// Reports an attribute that `@Generable` could not honour.
    static func expansion(
      of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol, in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
      if declaration.as(VariableDeclSyntax.self)?.isStored != true { context.report(.guideWithoutStoredProperty, at: node) }
      return []
    }
  }
#endif
