internal import DibitTensor

/// The gain of staying silent when unsure: the error among the answered examples, for every share that is answered.
///
/// Sources: El-Yaniv and Wiener, "On the foundations of noise-free selective classification" (2010); the excess area is of Geifman, Uziel
/// and El-Yaniv (2019).
package struct RiskCoverage: Equatable, Sendable {
  /// Answer where the confidence is at least `threshold`.
  package struct Point: Equatable, Sendable {
    /// The lowest confidence that is answered.
    package let threshold: Double
    /// The share of examples that is answered.
    package let coverage: Double
    /// The share of answers that is wrong.
    package let risk: Double

    /// A point of known values.
    package init(threshold: Double, coverage: Double, risk: Double) {
      (self.threshold, self.coverage, self.risk) = (threshold, coverage, risk)
    }
  }

  /// A point for each confidence that occurs, from the highest to the lowest; the last one answers everything.
  package let points: [Point]
  /// The mean risk over coverages 1/n, 2/n, … 1 (AURC); examples of one confidence come in any order, and their mean counts.
  package let area: Double
  /// ``area`` less that of an order which puts every right answer first (E-AURC): 0 at best.
  package let excessArea: Double

  /// The curve of examples with `confidences` of their predictions, which are right where `hits` says so.
  package init(confidences: [Double], hits: [Bool]) {
    require(
      confidences.count == hits.count,
      "RiskCoverage: \(confidences.count) confidences, \(hits.count) outcomes")
    let n = Double(max(hits.count, 1))
    let order = confidences.indices.sorted { confidences[$0] > confidences[$1] }
    var (points, area, errors, start): ([Point], Double, Int, Int) = ([], 0, 0, 0)
    while start < order.count {
      var end = start + 1
      while end < order.count, confidences[order[end]] == confidences[order[start]] { end += 1 }
      let wrong = order[start..<end].count { !hits[$0] }
      let rate = Double(wrong) / Double(end - start)
      for answered in start + 1...end {
        area += (Double(errors) + rate * Double(answered - start)) / Double(answered)
      }
      errors += wrong
      points.append(
        Point(
          threshold: confidences[order[start]], coverage: Double(end) / n,
          risk: Double(errors) / Double(end)))
      start = end
    }
    let right = hits.count - errors
    // The best order: no error among the first `right`, then nothing else.
    let best = errors > 0 ? (1...errors).reduce(0.0) { $0 + Double($1) / Double(right + $1) } : 0
    self.points = points
    self.area = area / n
    excessArea = (area - best) / n
  }

  /// The largest coverage whose risk is at most `risk`, with its point; nil when even the surest answers are worse.
  package func widest(risk: Double) -> Point? { points.last { $0.risk <= risk } }

  /// At most `count` points, evenly spread in coverage, the last one included: enough to draw the curve.
  package func thinned(to count: Int) -> [Point] {
    guard points.count > count, count > 1 else { return points }
    var (result, next): ([Point], Double) = ([], 1 / Double(count))
    for (index, point) in points.enumerated()
    where point.coverage >= next - 1e-12 || index == points.count - 1 {
      result.append(point)
      while next <= point.coverage + 1e-12 { next += 1 / Double(count) }
    }
    return result
  }
}
