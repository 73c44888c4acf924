internal import DibitTensor
internal import RealModule

/// The standard normal distribution.
package enum Normal {
  /// The probability of a value at most `x`.
  package static func cumulative(_ x: Double) -> Double { 0.5 * .erfc(-x / .sqrt(2)) }

  /// The value that is not exceeded with probability `p`; infinite at 0 and 1.
  ///
  /// Acklam's rational approximation (relative error 1.15e-9), then one step of Halley's method down to rounding.
  package static func quantile(_ p: Double) -> Double {
    require(p >= 0 && p <= 1, "Normal.quantile: \(p) is no probability")
    if p == 0 { return -.infinity }
    if p == 1 { return .infinity }
    // The upper half by symmetry, so that both tails are equally exact.
    if p > 0.5 { return -quantile(1 - p) }
    let start: Double
    if p < 0.02425 {
      let q = Double.sqrt(-2 * .log(p))
      start =
        horner(
          q,
          [
            -7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838, -2.549732539343734,
            4.374664141464968, 2.938163982698783,
          ])
        / horner(
          q,
          [7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996, 3.754408661907416, 1])
    } else {
      let q = p - 0.5
      let r = q * q
      start =
        q
        * horner(
          r,
          [
            -3.969683028665376e+01, 2.209460984245205e+02, -2.759285104469687e+02,
            1.383577518672690e+02, -3.066479806614716e+01, 2.506628277459239,
          ])
        / horner(
          r,
          [
            -5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
            6.680131188771972e+01, -1.328068155288572e+01, 1,
          ])
    }
    let step = (cumulative(start) - p) * .sqrt(2 * .pi) * .exp(start * start / 2)
    return step.isFinite ? start - step / (1 + start * step / 2) : start
  }

  private static func horner(_ x: Double, _ coefficients: [Double]) -> Double {
    coefficients.reduce(0) { $0 * x + $1 }
  }
}

/// The number of successes in independent trials.
package enum Binomial {
  /// The probability of exactly `k` successes in `n` trials of probability `p`.
  package static func mass(_ k: Int, of n: Int, _ p: Double) -> Double {
    guard k >= 0, k <= n else { return 0 }
    if p <= 0 { return k == 0 ? 1 : 0 }
    if p >= 1 { return k == n ? 1 : 0 }
    let choose =
      Double.logGamma(Double(n) + 1) - .logGamma(Double(k) + 1) - .logGamma(Double(n - k) + 1)
    return .exp(choose + Double(k) * .log(p) + Double(n - k) * .log(onePlus: -p))
  }

  /// The probability of at most `k` successes in `n` trials of probability `p`.
  ///
  /// Sums from the larger end of the shorter tail until terms no longer count: O(√n) terms, as their number is a few standard deviations.
  package static func cumulative(_ k: Int, of n: Int, _ p: Double) -> Double {
    if k < 0 { return 0 }
    if k >= n || p <= 0 { return 1 }
    if p >= 1 { return 0 }
    if Double(k) > Double(n) * p { return 1 - cumulative(n - k - 1, of: n, 1 - p) }
    var (term, sum, successes) = (1.0, 1.0, k)
    while successes > 0, term > sum * 1e-18 {
      term *= Double(successes) / Double(n - successes + 1) * ((1 - p) / p)
      sum += term
      successes -= 1
    }
    return min(1, mass(k, of: n, p) * sum)
  }
}
