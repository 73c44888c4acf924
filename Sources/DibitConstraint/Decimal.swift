internal import DibitJSON

/// A limit of a schema, exactly: `digits × 10^exponent`.
struct Decimal: Hashable, Sendable {
  let digits: Int128
  let exponent: Int

  /// The decimal that a number of a document stands for: the shortest one that reads back as the same double.
  init?(_ value: JSONValue) {
    if case .integer(let integer) = value {
      (digits, exponent) = (Int128(integer), 0)
      return
    }
    guard let double = value.double, double.isFinite else { return nil }
    var (digits, exponent, sign): (Int128, Int, Int128) = (0, 0, 1)
    let parts = "\(double)".split(separator: "e")
    var isFraction = false
    for character in parts.first ?? "" {
      if character == "-" {
        sign = -1
      } else if character == "." {
        isFraction = true
      } else if let digit = character.wholeNumberValue {
        digits = digits * 10 + Int128(digit)
        if isFraction { exponent -= 1 }
      }
    }
    if parts.count == 2 { exponent += Int(parts[1]) ?? 0 }
    while digits != 0, digits % 10 == 0 {
      digits /= 10
      exponent += 1
    }
    (self.digits, self.exponent) = (sign * digits, exponent)
  }

  /// The value in units of `places` decimal places, rounded down or up; values beyond ±`limit` are cut to one beyond it.
  func scaled(places: Int, limit: Int128, roundingUp: Bool) -> Int128 {
    let shift = exponent + places
    if digits == 0 { return 0 }
    if shift >= 0 {
      var value = digits
      for _ in 0..<shift {
        value *= 10
        if value > limit || value < -limit { return value > 0 ? limit + 1 : -limit - 1 }
      }
      return min(max(value, -limit - 1), limit + 1)
    }
    var (value, isExact) = (digits, true)
    for _ in 0..<(-shift) where value != 0 {
      if value % 10 != 0 { isExact = false }
      value /= 10
    }
    // Division rounds toward zero.
    if !isExact, roundingUp == (digits > 0) { value += digits > 0 ? 1 : -1 }
    return min(max(value, -limit - 1), limit + 1)
  }

  /// The exponent n when this is 10⁻ⁿ, n from 1 to 15.
  var places: Int? { digits == 1 && (-15 ... -1).contains(exponent) ? -exponent : nil }

  /// The whole number, when it is one that fits.
  var integer: Int? {
    guard exponent >= 0, exponent < 19 else { return nil }
    let (product, overflow) = digits.multipliedReportingOverflow(by: NumberAutomaton.power(exponent))
    return overflow ? nil : Int(exactly: product)
  }
}

extension Decimal {
  /// The nearest double.
  var double: Double { Double("\(digits)e\(exponent)") ?? .nan }
}
