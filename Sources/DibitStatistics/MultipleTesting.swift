/// Corrections for looking at several p-values at once: of twenty true null hypotheses one is below 0.05.
package enum MultipleTesting {
  /// Holm's step-down correction: below alpha, at most a share alpha of whole studies has any false finding.
  ///
  /// Source: Holm, "A simple sequentially rejective multiple test procedure" (1979).
  package static func holm(_ pValues: [Double]) -> [Double] {
    zip(pValues, holmFactors(pValues)).map { min(1, $0 * $1) }
  }

  /// The factors with which Holm's correction multiplies p-values: from the number of p-values for the smallest to 1 for the largest, but
  /// no product below that of a smaller one.
  ///
  /// An interval at level `1 - alpha / factor` leaves out what its test refutes at alpha once the p-value is corrected.
  package static func holmFactors(_ pValues: [Double]) -> [Double] {
    let order = pValues.indices.sorted { pValues[$0] < pValues[$1] }
    var (factors, largest) = (pValues, 0.0)
    for (rank, index) in order.enumerated() {
      let count = Double(pValues.count - rank)
      let product = count * pValues[index]
      factors[index] = largest > product ? largest / pValues[index] : count
      largest = max(largest, product)
    }
    return factors
  }

  /// Benjamini and Hochberg's step-up correction: below alpha, at most a share alpha of the findings is false on average.
  ///
  /// Source: Benjamini and Hochberg, "Controlling the false discovery rate" (1995).
  package static func benjaminiHochberg(_ pValues: [Double]) -> [Double] {
    let order = pValues.indices.sorted { pValues[$0] > pValues[$1] }
    var (adjusted, smallest) = (pValues, 1.0)
    for (position, index) in order.enumerated() {
      smallest = min(
        smallest, Double(pValues.count) / Double(pValues.count - position) * pValues[index])
      adjusted[index] = smallest
    }
    return adjusted
  }
}
