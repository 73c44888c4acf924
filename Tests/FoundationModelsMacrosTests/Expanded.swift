#if FoundationModelsMacros
  internal import SwiftDiagnostics
  internal import SwiftParser
  internal import SwiftSyntax
  internal import SwiftSyntaxBuilder
  internal import SwiftSyntaxMacroExpansion
  internal import SwiftSyntaxMacros

  @testable internal import FoundationModelsMacros

  /// Source after its macros are expanded, and what they reported.
  struct Expanded {
    /// The source.
    let text: String
    /// The errors, each with its line and column before it.
    let errors: [String]
    /// True unless the expansion is no Swift.
    let isValid: Bool

    /// Expands source.
    ///
    /// - Parameters:
    ///   - source: The source.
    ///   - conformances: The protocols that the types do not conform to elsewhere.
    init(_ source: String, conformances: [TypeSyntax] = ["Generable"]) {
      let file = Parser.parse(source: source)
      let context = BasicMacroExpansionContext(sourceFiles: [file: .init(moduleName: "Tests", fullFilePath: "Tests.swift")])
      let specifications = [
        "Generable": MacroSpec(type: GenerableMacro.self, conformances: conformances), "Guide": MacroSpec(type: GuideMacro.self),
        "SessionPropertyEntry": MacroSpec(type: SessionPropertyEntryMacro.self),
        "__SessionPropertyEntryDefaultValue": MacroSpec(type: SessionPropertyEntryDefaultValueMacro.self),
      ]
      let expanded = file.expand(
        macroSpecs: specifications,
        contextGenerator: { BasicMacroExpansionContext(sharingWith: context, lexicalContext: $0.allMacroLexicalContexts()) },
        indentationWidth: .spaces(2))
      text = expanded.description
      errors = context.diagnostics.map { diagnostic in
        let position = context.location(for: diagnostic.position, anchoredAt: diagnostic.node, fileName: "")
        return "\(position.line):\(position.column) \(diagnostic.message)"
      }
      isValid = !Parser.parse(source: text).hasError
    }

    /// The lines of the text without their indentation.
    var lines: [String] { text.split(separator: "\n").map { $0.drop(while: { $0 == " " }) }.map(String.init) }

    /// The lines that begin with something.
    func lines(beginning prefix: String) -> [String] { lines.filter { $0.hasPrefix(prefix) } }
  }
#endif
