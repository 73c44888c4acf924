public import Foundation

// Models write the arguments of a call as an object with named members, which a bare value has none of. These members are more
// specific than the default one, so a tool with such arguments and no schema of its own does not compile.

extension Tool where Arguments == String {
  /// Not there: a `String` has no named members.
  @available(*, unavailable, message: "A tool cannot take 'String' as its 'Arguments'. Use '@Generable' struct instead.")
  public var parameters: GenerationSchema { Arguments.generationSchema }
}

extension Tool where Arguments == Int {
  /// Not there: an `Int` has no named members.
  @available(*, unavailable, message: "A tool cannot take 'Int' as its 'Arguments'. Use '@Generable' struct instead.")
  public var parameters: GenerationSchema { Arguments.generationSchema }
}

extension Tool where Arguments == Double {
  /// Not there: a `Double` has no named members.
  @available(*, unavailable, message: "A tool cannot take 'Double' as its 'Arguments'. Use '@Generable' struct instead.")
  public var parameters: GenerationSchema { Arguments.generationSchema }
}

extension Tool where Arguments == Float {
  /// Not there: a `Float` has no named members.
  @available(*, unavailable, message: "A tool cannot take 'Float' as its 'Arguments'. Use '@Generable' struct instead.")
  public var parameters: GenerationSchema { Arguments.generationSchema }
}

extension Tool where Arguments == Decimal {
  /// Not there: a `Decimal` has no named members.
  @available(*, unavailable, message: "A tool cannot take 'Decimal' as its 'Arguments'. Use '@Generable' struct instead.")
  public var parameters: GenerationSchema { Arguments.generationSchema }
}

extension Tool where Arguments == Bool {
  /// Not there: a `Bool` has no named members.
  @available(*, unavailable, message: "A tool cannot take 'Bool' as its 'Arguments'. Use '@Generable' struct instead.")
  public var parameters: GenerationSchema { Arguments.generationSchema }
}
