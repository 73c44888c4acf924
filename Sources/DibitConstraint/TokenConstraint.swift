internal import Synchronization

/// A constraint over the tokens of a vocabulary; made once for both, and shared by all texts that are generated under it.
///
/// It keeps what tokens do in the states it has met: the first text of a kind is slower than those behind it.
package final class TokenConstraint: Sendable {
  /// The tokens.
  package let vocabulary: TokenVocabulary
  let grammar: Grammar
  let costs: Costs
  private let leafTokens = Mutex(Known())

  private struct Known {
    var tokens: [Int32: LeafTokens] = [:]
    var size = 0
  }

  /// The most tokens in what is kept, 12 bytes each: a long pattern has thousands of states, and each may allow most of a vocabulary.
  private static let sizeLimit = 4_000_000

  /// - Throws: ``ConstraintError/unspeakable`` when the vocabulary cannot spell any text that the constraint allows.
  package init(_ constraint: Constraint, vocabulary: TokenVocabulary) throws(ConstraintError) {
    self.vocabulary = vocabulary
    grammar = constraint.grammar
    costs = Costs(grammar, leaves: grammar.automaton.distances(using: vocabulary))
    guard costs.value(0, depthLeft: grammar.maximumDepth) < Costs.impossible else { throw .unspeakable }
  }

  /// The state before the first token.
  package func start() -> ConstraintState { ConstraintState(self) }

  /// Returns the effect of the tokens from a state of a leaf.
  func tokens(at state: Int32) -> LeafTokens {
    if state < grammar.leaves.count {
      if let known = vocabulary.sharedTokens.withLock({ $0[state] }) { return known }
    } else if let known = leafTokens.withLock({ $0.tokens[state] }) {
      return known
    }
    // Made outside of the lock: two that make the same one at once make equals.
    let tokens = LeafTokens(
      state: state, automaton: grammar.automaton, costs: costs.leaves, body: grammar.leaves.textBody, vocabulary: vocabulary)
    if state < grammar.leaves.count {
      vocabulary.sharedTokens.withLock { $0[state] = tokens }
    } else {
      leafTokens.withLock { known in
        known.size += tokens.inside.count + tokens.exits.count
        if known.size > Self.sizeLimit {
          known.tokens.removeAll()
          known.size = tokens.inside.count + tokens.exits.count
        }
        known.tokens[state] = tokens
      }
    }
    return tokens
  }
}
