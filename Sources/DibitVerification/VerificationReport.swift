package import DibitJSON

/// The distance of a model from what an independent implementation computed with the same weights.
package struct VerificationReport: Equatable, Sendable {
  /// One tensor's distance from the reference.
  package struct Tensor: Equatable, Sendable {
    /// The tensor's name in the checkpoint; adapters': `<module>.A`, `<module>.B`.
    package let name: String
    /// The norm of the difference over the norm of the reference.
    package let relativeError: Double
  }

  /// Logits, loss and gradients of one run.
  package struct Run: Equatable, Sendable {
    /// The worst difference of a logit over the standard deviation of the reference's logits.
    package internal(set) var logitsRelativeError: Double
    /// The root of the mean squared difference over the same deviation.
    package internal(set) var logitsRMSError: Double
    /// The mean cross-entropy over the labelled positions, in nats.
    package internal(set) var loss: Double?
    /// The same of the reference; nil where it has none.
    package internal(set) var lossReference: Double?
    /// Every gradient that the reference has, in the order of the reference; nil when gradients were not asked for.
    package internal(set) var gradients: [Tensor]?

    /// The largest error of a gradient; nil without gradients.
    package var worstGradient: Tensor? { gradients?.max { $0.relativeError < $1.relativeError } }
  }

  /// The model alone.
  package internal(set) var base: Run
  /// The model with the reference's adapter; nil where the reference has none.
  package internal(set) var adapted: Run?

  /// The report for machines. Keys of the adapter's run begin with `lora_`; what the reference lacks is left out.
  package var json: JSONValue {
    .object(JSONObject(Self.members(base, prefix: "") + (adapted.map { Self.members($0, prefix: "lora_") } ?? [])))
  }

  private static func members(_ run: Run, prefix: String) -> [(key: String, value: JSONValue)] {
    var members: [(key: String, value: JSONValue)] = [
      (key: prefix + "logits_relative_error", value: number(run.logitsRelativeError)),
      (key: prefix + "logits_rms_error", value: number(run.logitsRMSError)),
    ]
    if let loss = run.loss { members.append((key: prefix + "loss", value: number(loss))) }
    if let loss = run.lossReference { members.append((key: prefix + "loss_reference", value: number(loss))) }
    if let gradients = run.gradients {
      let list = gradients.map { ["name": .string($0.name), "relative_error": number($0.relativeError)] as JSONValue }
      members.append((key: prefix + "gradients", value: .array(list)))
    }
    return members
  }

  /// JSON has no infinity and no NaN: such an error is `null`.
  private static func number(_ value: Double) -> JSONValue { value.isFinite ? .number(value) : .null }
}
