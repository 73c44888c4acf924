#if FoundationModelsMacros
  internal import SwiftSyntax
  internal import SwiftSyntaxBuilder
  internal import SwiftSyntaxMacros

  /// `@SessionPropertyEntry`: makes a variable of `SessionPropertyValues` one that is kept under a key, and makes the key.
  struct EntryMacro {
    /// The parts of a variable that can be kept.
    private struct Entry {
      let name: String
      let key: String
      let type: TypeSyntax?
      let value: ExprSyntax

      /// The parts of a declaration; nil for one that is no variable with a value.
      init?(_ declaration: some DeclSyntaxProtocol) {
        guard let variable = declaration.as(VariableDeclSyntax.self), variable.isStored, variable.bindings.count == 1,
          variable.bindingSpecifier.tokenKind == .keyword(.var), let binding = variable.bindings.first,
          let identifier = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier
        else { return nil }
        let type = binding.typeAnnotation?.type.trimmed
        let isOptional = type?.is(OptionalTypeSyntax.self) == true
        guard let value = binding.initializer?.value.trimmed ?? (isOptional ? ExprSyntax(NilLiteralExprSyntax()) : nil) else { return nil }
        (name, key, self.type, self.value) = (identifier.name, "__Key_" + identifier.name, type, value)
      }
    }
  }

  extension EntryMacro: AccessorMacro {
    /// Reads and writes the value of the key.
    static func expansion(
      of node: AttributeSyntax, providingAccessorsOf declaration: some DeclSyntaxProtocol, in context: some MacroExpansionContext
    ) throws -> [AccessorDeclSyntax] {
      guard let entry = Entry(declaration) else {
        context.report(.entryWithoutValue, at: node)
        return []
      }
      return ["get { self[\(raw: entry.key).self] }", "set { self[\(raw: entry.key).self] = newValue }"]
    }
  }

  extension EntryMacro: PeerMacro {
    /// Declares the key. A value whose type is not written is made once, as its type is that of the constant.
    static func expansion(
      of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol, in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
      guard let entry = Entry(declaration) else { return [] }
      let value: DeclSyntax =
        if let type = entry.type {
          "static var defaultValue: \(type) { \(entry.value) }"
        } else {
          "static let defaultValue = \(entry.value)"
        }
      return [
        """
        private nonisolated struct \(raw: entry.key): FoundationModels.SessionPropertyKey {
          \(value)
        }
        """
      ]
    }
  }
#endif
