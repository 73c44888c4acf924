/// A type whose values a model can generate: it has a schema, which the model is held to, and conversions from and to content.
///
/// The macro `@Generable` writes the conformance.
public protocol Generable: ConvertibleFromGeneratedContent, ConvertibleToGeneratedContent {
  /// The type of a value that is not complete yet, as it appears in the snapshots of a stream.
  associatedtype PartiallyGenerated: ConvertibleFromGeneratedContent = Self

  /// The schema that generated values satisfy.
  static var generationSchema: GenerationSchema { get }
}

extension Generable {
  /// Returns the value in the form that snapshots have, with all its parts present.
  ///
  /// It is a fault of the program when a partial type cannot be made from the content of a complete value.
  ///
  /// - Returns: The value as a partial one.
  public func asPartiallyGenerated() -> PartiallyGenerated {
    if let same = self as? PartiallyGenerated { return same }
    do {
      return try PartiallyGenerated(generatedContent)
    } catch {
      preconditionFailure("\(PartiallyGenerated.self) cannot be made from the content of a complete \(Self.self): \(error)")
    }
  }
}
