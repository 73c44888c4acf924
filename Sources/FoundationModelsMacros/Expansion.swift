#if FoundationModelsMacros
  internal import SwiftSyntax

  /// The source that conforms one type to `Generable`.
  protocol Expansion {
    /// The type.
    var target: Target { get }

    /// Adds the expression or the statements of the schema.
    func writeSchema(to text: inout SourceText)

    /// Adds the expression or the statements of the generated content.
    func writeContent(to text: inout SourceText)

    /// Adds the statements of the initializer.
    func writeInitializer(to text: inout SourceText)

    /// The declarations of the nested types.
    func nestedTypes() -> [String]
  }

  extension Expansion {
    /// The declarations in the type: what the protocol asks for, as far as the client has not written it, and the nested types.
    func members() -> [String] {
      var members: [String] = []
      if !target.declares(variable: "generationSchema", isStatic: true) {
        members.append(
          SourceText.of { text in
            text.block("nonisolated \(target.access)static var generationSchema: FoundationModels.GenerationSchema", writeSchema)
          })
      }
      if !target.declares(variable: "generatedContent", isStatic: false) {
        members.append(
          SourceText.of { text in
            text.block("nonisolated \(target.access)var generatedContent: FoundationModels.GeneratedContent", writeContent)
          })
      }
      return members + nestedTypes()
    }

    /// The extension with the conformance. The initializer is in it so that a structure keeps its memberwise one.
    ///
    /// - Parameters:
    ///   - type: The name of the type, with those that it is nested in.
    ///   - attributes: The attributes of the extension.
    func conformance(of type: String, attributes: [String]) -> String {
      SourceText.of { text in
        for attribute in attributes { text.line(attribute) }
        let head = "extension \(type): nonisolated FoundationModels.Generable"
        guard !target.declaresInitializer else { return text.line(head + " {}") }
        text.block(head) { text in
          text.block("nonisolated \(target.access)init(_ content: FoundationModels.GeneratedContent) throws", writeInitializer)
        }
      }
    }
  }

  extension SourceText {
    /// Adds a statement that throws what a name that the type has no case for is answered with.
    ///
    /// - Parameters:
    ///   - noun: What the name is said to be.
    ///   - variable: The variable that holds it.
    ///   - owner: The name of the type.
    mutating func throwUnexpected(_ noun: String, _ variable: String, of owner: String) {
      line("throw FoundationModels.GeneratedContent.ParsingError(")
      indented { text in
        text.line("rawContent: content.jsonString,")
        text.line("underlyingError: nil,")
        text.line("debugDescription: \"Unexpected \(noun) \\\"\\(\(variable))\\\" for \(owner)\"")
      }
      line(")")
    }
  }
#endif
