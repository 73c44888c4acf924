/// The error that a guide cannot be enforced, so that nothing is generated: it does not fit its type, contradicts another, or cannot be
/// expressed as a schema.
struct UnsupportedGuide: Error, Equatable, CustomStringConvertible {
  /// The name of the type or schema that has the guide.
  let type: String
  /// The property with the guide; nil when the guide belongs to no property.
  let property: String?
  /// The guide as somebody would write it.
  let guide: String
  /// A clause that says what is wrong.
  let reason: String

  var description: String {
    let owner = property.map { "Property '\($0)' of \(type)" } ?? type
    return "\(owner) has the guide \(guide), which is not supported: \(reason)."
  }
}

/// The error that a type's schema has no end, or is larger than any schema may be.
struct SchemaTooLarge: Error, Equatable, CustomStringConvertible {
  let description: String
}
