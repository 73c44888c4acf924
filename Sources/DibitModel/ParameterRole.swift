/// What a norm of a decoder normalises.
package enum NormKind: Hashable, CaseIterable, Sendable {
  /// What goes into attention.
  case attentionInput
  /// What attention adds to the residual stream.
  case attentionOutput
  /// What goes into the feed-forward.
  case feedForwardInput
  /// What the feed-forward adds to the residual stream.
  case feedForwardOutput
  /// The heads of the queries.
  case query
  /// The heads of the keys.
  case key
  /// What goes into the output head.
  case final
}

/// What a parameter is in its decoder.
package enum ParameterRole: Hashable, Sendable {
  /// A row for each token.
  case embedding
  /// A row for each position of the context.
  case positions
  /// An output head of its own.
  case head
  /// The factors of a norm.
  case norm(NormKind)
  /// What a norm adds.
  case normBias(NormKind)
  /// The matrix of a linear layer.
  case linear(LinearKind)
  /// What a linear layer adds.
  case linearBias(LinearKind)

  /// Whether weight decay and rounding apply: to matrices, not to norms and biases.
  package var isMatrix: Bool {
    switch self {
    case .embedding, .positions, .head, .linear: true
    case .norm, .normBias, .linearBias: false
    }
  }

  /// Whether it is a table with a row for each token or position, which other rules of rounding apply to.
  package var isTable: Bool {
    switch self {
    case .embedding, .positions, .head: true
    case .norm, .normBias, .linear, .linearBias: false
    }
  }

  /// Whether its products are added to the residual stream.
  package var addsToResidualStream: Bool { self == .linear(.output) || self == .linear(.down) }
}
