#if FoundationModelsMacros
  internal import SwiftSyntax
  internal import SwiftSyntaxBuilder
  internal import SwiftSyntaxMacros

  /// `@SessionPropertyEntry`: makes a variable of `SessionPropertyValues` one that is kept under a key, and makes the key.
  struct SessionPropertyEntryMacro {
    /// The parts of a variable that can be kept.
    private struct Entry {
      let name: TokenSyntax
      let binding: PatternBindingSyntax

      /// The name of the key.
      var key: String { "__Key_" + name.name }

      /// The parts of a declaration; nil for one that declares no single name.
      init?(_ variable: VariableDeclSyntax) {
        guard variable.bindings.count == 1, let binding = variable.bindings.first,
          let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier
        else { return nil }
        (self.name, self.binding) = (name, binding)
      }
    }
  }

  extension SessionPropertyEntryMacro: AccessorMacro {
    /// Reads and writes the value of the key. Reports what has no place for accessors.
    static func expansion(
      of node: AttributeSyntax, providingAccessorsOf declaration: some DeclSyntaxProtocol, in context: some MacroExpansionContext
    ) throws -> [AccessorDeclSyntax] {
      guard let variable = declaration.as(VariableDeclSyntax.self), let entry = Entry(variable) else { return [] }
      if variable.bindingSpecifier.tokenKind != .keyword(.var) {
        context.report(.entryOfConstant, at: node)
      } else if let modifier = variable.modifiers.first(where: { [.keyword(.static), .keyword(.class)].contains($0.name.tokenKind) }) {
        context.report(.entryOfType, at: modifier.name)
      } else if let block = entry.binding.accessorBlock {
        context.report(.entryWithAccessors, at: block)
      } else {
        let value = "self[\(entry.key).self]"
        return ["get { \(raw: value) }", "set { \(raw: value) = newValue }", "_modify { yield &\(raw: value) }"]
      }
      return []
    }
  }

  extension SessionPropertyEntryMacro: PeerMacro {
    /// Declares the key, and reports what has no value or no name to make one of.
    static func expansion(
      of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol, in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
      let extended = context.lexicalContext.first?.as(ExtensionDeclSyntax.self)?.extendedType.trimmedDescription
      guard ["SessionPropertyValues", "FoundationModels.SessionPropertyValues"].contains(extended) else {
        context.report(.entryElsewhere, at: node)
        return []
      }
      guard let variable = declaration.as(VariableDeclSyntax.self) else { return [] }
      guard let entry = Entry(variable) else {
        if variable.bindings.count == 1, let binding = variable.bindings.first {
          context.report(.entryWithoutName, at: binding)
        } else {
          context.report(.entryOfSeveral, at: node)
        }
        return []
      }
      guard variable.isStored, variable.bindingSpecifier.tokenKind == .keyword(.var) else { return [] }
      let type = entry.binding.typeAnnotation?.type.trimmed
      let isOptional = type?.is(OptionalTypeSyntax.self) == true
      guard let value = entry.binding.initializer?.value.trimmed ?? (isOptional ? ExprSyntax(NilLiteralExprSyntax()) : nil) else {
        context.report(.entryWithoutValue, at: entry.name)
        return []
      }
      return [
        """
        private nonisolated struct \(raw: entry.key): FoundationModels.SessionPropertyKey {
          @FoundationModels.__SessionPropertyEntryDefaultValue
          static var defaultValue\(raw: type.map { ": \($0)" } ?? "") = \(value)
        }
        """
      ]
    }
  }

  /// `@__SessionPropertyEntryDefaultValue`: makes the value of a key anew each time, whether or not its type is written.
  struct SessionPropertyEntryDefaultValueMacro: AccessorMacro {
    /// Moves the value into an accessor.
    static func expansion(
      of node: AttributeSyntax, providingAccessorsOf declaration: some DeclSyntaxProtocol, in context: some MacroExpansionContext
    ) throws -> [AccessorDeclSyntax] {
      guard let value = declaration.as(VariableDeclSyntax.self)?.bindings.first?.initializer?.value.trimmed else { return [] }
      return ["get { \(value) }"]
    }
  }
#endif
