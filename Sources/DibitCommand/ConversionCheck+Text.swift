internal import Dibit
internal import DibitFailure
internal import DibitInference
internal import DibitJSON

extension ConversionCheck {
  /// For people.
  var line: String {
    let divergence = "\(decimal(comparison.divergence, 4)) ± \(decimal(comparison.standardError, 4))"
    return "\(verdict.rawValue), on \(counted(tokens, "token")) of its own texts: divergence \(divergence) nats/token, "
      + "same most likely token \(percent(comparison.agreement)) (in \(duration(seconds)))"
  }

  /// For machines.
  var json: JSONValue {
    [
      "verdict": .string("\(verdict)"), "tokens": .integer(tokens), "kl_divergence": .number(comparison.divergence),
      "standard_error": .number(comparison.standardError), "top_1_agreement": .number(comparison.agreement),
      "perplexity_ratio": .number(comparison.ratio), "seconds": .number(seconds),
    ]
  }
}
