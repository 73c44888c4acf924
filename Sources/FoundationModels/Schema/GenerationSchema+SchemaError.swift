public import Foundation

extension GenerationSchema {
  /// The reasons for which dynamic schemas do not make up a schema.
  public enum SchemaError: Error, LocalizedError {
    /// A text about an error.
    public struct Context: Sendable {
      /// A sentence for whoever looks for the fault.
      public let debugDescription: String

      /// A context.
      ///
      /// - Parameters:
      ///   - debugDescription: A sentence for whoever looks for the fault.
      public init(debugDescription: String) { self.debugDescription = debugDescription }
    }

    /// Two different schemas have one name.
    case duplicateType(schema: String?, type: String, context: Context)
    /// A schema has two properties with one name.
    case duplicateProperty(schema: String, property: String, context: Context)
    /// A schema leaves no choice.
    case emptyTypeChoices(schema: String, context: Context)
    /// Schemas are referred to that are not there.
    case undefinedReferences(schema: String?, references: [String], context: Context)

    /// A sentence about what is wrong.
    public var errorDescription: String? { context.debugDescription }

    /// Advice on what to change.
    public var recoverySuggestion: String? {
      switch self {
      case .duplicateType(_, let type, _): "Give one of the schemas named '\(type)' another name."
      case .duplicateProperty(let schema, let property, _): "Remove or rename one of the properties '\(property)' of '\(schema)'."
      case .emptyTypeChoices(let schema, _): "Add a choice to '\(schema)'."
      case .undefinedReferences(_, let references, _):
        "Pass schemas named \(references.map { "'\($0)'" }.joined(separator: ", ")) as dependencies."
      }
    }

    fileprivate var context: Context {
      switch self {
      case .duplicateType(_, _, let context), .duplicateProperty(_, _, let context), .emptyTypeChoices(_, let context),
        .undefinedReferences(_, _, let context):
        context
      }
    }

    static func duplicateType(_ type: String, in schema: String?) -> SchemaError {
      .duplicateType(
        schema: schema, type: type, context: Context(debugDescription: "There are two different schemas named '\(type)'."))
    }

    static func duplicateProperty(_ property: String, in schema: String) -> SchemaError {
      .duplicateProperty(
        schema: schema, property: property,
        context: Context(debugDescription: "The schema '\(schema)' has two properties named '\(property)'."))
    }

    static func emptyTypeChoices(_ schema: String) -> SchemaError {
      .emptyTypeChoices(schema: schema, context: Context(debugDescription: "The schema '\(schema)' has no choices."))
    }

    static func undefinedReferences(_ references: [String], in schema: String?) -> SchemaError {
      let names = references.map { "'\($0)'" }.joined(separator: ", ")
      return .undefinedReferences(
        schema: schema, references: references,
        context: Context(debugDescription: "The schema\(schema.map { " '\($0)'" } ?? "") refers to \(names), which is not defined."))
    }
  }
}

extension GenerationSchema.SchemaError: CustomDebugStringConvertible {
  /// The sentence about what is wrong.
  public var debugDescription: String { context.debugDescription }
}
