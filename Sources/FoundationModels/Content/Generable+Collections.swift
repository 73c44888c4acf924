extension Array: Generable where Element: Generable {
  /// An array of elements that may not be complete yet.
  public typealias PartiallyGenerated = [Element.PartiallyGenerated]

  /// The schema of arrays whose elements satisfy that of the element's type.
  public static var generationSchema: GenerationSchema { GenerationSchema(node: .array(.type(Element.self))) }
}

extension Array: ConvertibleToGeneratedContent where Element: ConvertibleToGeneratedContent {
  /// The array as content.
  public var generatedContent: GeneratedContent { GeneratedContent(kind: .array(map(\.generatedContent))) }
}

extension Array: ConvertibleFromGeneratedContent where Element: ConvertibleFromGeneratedContent {
  /// The array that the content is. A last element that is a beginning and cannot be converted yet is left out.
  ///
  /// - Parameters:
  ///   - content: The content.
  /// - Throws: ``GeneratedContent/ParsingError`` if it is something else or an element is, or what the conversion of an element throws.
  public init(_ content: GeneratedContent) throws {
    if content.isUndetermined {
      self = []
      return
    }
    guard case .array(let elements) = content.kind else { throw content.mismatch("an array") }
    self = []
    reserveCapacity(elements.count)
    for (index, element) in elements.enumerated() {
      do {
        if let value: Element = try element.valueIfDetermined() { append(value) }
      } catch let error as GeneratedContent.ParsingError {
        throw error.within("Element \(index)")
      }
    }
  }
}

extension Optional where Wrapped: Generable {
  /// The type of a value that is not complete yet: the wrapped type's.
  public typealias PartiallyGenerated = Wrapped.PartiallyGenerated
}

extension Optional: ConvertibleToGeneratedContent, PromptRepresentable, InstructionsRepresentable
where Wrapped: ConvertibleToGeneratedContent {
  /// The wrapped value as content, or null.
  public var generatedContent: GeneratedContent { self?.generatedContent ?? GeneratedContent(kind: .null) }

  /// The wrapped value as a prompt; nothing where there is none.
  public var promptRepresentation: Prompt { self?.promptRepresentation ?? Prompt(segments: []) }

  /// The wrapped value as instructions; nothing where there is none.
  public var instructionsRepresentation: Instructions { self?.instructionsRepresentation ?? Instructions(segments: []) }
}
