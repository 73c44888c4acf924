#if FoundationModelsMacros
  internal import SwiftSyntax

  /// A case of an enumeration.
  struct EnumerationCase {
    /// The name as Swift source spells it.
    let identifier: String
    /// The name without backticks.
    let name: String
    /// The expression of the raw value; nil where there is none.
    let rawValue: String?
    /// The associated values, each with a name: the inner one, else the label, else `value`, `value1` and so on.
    let values: [Property]
    /// Per associated value: its label without backticks; nil for none.
    private let labels: [String?]
    /// True where the case says that it is indirect.
    let isIndirect: Bool
    /// The declaration, for errors.
    let syntax: EnumCaseElementSyntax

    /// The name of the structure that stands for the case.
    var structureName: String { "Discriminated" + name.prefix(1).uppercased() + name.dropFirst() }

    /// Reads an element of a declaration of cases.
    fileprivate init(_ element: EnumCaseElementSyntax, isIndirect: Bool) {
      syntax = element
      identifier = element.name.text
      name = element.name.name
      rawValue = element.rawValue?.value.trimmedDescription
      self.isIndirect = isIndirect
      let parameters = element.parameterClause?.parameters ?? []
      labels = parameters.map { $0.firstName.flatMap { $0.tokenKind == .wildcard ? nil : $0.name } }
      var unnamed = 0
      values = parameters.map { parameter in
        let name: String
        if let given = [parameter.secondName, parameter.firstName].lazy.compactMap({ $0 }).first(where: { $0.tokenKind != .wildcard }) {
          name = given.name
        } else {
          name = unnamed == 0 ? "value" : "value\(unnamed)"
          unnamed += 1
        }
        return Property(identifier: name.asIdentifier, name: name, type: TypeSpelling(parameter.type), guide: GuideArguments())
      }
    }

    /// The cases that a declaration adds.
    static func cases(of declaration: DeclSyntax) -> [EnumerationCase] {
      guard let cases = declaration.as(EnumCaseDeclSyntax.self) else { return [] }
      let isIndirect = cases.modifiers.contains { $0.name.tokenKind == .keyword(.indirect) }
      return cases.elements.map { EnumerationCase($0, isIndirect: isIndirect) }
    }

    /// The parenthesised arguments that make the case; empty where there are none.
    ///
    /// - Parameters:
    ///   - expression: Gives the expression for an associated value.
    func arguments(_ expression: (Property) -> String) -> String { list(reserved: ["inout"], expression) }

    /// The parenthesised parameters of a declaration of the case; empty where there are none.
    ///
    /// - Parameters:
    ///   - type: Gives the type of an associated value.
    func parameters(_ type: (Property) -> String) -> String { list(reserved: ["inout", "let", "var"], type) }

    /// A label may be any word but the reserved ones. The compiler objects to backticks that one does not need.
    private func list(reserved: Set<String>, _ part: (Property) -> String) -> String {
      guard !values.isEmpty else { return "" }
      let parts = zip(labels, values).map { label, value in (label.map { $0.spelled(reserved: reserved) + ": " } ?? "") + part(value) }
      return "(\(parts.joined(separator: ", ")))"
    }
  }

  extension String {
    /// The words that the name of a variable may not be.
    private static let reserved: Set<String> = [
      "Any", "Self", "as", "associatedtype", "break", "case", "catch", "class", "continue", "default", "defer", "deinit", "do", "else",
      "enum",
      "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard", "if", "import", "in", "init", "inout", "internal", "is",
      "let", "nil", "operator", "precedencegroup", "private", "protocol", "public", "repeat", "rethrows", "return", "self", "static",
      "struct",
      "subscript", "super", "switch", "throw", "throws", "true", "try", "typealias", "var", "where", "while",
    ]

    /// The name of a variable as Swift source spells it.
    fileprivate var asIdentifier: String { spelled(reserved: Self.reserved) }

    /// The name in backticks where it is reserved, or has other characters than an identifier.
    fileprivate func spelled(reserved: Set<String>) -> String {
      let isPlain = allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" } && first?.isNumber == false
      return isPlain && !reserved.contains(self) ? self : "`\(self)`"
    }
  }
#endif
