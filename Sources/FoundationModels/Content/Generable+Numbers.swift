public import Foundation

extension Int: Generable {
  /// The schema of whole numbers.
  public static var generationSchema: GenerationSchema { GenerationSchema(node: .scalar(.integer, name: "Int")) }

  /// The whole number that the content is; `2.0` counts as 2.
  ///
  /// - Parameters:
  ///   - content: The content.
  /// - Throws: ``GeneratedContent/ParsingError`` if it is something else, has a fraction, or is too large.
  public init(_ content: GeneratedContent) throws {
    guard let value = content.integer else { throw content.mismatch("a whole number of 64 bits") }
    self = value
  }

  /// The number as content, with all its digits.
  public var generatedContent: GeneratedContent { GeneratedContent(integer: self) }
}

extension Double: Generable {
  /// The schema of numbers.
  public static var generationSchema: GenerationSchema { GenerationSchema(node: .scalar(.number, name: "Double")) }

  /// The number that the content is.
  ///
  /// - Parameters:
  ///   - content: The content.
  /// - Throws: ``GeneratedContent/ParsingError`` if it is something else.
  public init(_ content: GeneratedContent) throws {
    guard case .number(let value) = content.kind else { throw content.mismatch("a number") }
    self = value
  }

  /// The number as content. NaN and infinity stay what they are in content; as JSON they are `null`.
  public var generatedContent: GeneratedContent { GeneratedContent(kind: .number(self)) }
}

extension Float: Generable {
  /// The schema of numbers.
  public static var generationSchema: GenerationSchema { GenerationSchema(node: .scalar(.number, name: "Float")) }

  /// The number that the content is, rounded to a float.
  ///
  /// - Parameters:
  ///   - content: The content.
  /// - Throws: ``GeneratedContent/ParsingError`` if it is something else, or too large for a float.
  public init(_ content: GeneratedContent) throws {
    guard case .number(let value) = content.kind else { throw content.mismatch("a number") }
    let float = Float(value)
    guard float.isFinite || !value.isFinite else { throw content.mismatch("a number that a float can hold") }
    self = float
  }

  /// The number as content, written with the digits of a float. NaN and infinity stay what they are in content; as JSON they are `null`.
  public var generatedContent: GeneratedContent { GeneratedContent(kind: .number(Double("\(self)") ?? Double(self))) }
}

extension Decimal: Generable {
  /// The schema of numbers.
  public static var generationSchema: GenerationSchema { GenerationSchema(node: .scalar(.number, name: "Decimal")) }

  /// The number that the content is, with all its digits.
  ///
  /// - Parameters:
  ///   - content: The content.
  /// - Throws: ``GeneratedContent/ParsingError`` if it is something else, or beyond what a decimal holds.
  public init(_ content: GeneratedContent) throws {
    guard let value = content.decimal else { throw content.mismatch("a number that a decimal can hold") }
    self = value
  }

  /// The number as content, with all its digits. NaN stays what it is in content; as JSON it is `null`.
  public var generatedContent: GeneratedContent { GeneratedContent(decimal: self) }
}
