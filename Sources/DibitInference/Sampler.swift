internal import DibitTensor

/// Chooses tokens from logits; the same seed and logits choose the same tokens.
///
/// Its memory is made for the first token and used again for each further one.
package struct Sampler: Sendable {
  private let options: SamplingOptions
  private var recent: RecentTokens
  private var selection: TokenSelection
  private var scores: [Float] = []  // [V] logits after mask and penalty, where either is in use

  /// A sampler that starts at its seed and has seen no token.
  package init(_ options: SamplingOptions) {
    require(
      options.repetitionPenalty > 0 && options.repetitionPenalty.isFinite,
      "Sampler: a repetition penalty of \(options.repetitionPenalty); it must be a positive number")
    self.options = options
    recent = RecentTokens(window: options.penalizes ? options.repetitionWindow : 0)
    selection = TokenSelection(options)
  }

  /// Tells of a token that now stands in the text: the prompt's, those that ``next(_:allowed:)`` chose, and those that were put there
  /// without asking. The repetition penalty looks back at them.
  package mutating func record(_ id: Int32) { recent.record(id) }

  /// The next token; the lower id wins a tie. It is not recorded.
  ///
  /// - Parameters:
  ///   - logits: `[V]` logits. `-∞` is a token that cannot be.
  ///   - allowed: a bit for each token, the lowest of the first word for token 0; a token beyond the words, or whose bit is 0, is not
  ///     considered. Nil allows all.
  /// - Throws: ``InferenceError/notFinite(position:)`` for a logit that is not a number or +∞, and for logits that are all -∞;
  ///   ``InferenceError/noAllowedToken(position:)`` where no allowed token can be.
  package mutating func next(_ logits: Span<Float>, allowed: Span<UInt64>? = nil) throws(InferenceError) -> Int32 {
    let choice: Int?
    if allowed != nil || options.penalizes {
      Self.prepare(logits, allowed, recent.ids, penalty: options.repetitionPenalty, into: &scores)
      choice = selection.choose(scores)
    } else {
      choice = selection.choose(logits)
    }
    if let choice { return Int32(choice) }
    let position = max(0, recent.recorded - 1)
    throw allowed != nil && selection.isEmpty ? .noAllowedToken(position: position) : .notFinite(position: position)
  }

  /// Writes the logits of allowed tokens to `scores`, those of recent ones penalised.
  private static func prepare(
    _ logits: Span<Float>, _ allowed: Span<UInt64>?, _ recent: [Int32], penalty: Float, into scores: inout [Float]
  ) {
    if scores.count != logits.count { scores = [Float](repeating: 0, count: logits.count) }
    var span = scores.mutableSpan
    if let allowed {
      for word in 0..<(logits.count + 63) / 64 { copy(logits, word, bits: word < allowed.count ? allowed[word] : 0, to: &span) }
    } else {
      for index in logits.indices { span[index] = logits[index] }
    }
    for id in recent where id >= 0 && Int(id) < logits.count {
      if let allowed, Int(id) / 64 >= allowed.count || allowed[Int(id) / 64] >> UInt64(id % 64) & 1 == 0 { continue }
      // From the logit itself: a token that occurred twice is penalised once.
      let logit = logits[Int(id)]
      span[Int(id)] = logit < 0 ? logit * penalty : logit / penalty
    }
  }

  /// Copies the 64 logits of a word of the mask, or what is left of them.
  private static func copy(_ logits: Span<Float>, _ word: Int, bits: UInt64, to scores: inout MutableSpan<Float>) {
    let first = word * 64
    let count = min(64, logits.count - first)
    switch bits {
    case 0: for index in first..<first + count { scores[index] = -.infinity }
    case .max: for index in first..<first + count { scores[index] = logits[index] }
    default:
      // Without a branch: the bits of a constraint's mask follow no pattern that a processor could guess.
      for bit in 0..<count {
        let keep = 0 &- UInt32(truncatingIfNeeded: bits >> UInt64(bit) & 1)
        scores[first + bit] = Float(bitPattern: logits[first + bit].bitPattern & keep | (-Float.infinity).bitPattern & ~keep)
      }
    }
  }
}
