internal import DibitConstraint
internal import DibitJSON
internal import DibitTokenizer
internal import Synchronization

/// The constraints that a model's answers were lately under: making the vocabulary of one takes a tenth of a second, and what tokens do
/// under it is found out only once.
final class ConstraintCache: Sendable {
  private struct Key: Equatable {
    var format: Response.Format
    var schema: JSONValue?
    var endTokens: Set<Int32>
  }

  private struct State {
    var vocabularies: [Set<Int32>: TokenVocabulary] = [:]
    /// The last that was used stands at the end.
    var constraints: [(key: Key, constraint: TokenConstraint)] = []
  }

  private let state = Mutex(State())

  /// Constraints that are kept. Each may hold some megabytes of what tokens do.
  private static let limit = 8

  /// Returns the constraint that an answer must satisfy: the form that was asked for, otherwise the schema of a prompt; nil where there is
  /// neither.
  func constraint(
    _ format: Response.Format, otherwise schema: JSONValue? = nil, endTokens: Set<Int32>, _ tokenizer: Tokenizer
  ) throws(ConstraintError) -> TokenConstraint? {
    let key = Key(format: format, schema: format == .text ? schema : nil, endTokens: tokenizer.known(endTokens))
    let known = state.withLock { state -> TokenConstraint? in
      guard let index = state.constraints.firstIndex(where: { $0.key == key }) else { return nil }
      let used = state.constraints.remove(at: index)
      state.constraints.append(used)
      return used.constraint
    }
    if let known { return known }
    guard let constraint = try Constraint(format, otherwise: schema) else { return nil }
    let vocabulary: TokenVocabulary
    if let made = state.withLock({ $0.vocabularies[key.endTokens] }) {
      vocabulary = made
    } else {
      vocabulary = try TokenVocabulary(tokenizer, endTokens: key.endTokens)
    }
    let made = try TokenConstraint(constraint, vocabulary: vocabulary)
    state.withLock { state in
      state.vocabularies[key.endTokens] = vocabulary
      state.constraints.append((key, made))
      if state.constraints.count > Self.limit { state.constraints.removeFirst() }
    }
    return made
  }
}
