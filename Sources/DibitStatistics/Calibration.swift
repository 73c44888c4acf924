internal import DibitTensor

/// A group of examples of similar confidence: a point of a reliability diagram.
package struct CalibrationBin: Equatable, Sendable {
  /// The lowest confidence of the bin.
  package let lower: Double
  /// The highest confidence of the bin.
  package let upper: Double
  /// Examples in the bin.
  package let count: Int
  /// Their mean confidence; 0 in an empty bin.
  package let confidence: Double
  /// The share of them that are right; 0 in an empty bin.
  package let accuracy: Double

  /// A bin of known values.
  package init(lower: Double, upper: Double, count: Int, confidence: Double, accuracy: Double) {
    (self.lower, self.upper, self.count, self.confidence, self.accuracy) = (
      lower, upper, count, confidence, accuracy
    )
  }
}

/// The trustworthiness of confidences: a confidence of 80 % should be right in 80 % of cases.
///
/// Sources: Naeini, Cooper and Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning" (2015); Guo et al., "On
/// calibration of modern neural networks" (2017); for bins of equal mass Nguyen and O'Connor (2015).
package struct Calibration: Equatable, Sendable {
  /// The borders of bins: the rule for where one ends and the next begins.
  package enum Binning: Equatable, Sendable {
    /// Confidences `((m - 1) / M, m / M]`; bins may be empty.
    case equalWidth
    /// The same number of examples in every bin as far as possible: examples of one confidence stay together.
    case equalMass
  }

  /// The bins from low to high confidence.
  package let bins: [CalibrationBin]

  /// Sorts examples into `bins` bins; `confidences` are probabilities of what was predicted, `hits` says whether that was right.
  package init(confidences: [Double], hits: [Bool], bins: Int = 15, binning: Binning = .equalWidth) {
    require(
      confidences.count == hits.count && bins > 0,
      "Calibration: \(confidences.count) confidences, \(hits.count) outcomes, \(bins) bins")
    switch binning {
    case .equalWidth:
      var members = [[Int]](repeating: [], count: bins)
      for (index, confidence) in confidences.enumerated() {
        members[Self.bin(of: confidence, bins)].append(index)
      }
      self.bins = members.enumerated().map { bin, members in
        Self.bin(
          members, confidences, hits, lower: Double(bin) / Double(bins),
          upper: Double(bin + 1) / Double(bins))
      }
    case .equalMass:
      let order = confidences.indices.sorted {
        confidences[$0] < confidences[$1] || confidences[$0] == confidences[$1] && $0 < $1
      }
      var (result, start): ([CalibrationBin], Int) = ([], 0)
      for bin in 1...bins {
        // As numpy.array_split: the first bins take one example more where they do not divide evenly.
        var end = max(start, order.count / bins * bin + min(bin, order.count % bins))
        while end > start, end < order.count, confidences[order[end]] == confidences[order[end - 1]] { end += 1 }
        guard end > start else { continue }
        let members = Array(order[start..<end])
        result.append(
          Self.bin(
            members, confidences, hits, lower: confidences[members[0]],
            upper: confidences[members[members.count - 1]]))
        start = end
      }
      self.bins = result
    }
  }

  private static func bin(
    _ members: [Int], _ confidences: [Double], _ hits: [Bool], lower: Double, upper: Double
  ) -> CalibrationBin {
    let n = Double(max(members.count, 1))
    return CalibrationBin(
      lower: lower, upper: upper, count: members.count,
      confidence: members.reduce(0) { $0 + confidences[$1] } / n,
      accuracy: Double(members.count { hits[$0] }) / n)
  }

  /// The mean distance of confidence and accuracy over examples (ECE).
  package var expectedError: Double {
    let total = bins.reduce(0) { $0 + $1.count }
    return total > 0
      ? bins.reduce(0) { $0 + Double($1.count) * abs($1.confidence - $1.accuracy) } / Double(total)
      : 0
  }

  /// ``expectedError`` over `bins` bins of equal width of the examples at `indices`, which may repeat: what a bootstrap asks for.
  package static func expectedError(confidences: [Double], hits: [Bool], bins: Int, at indices: [Int]) -> Double {
    var sums = [Double](repeating: 0, count: bins)
    for index in indices { sums[bin(of: confidences[index], bins)] += (hits[index] ? 1 : 0) - confidences[index] }
    return indices.isEmpty ? 0 : sums.reduce(0) { $0 + abs($1) } / Double(indices.count)
  }

  /// The bin of equal width that a confidence belongs to.
  private static func bin(of confidence: Double, _ bins: Int) -> Int {
    min(bins - 1, max(0, Int((confidence * Double(bins)).rounded(.up)) - 1))
  }

  /// The largest distance of confidence and accuracy in a bin that has examples (MCE).
  package var maximumError: Double {
    bins.reduce(0) { $1.count > 0 ? max($0, abs($1.confidence - $1.accuracy)) : $0 }
  }
}
