public import DibitJSON

/// How far a model is from what an independent implementation computed with the same weights.
public struct VerificationReport: Equatable, Sendable {
  /// One tensor's distance from the reference.
  public struct Tensor: Equatable, Sendable {
    /// The tensor's name in the checkpoint; adapters': `<module>.A`, `<module>.B`.
    public let name: String
    /// The norm of the difference over the norm of the reference.
    public let relativeError: Double
  }

  /// Logits, loss and gradients of one run.
  public struct Run: Equatable, Sendable {
    /// The worst difference of a logit over the standard deviation of the reference's logits.
    public internal(set) var logitsRelativeError: Double
    /// The root of the mean squared difference over the same deviation.
    public internal(set) var logitsRMSError: Double
    /// The mean cross-entropy over the labelled positions, in nats.
    public internal(set) var loss: Double?
    /// The same of the reference; nil where it has none.
    public internal(set) var lossReference: Double?
    /// Every gradient that the reference has, in the order of the reference; nil when gradients were not asked for.
    public internal(set) var gradients: [Tensor]?

    /// The largest error of a gradient; nil without gradients.
    public var worstGradient: Tensor? { gradients?.max { $0.relativeError < $1.relativeError } }
  }

  /// The model alone.
  public internal(set) var base: Run
  /// The model with the reference's adapter; nil where the reference has none.
  public internal(set) var adapted: Run?

  /// The report for machines. Keys of the adapter's run begin with `lora_`; what the reference lacks is left out.
  public var json: JSONValue {
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
