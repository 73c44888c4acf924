/// A type that can be made from what a model generated.
public protocol ConvertibleFromGeneratedContent: SendableMetatype {
  /// A value with the given content.
  ///
  /// - Parameters:
  ///   - content: The content that a model generated, perhaps only its beginning.
  /// - Throws: An error that says why the content is no such value; the conversions of this module throw ``GeneratedContent/ParsingError``.
  init(_ content: GeneratedContent) throws
}
