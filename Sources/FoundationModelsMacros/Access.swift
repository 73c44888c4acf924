#if FoundationModelsMacros
  internal import SwiftSyntax

  /// The access that a declaration states.
  enum Access: String {
    case `public`, package, `internal`, `fileprivate`, `private`

    /// Reads modifiers, but not those that are about a setter.
    init(_ modifiers: DeclModifierListSyntax) {
      self = modifiers.lazy.compactMap { $0.detail == nil ? Access(rawValue: $0.name.text) : nil }.first ?? .internal
    }

    /// The modifier for the members that the protocol asks for, with a space behind it.
    ///
    /// They need one only outside of the module; below that they are as visible as their type.
    var ofMember: String { self == .public || self == .package ? rawValue + " " : "" }
  }
#endif
