/// A value that a model generated, or that is shown to one: null, a truth value, a number, a text, an array or a structure.
///
/// Content of a stream may be a beginning; ``isComplete`` tells.
///
/// ```swift
/// let content = try GeneratedContent(json: #"{"name": "Elbe", "length": 1094}"#)
/// let length = try content.value(Int.self, forProperty: "length")
/// ```
public struct GeneratedContent: Sendable {
  /// The name of this content in the snapshots of its response, if it has one.
  public var id: GenerationID?
  /// The value itself, with what it holds.
  public let kind: Kind
  /// False when generation has not reached the end of this value.
  public let isComplete: Bool
  /// The text of a number that a double cannot hold.
  let literal: String?

  /// The kinds of values.
  public enum Kind: Equatable, Sendable {
    /// No value.
    case null
    /// A truth value.
    case bool(Bool)
    /// A number. One with more digits than a double has is rounded here, and exact when it is converted to `Int` or `Decimal`.
    case number(Double)
    /// A text.
    case string(String)
    /// Values in order.
    case array([GeneratedContent])
    /// Named values and the order of their names.
    case structure(properties: [String: GeneratedContent], orderedKeys: [String])
  }

  /// Content of a kind, complete.
  ///
  /// - Parameters:
  ///   - kind: The value.
  ///   - id: Its name in the snapshots of a response; nil for none.
  public init(kind: Kind, id: GenerationID? = nil) { self.init(kind: kind, id: id, isComplete: true) }

  init(kind: Kind, id: GenerationID?, isComplete: Bool, literal: String? = nil) {
    (self.kind, self.id, self.isComplete, self.literal) = (kind, id, isComplete, literal)
  }

  /// True for the beginning of a response of which nothing can be said yet.
  var isUndetermined: Bool { !isComplete && kind == .null }
}

extension GeneratedContent: Equatable {
  /// Compares values with everything they hold, the order of properties and the names in snapshots included. NaN equals nothing.
  ///
  /// - Parameters:
  ///   - left: Some content.
  ///   - right: Other content.
  /// - Returns: True if nothing tells them apart.
  public static func == (left: GeneratedContent, right: GeneratedContent) -> Bool {
    left.id == right.id && left.isComplete == right.isComplete && left.literal == right.literal && left.kind == right.kind
  }
}

extension GeneratedContent: Generable {
  /// The schema of any JSON value.
  public static var generationSchema: GenerationSchema { GenerationSchema(node: .scalar(.any, name: "GeneratedContent")) }

  /// The same content.
  ///
  /// - Parameters:
  ///   - content: The content.
  /// - Throws: Nothing; the protocol allows it.
  public init(_ content: GeneratedContent) throws { self = content }

  /// The content itself.
  public var generatedContent: GeneratedContent { self }
}

extension GeneratedContent: CustomDebugStringConvertible {
  /// The JSON text, with a mark if it is only a beginning.
  public var debugDescription: String { isComplete ? jsonString : jsonString + " (incomplete)" }
}
