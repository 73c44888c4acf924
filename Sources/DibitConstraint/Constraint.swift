package import DibitJSON

/// A rule for generated text: one of some strings, or JSON for a schema.
///
/// Made once and shared: nothing in it changes. Bind it to a vocabulary with ``TokenConstraint``.
package struct Constraint: Sendable {
  let grammar: Grammar

  /// The numbers of objects and arrays that may be open at a time.
  package static let depths = 1...64

  /// The text is exactly one of these strings. Where one begins with another, the text may end or go on.
  ///
  /// - Throws: ``ConstraintError/noChoices``, ``ConstraintError/duplicateChoice(_:)``, ``ConstraintError/tooLarge(what:limit:pointer:)``
  /// - Complexity: O(bytes)
  package init(choices: [String]) throws(ConstraintError) {
    guard !choices.isEmpty else { throw .noChoices }
    var seen = Set<[UInt8]>()
    var size = 0
    for choice in choices {
      guard seen.insert(Array(choice.utf8)).inserted else { throw .duplicateChoice(choice) }
      size += choice.utf8.count
    }
    guard size <= SchemaCompiler.stateLimit else {
      throw .tooLarge(what: "bytes of choices", limit: SchemaCompiler.stateLimit, pointer: "choices")
    }
    var grammar = Grammar(maximumDepth: 1)
    grammar.rules = [[.leaf(grammar.automaton.append(.trie(choices.map { Array($0.utf8) }), isTree: true))]]
    self.grammar = grammar
  }

  /// The text is one JSON value that satisfies the schema, without spaces.
  ///
  /// - Parameters:
  ///   - schema: A JSON Schema; see `docs/constraints.md` for its keywords. No keyword is ignored.
  ///   - maximumDepth: The most objects and arrays that are open at a time, from 1 to 64: the bound of recursive schemas.
  /// - Throws: ``ConstraintError``, with the location in the schema.
  package init(schema: JSONValue, maximumDepth: Int = 16) throws(ConstraintError) {
    guard Self.depths.contains(maximumDepth) else { throw .badDepth(maximumDepth, allowed: Self.depths) }
    grammar = try SchemaCompiler.compile(schema, maximumDepth: maximumDepth)
  }

  /// The text is one JSON value that satisfies the schema in this text.
  ///
  /// - Throws: ``ConstraintError``
  package init(schema text: String, maximumDepth: Int = 16) throws(ConstraintError) {
    let schema: JSONValue
    do throws(JSONError) {
      schema = try JSONValue(parsing: text)
    } catch {
      throw .json(error)
    }
    try self.init(schema: schema, maximumDepth: maximumDepth)
  }
}
