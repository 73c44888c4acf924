/// The values that a norm of a decoder normalises.
package enum NormKind: Hashable, CaseIterable, Sendable {
  /// The input of attention.
  case attentionInput
  /// The contribution of attention to the residual stream.
  case attentionOutput
  /// The input of the feed-forward.
  case feedForwardInput
  /// The contribution of the feed-forward to the residual stream.
  case feedForwardOutput
  /// The heads of the queries.
  case query
  /// The heads of the keys.
  case key
  /// The input of the output head.
  case final
}

/// The factors of a low-rank matrix `B A`.
package enum LowRankFactor: Hashable, CaseIterable, Sendable {
  /// `A: [R, in]`.
  case a
  /// `B: [out, R]`.
  case b
}

/// The role of a parameter in its decoder.
package enum ParameterRole: Hashable, Sendable {
  /// A row for each token.
  case embedding
  /// A row for each position of the context.
  case positions
  /// An output head of its own.
  case head
  /// The factors of a norm.
  case norm(NormKind)
  /// The bias of a norm.
  case normBias(NormKind)
  /// The matrix of a linear layer.
  case linear(LinearKind)
  /// The bias of a linear layer.
  case linearBias(LinearKind)
  /// A factor of what a linear layer's recovery adds to its weight.
  case recovery(LinearKind, LowRankFactor)

  /// True when weight decay and rounding apply: for matrices, not for norms and biases.
  package var isMatrix: Bool {
    switch self {
    case .embedding, .positions, .head, .linear, .recovery: true
    case .norm, .normBias, .linearBias: false
    }
  }

  /// True for a table with a row for each token or position, which other rules of rounding apply to.
  package var isTable: Bool {
    switch self {
    case .embedding, .positions, .head: true
    case .norm, .normBias, .linear, .linearBias, .recovery: false
    }
  }

  /// True when its products are added to the residual stream.
  package var addsToResidualStream: Bool { self == .linear(.output) || self == .linear(.down) }
}
