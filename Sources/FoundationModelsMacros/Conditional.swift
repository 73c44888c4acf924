#if FoundationModelsMacros
  internal import SwiftSyntax

  /// A member of a type, or members under `#if`.
  ///
  /// Which branch is active is the compiler's to say: an expansion repeats the conditions around whatever comes of the members.
  indirect enum Conditional<Element> {
    /// One branch: the line that opens it, and what is declared in it.
    struct Clause {
      let header: String
      let members: [Conditional]
    }

    case element(Element)
    case directive([Clause])

    /// This member with each element replaced.
    func map<Other>(_ transform: (Element) -> Other) -> Conditional<Other> {
      switch self {
      case .element(let element): .element(transform(element))
      case .directive(let clauses):
        .directive(clauses.map { Conditional<Other>.Clause(header: $0.header, members: $0.members.map { $0.map(transform) }) })
      }
    }

    /// The elements of all branches.
    var elements: [Element] {
      switch self {
      case .element(let element): [element]
      case .directive(let clauses): clauses.flatMap { $0.members.flatMap(\.elements) }
      }
    }

    /// True for members under `#if`.
    var isDirective: Bool {
      if case .directive = self { true } else { false }
    }
  }

  extension Conditional {
    /// The members of a type, as far as they are of interest.
    ///
    /// - Parameters:
    ///   - items: The members.
    ///   - select: What a declaration gives; nothing where it is of no interest.
    static func members(of items: MemberBlockItemListSyntax, _ select: (DeclSyntax) -> [Element]) -> [Conditional] {
      items.flatMap { item -> [Conditional] in
        guard let directive = item.decl.as(IfConfigDeclSyntax.self) else { return select(item.decl).map(Conditional.element) }
        let clauses = directive.clauses.map { clause in
          Clause(
            header: ([clause.poundKeyword.text] + (clause.condition.map { [$0.trimmedDescription] } ?? [])).joined(separator: " "),
            members: clause.elements?.as(MemberBlockItemListSyntax.self).map { members(of: $0, select) } ?? [])
        }
        return clauses.allSatisfy(\.members.isEmpty) ? [] : [.directive(clauses)]
      }
    }
  }
#endif
