/// The rounding error of a float result: `length` terms added in some order, then `steps` more operations, on values whose
/// magnitudes add up to `magnitude`. Errors of either sign walk randomly, hence the square root.
package func roundingTolerance(length: Int, magnitude: Double, steps: Int = 4) -> Double {
  Double(Float.ulpOfOne) * (Double(length).squareRoot() + Double(steps)) * magnitude + Double(Float.leastNonzeroMagnitude)
}

/// The cell that exceeds its tolerance most.
package struct Mismatch: Equatable, Sendable, CustomStringConvertible {
  /// Where it lies.
  package let row: Int
  /// Where it lies in its row.
  package let column: Int
  /// What the oracle says.
  package let expected: Double
  /// What the op says.
  package let found: Double
  /// How far apart they may be.
  package let tolerance: Double
  /// How many cells exceed their tolerance.
  package let cells: Int
  /// How many cells were compared.
  package let count: Int

  /// Cell, both values, and how common the difference is.
  package var description: String {
    "worst cell [\(row), \(column)]: expected \(expected), found \(found), difference \(found - expected), tolerance \(tolerance); "
      + "\(cells) of \(count) cells differ"
  }
}

/// Nil when every cell is within its tolerance. A NaN is never within.
package func mismatch(_ found: [Float], _ expected: [Double], columns: Int = 1, tolerance: (_ index: Int) -> Double) -> Mismatch? {
  precondition(found.count == expected.count, "\(found.count) values found, \(expected.count) expected")
  var (cells, worst, excess) = (0, 0, 0.0)
  for index in found.indices {
    let over = abs(Double(found[index]) - expected[index]) / tolerance(index)
    guard !(over <= 1) else { continue }
    cells += 1
    if cells == 1 || !(over <= excess) { (worst, excess) = (index, over) }
  }
  if cells == 0 { return nil }
  return Mismatch(
    row: worst / columns, column: worst % columns, expected: expected[worst], found: Double(found[worst]), tolerance: tolerance(worst),
    cells: cells, count: found.count)
}

/// As above with one tolerance for all cells.
package func mismatch(_ found: [Float], _ expected: [Double], columns: Int = 1, within tolerance: Double) -> Mismatch? {
  mismatch(found, expected, columns: columns) { _ in tolerance }
}

/// Nil when both have the same bits.
package func bitMismatch(_ found: [Float], _ expected: [Float], columns: Int = 1) -> Mismatch? {
  precondition(found.count == expected.count, "\(found.count) values found, \(expected.count) expected")
  let different = found.indices.filter { found[$0].bitPattern != expected[$0].bitPattern }
  guard let first = different.first else { return nil }
  return Mismatch(
    row: first / columns, column: first % columns, expected: Double(expected[first]), found: Double(found[first]), tolerance: 0,
    cells: different.count, count: found.count)
}

/// The largest magnitude, at least `floor`.
package func largestMagnitude(_ x: [Double], atLeast floor: Double = 0) -> Double { x.reduce(floor) { max($0, abs($1)) } }

/// The norm of the difference over the norm of what is expected.
package func relativeNorm(_ found: [Float], _ expected: [Float]) -> Double {
  guard found.count == expected.count else { return .infinity }
  let difference = zip(found, expected).reduce(0.0) { $0 + (Double($1.0) - Double($1.1)) * (Double($1.0) - Double($1.1)) }
  return (difference / max(expected.reduce(0.0) { $0 + Double($1) * Double($1) }, 1e-300)).squareRoot()
}
