extension Bool: Generable {
  /// The schema of truth values.
  public static var generationSchema: GenerationSchema { GenerationSchema(node: .scalar(.boolean, name: "Bool")) }

  /// The truth value that the content is.
  ///
  /// - Parameters:
  ///   - content: The content.
  /// - Throws: ``GeneratedContent/ParsingError`` if it is something else.
  public init(_ content: GeneratedContent) throws {
    guard case .bool(let value) = content.kind else { throw content.mismatch("a boolean") }
    self = value
  }

  /// The truth value as content.
  public var generatedContent: GeneratedContent { GeneratedContent(kind: .bool(self)) }
}

extension String: Generable {
  /// The schema of texts.
  public static var generationSchema: GenerationSchema { GenerationSchema(node: .scalar(.string, name: "String")) }

  /// The text that the content is, or as much of it as is there.
  ///
  /// - Parameters:
  ///   - content: The content.
  /// - Throws: ``GeneratedContent/ParsingError`` if it is something else.
  public init(_ content: GeneratedContent) throws {
    guard case .string(let value) = content.kind else { throw content.mismatch("a string") }
    self = value
  }

  /// The text as content.
  public var generatedContent: GeneratedContent { GeneratedContent(kind: .string(self)) }
}

extension Never: Generable {
  /// A schema that no value satisfies; a model cannot be asked for it.
  public static var generationSchema: GenerationSchema { GenerationSchema(type: Never.self, anyOf: [String]()) }

  /// Always fails.
  ///
  /// - Parameters:
  ///   - content: The content.
  /// - Throws: ``GeneratedContent/ParsingError``
  public init(_ content: GeneratedContent) throws { throw content.mismatch("no value at all") }

  /// Content that there is none of.
  public var generatedContent: GeneratedContent { switch self {} }
}
