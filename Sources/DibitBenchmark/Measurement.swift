/// The values that several runs measured.
package struct Measurement: Equatable, Sendable {
  /// One value for each run, sorted.
  package let values: [Double]

  /// These values, one at least.
  package init(_ values: [Double]) { self.values = values.sorted() }

  /// The middle one, or the mean of the two in the middle.
  package var median: Double {
    guard !values.isEmpty else { return .nan }
    return (values[(values.count - 1) / 2] + values[values.count / 2]) / 2
  }

  /// The least and the most.
  package var spread: ClosedRange<Double> { (values.first ?? 0)...(values.last ?? 0) }
}

/// Seconds since `start`.
func seconds(since start: ContinuousClock.Instant) -> Double {
  let time = (ContinuousClock.now - start).components
  return Double(time.seconds) + Double(time.attoseconds) * 1e-18
}
