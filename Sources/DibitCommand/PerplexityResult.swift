internal import DibitFailure
internal import DibitInference
internal import DibitJSON

/// The findings of `dibit perplexity`, for people and for machines.
struct PerplexityResult {
  let text: MeasuredText
  let extent: String
  let model: Perplexity
  let comparison: PerplexityComparison?

  var json: JSONValue {
    var members: [(key: String, value: JSONValue)] = [
      (key: "documents", value: .integer(text.documents)), (key: "tokens", value: .integer(text.tokens)),
      (key: "bytes", value: .integer(text.bytes)), (key: "window", value: .integer(text.window)),
    ]
    members += rates(model)
    if let comparison {
      let divergence: JSONValue = [
        "mean": .number(comparison.divergence), "standard_error": .number(comparison.standardError),
        "percentile_99": .number(comparison.percentile99),
      ]
      members.append((key: "reference", value: .object(JSONObject(rates(comparison.reference)))))
      members.append((key: "perplexity_ratio", value: .number(comparison.ratio)))
      members.append((key: "kl_divergence", value: divergence))
      members.append((key: "top_1_agreement", value: .number(comparison.agreement)))
    }
    return .object(JSONObject(members))
  }

  private func rates(_ result: Perplexity) -> [(key: String, value: JSONValue)] {
    [
      (key: "loss", value: .number(result.loss)), (key: "perplexity", value: .number(result.value)),
      (key: "bits_per_byte", value: .number(result.bitsPerByte(bytes: text.bytes))),
      (key: "tokens_per_second", value: .number(result.tokensPerSecond)),
    ]
  }

  /// One model.
  func show() {
    Output.print("perplexity \(decimal(model.value, 3)) over \(extent)")
    Output.print(
      "\(decimal(model.loss, 4)) nats/token, \(decimal(model.bitsPerByte(bytes: text.bytes), 3)) bits/byte, "
        + "\(decimal(model.tokensPerSecond, 0)) tokens/s")
  }

  /// The model beside its reference.
  func show(model path: String, reference: String) {
    guard let comparison else { return }
    Output.print("\(extent), in windows of \(text.window)\n")
    let rows = [(path, model), (reference, comparison.reference)].map { path, result in
      [
        path, decimal(result.value, 3), decimal(result.loss, 4), decimal(result.bitsPerByte(bytes: text.bytes), 3),
        decimal(result.tokensPerSecond, 0),
      ]
    }
    printTable([["", "perplexity", "nats/token", "bits/byte", "tokens/s"]] + rows)
    let (mean, error) = (decimal(comparison.divergence, 4), decimal(comparison.standardError, 4))
    Output.print("\nperplexity over the reference's  \(decimal(comparison.ratio, 4))")
    Output.print("divergence from the reference    \(mean) ± \(error) nats/token, 99th percentile \(decimal(comparison.percentile99, 4))")
    Output.print("same most likely token           \(percent(comparison.agreement))")
  }
}
