public import Foundation

extension GeneratedContent {
  /// The reason for which a text is not JSON, or content is not the value that was asked for.
  public struct ParsingError: Error, LocalizedError {
    /// The JSON text that could not be read or converted.
    public var rawContent: String
    /// The error behind this one, if there is one.
    public var underlyingError: (any Error)?
    /// A sentence about what is wrong.
    public var debugDescription: String

    /// An error.
    ///
    /// - Parameters:
    ///   - rawContent: The JSON text.
    ///   - underlyingError: The error behind this one; nil for none.
    ///   - debugDescription: A sentence about what is wrong.
    public init(rawContent: String, underlyingError: (any Error)? = nil, debugDescription: String) {
      (self.rawContent, self.underlyingError, self.debugDescription) = (rawContent, underlyingError, debugDescription)
    }

    /// The sentence about what is wrong.
    public var errorDescription: String? { debugDescription }

    /// The same error, said of a part of some content.
    func within(_ part: String) -> ParsingError {
      ParsingError(rawContent: rawContent, underlyingError: underlyingError, debugDescription: "\(part): \(debugDescription)")
    }
  }

  /// The error that this content is something else than was asked for.
  func mismatch(_ expected: String) -> ParsingError {
    ParsingError(rawContent: jsonString, underlyingError: nil, debugDescription: "Expected \(expected), found \(kindName).")
  }

  private var kindName: String {
    switch kind {
    case .null: isComplete ? "null" : "nothing yet"
    case .bool: "a boolean"
    case .number(let value): value.isFinite ? "the number \(numberText)" : "a number that is not finite"
    case .string: "a string"
    case .array: "an array"
    case .structure: "an object"
    }
  }
}

extension GeneratedContent.ParsingError: CustomDebugStringConvertible {}
