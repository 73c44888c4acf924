/// Corrections for looking at several p-values at once: of twenty true null hypotheses one is below 0.05.
public enum MultipleTesting {
  /// Holm's step-down correction: below alpha, at most a share alpha of whole studies has any false finding.
  ///
  /// Source: Holm, "A simple sequentially rejective multiple test procedure" (1979).
  public static func holm(_ pValues: [Double]) -> [Double] {
    let order = pValues.indices.sorted { pValues[$0] < pValues[$1] }
    var (adjusted, largest) = (pValues, 0.0)
    for (rank, index) in order.enumerated() {
      largest = max(largest, min(1, Double(pValues.count - rank) * pValues[index]))
      adjusted[index] = largest
    }
    return adjusted
  }

  /// Benjamini and Hochberg's step-up correction: below alpha, at most a share alpha of the findings is false on average.
  ///
  /// Source: Benjamini and Hochberg, "Controlling the false discovery rate" (1995).
  public static func benjaminiHochberg(_ pValues: [Double]) -> [Double] {
    let order = pValues.indices.sorted { pValues[$0] > pValues[$1] }
    var (adjusted, smallest) = (pValues, 1.0)
    for (place, index) in order.enumerated() {
      smallest = min(
        smallest, Double(pValues.count) / Double(pValues.count - place) * pValues[index])
      adjusted[index] = smallest
    }
    return adjusted
  }
}
