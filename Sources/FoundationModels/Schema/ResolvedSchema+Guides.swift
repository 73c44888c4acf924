internal import DibitJSON

/// The type and property that a guide belongs to.
struct GuideOwner {
  let type: String
  let property: String?
}

extension ResolvedSchema.Node {
  /// Narrows the values by a guide. `type` is the name of the type that has it.
  ///
  /// - Throws: ``UnsupportedGuide`` if the guide does not apply, contradicts earlier ones, or cannot be expressed.
  mutating func apply(_ rule: GuideRule, of owner: GuideOwner, type: String) throws {
    do throws(Fault) {
      try apply(rule)
    } catch {
      let reason = error.reason ?? "it does not apply to \(type)"
      throw UnsupportedGuide(type: owner.type, property: owner.property, guide: rule.description, reason: reason)
    }
  }

  /// The reason against a guide; nil when it does not apply.
  private struct Fault: Error {
    var reason: String?
  }

  private mutating func apply(_ rule: GuideRule) throws(Fault) {
    switch (rule, shape) {
    case (.constant(let value), .scalar(.string, let limits)): shape = try Self.text([value], limits)
    case (.anyOf(let values), .scalar(.string, let limits)): shape = try Self.text(values, limits)
    case (.pattern(let pattern), .scalar(.string, var limits)):
      guard let text = pattern.text else { throw Fault(reason: "the expression has no pattern, because there is code in it") }
      guard limits.pattern == nil || limits.pattern == text else { throw Fault(reason: "there is another pattern beside it") }
      limits.pattern = text
      shape = .scalar(.string, limits)
    case (.minimum(let limit), .scalar(let kind, var limits)) where kind == .integer || kind == .number:
      limits.minimum = try Self.tighter(limits.minimum, limit) { $0 > $1 }
      shape = try Self.number(kind, limits)
    case (.maximum(let limit), .scalar(let kind, var limits)) where kind == .integer || kind == .number:
      limits.maximum = try Self.tighter(limits.maximum, limit) { $0 < $1 }
      shape = try Self.number(kind, limits)
    case (.minimumCount(let count), .array(let element, let minimum, let maximum)):
      shape = try Self.array(element, max(count, minimum ?? count), maximum, given: count)
    case (.maximumCount(let count), .array(let element, let minimum, let maximum)):
      shape = try Self.array(element, minimum, min(count, maximum ?? count), given: count)
    case (.element(let inner), .array(var element, let minimum, let maximum)):
      try element.apply(inner)
      shape = .array(element, minimum: minimum, maximum: maximum)
    default: throw Fault()
    }
  }

  private static func text(_ values: [String], _ limits: ResolvedSchema.ScalarLimits) throws(Fault) -> ResolvedSchema.Shape {
    guard !values.isEmpty else { throw Fault(reason: "it leaves no choice") }
    var limits = limits
    if let earlier = limits.values {
      let allowed = Set(values)
      limits.values = earlier.filter(allowed.contains)
      guard limits.values?.isEmpty == false else { throw Fault(reason: "it excludes everything that another guide allows") }
    } else {
      limits.values = values
    }
    return .scalar(.string, limits)
  }

  private static func tighter(
    _ earlier: GuideRule.Limit?, _ limit: GuideRule.Limit, isTighter: (Double, Double) -> Bool
  ) throws(Fault) -> GuideRule.Limit {
    guard let value = limit.value else { throw Fault(reason: "JSON cannot express the limit exactly") }
    guard let earlier, let before = earlier.value else { return limit }
    if case (.integer(let one), .integer(let two)) = (value, before), let sign = Double(exactly: one > two ? 1 : one < two ? -1 : 0) {
      return isTighter(sign, 0) ? limit : earlier
    }
    guard let one = value.double, let two = before.double else { return limit }
    return isTighter(one, two) ? limit : earlier
  }

  private static func number(_ kind: ScalarKind, _ limits: ResolvedSchema.ScalarLimits) throws(Fault) -> ResolvedSchema.Shape {
    if let minimum = limits.minimum?.value, let maximum = limits.maximum?.value {
      let isReversed: Bool
      if case (.integer(let one), .integer(let two)) = (minimum, maximum) {
        isReversed = one > two
      } else {
        isReversed = minimum.double ?? 0 > maximum.double ?? 0
      }
      guard !isReversed else {
        let texts = (limits.minimum?.text ?? "", limits.maximum?.text ?? "")
        throw Fault(reason: "the minimum \(texts.0) is over the maximum \(texts.1)")
      }
    }
    return .scalar(kind, limits)
  }

  private static func array(
    _ element: ResolvedSchema.Node, _ minimum: Int?, _ maximum: Int?, given count: Int
  ) throws(Fault) -> ResolvedSchema.Shape {
    guard count >= 0 else { throw Fault(reason: "a count is not negative") }
    if let minimum, let maximum, minimum > maximum {
      throw Fault(reason: "the minimum \(minimum) is over the maximum \(maximum)")
    }
    return .array(element, minimum: minimum, maximum: maximum)
  }
}
