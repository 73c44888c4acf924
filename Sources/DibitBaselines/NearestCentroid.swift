internal import DibitTensor
internal import RealModule

/// The label whose examples' mean direction is closest to the features' direction.
///
/// Rows are scaled to length 1, a label's centroid is the mean of its rows scaled to length 1 again, and the score is the cosine. Cosines
/// become probabilities through `softmax(sharpness · cosine)`; the sharpness is the one under which the training rows are most likely, each
/// measured against a centroid that was made without it.
package struct NearestCentroid: FeatureBaseline, Equatable {
  /// By what cosines are multiplied before the softmax.
  package let sharpness: Double
  /// `labels` rows of length 1, or of zeros for a label without examples.
  private let centroids: [[Double]]

  /// Learns from `features`, rows of one length, and their `labels`, indices below `count`.
  ///
  /// - Complexity: O(rows · labels · columns).
  package init(features: [[Float]], labels: [Int], count: Int) {
    let columns = features.first?.count ?? 0
    require(
      features.count == labels.count && features.allSatisfy { $0.count == columns },
      "NearestCentroid: \(features.count) rows of \(columns), \(labels.count) labels")
    let rows = features.map { Self.unit($0.map(Double.init)) }
    let support = MajorityClass.support(labels, count)
    var sums = [[Double]](repeating: [Double](repeating: 0, count: columns), count: count)
    for (row, label) in zip(rows, labels) {
      for column in 0..<columns { sums[label][column] += row[column] }
    }
    let centroids = sums.map(Self.unit)
    self.centroids = centroids
    var held: [(cosines: [Double], label: Int)] = []
    for (row, label) in zip(rows, labels) where support[label] > 1 {
      var cosines = centroids.map { Self.dot(row, $0) }
      var others = sums[label]
      for column in 0..<columns { others[column] -= row[column] }
      cosines[label] = Self.dot(row, Self.unit(others))
      held.append((cosines, label))
    }
    sharpness = Self.likeliest(held)
  }

  /// The cosine of `features` with each label's centroid.
  package func cosines(_ features: [Float]) -> [Double] {
    require(
      features.count == centroids.first?.count ?? 0,
      "NearestCentroid: \(features.count) features, \(centroids.first?.count ?? 0) known")
    let row = Self.unit(features.map(Double.init))
    return centroids.map { Self.dot(row, $0) }
  }

  /// The logarithm of each label's probability.
  package func logProbabilities(_ features: [Float]) -> [Double] {
    normalized(cosines(features).map { $0 * sharpness })
  }

  /// The sharpness between e^-2 and e^8 with the smallest log loss, by golden sections of its logarithm; 10 without examples.
  private static func likeliest(_ examples: [(cosines: [Double], label: Int)]) -> Double {
    guard !examples.isEmpty else { return 10 }
    func loss(_ exponent: Double) -> Double {
      let sharpness = Double.exp(exponent)
      return examples.reduce(0) { $0 - normalized($1.cosines.map { $0 * sharpness })[$1.label] }
    }
    let ratio = (Double.sqrt(5) - 1) / 2
    var (low, high) = (-2.0, 8.0)
    var (left, right) = (high - ratio * (high - low), low + ratio * (high - low))
    var (leftLoss, rightLoss) = (loss(left), loss(right))
    for _ in 0..<40 {
      if leftLoss <= rightLoss {
        (high, right, rightLoss) = (right, left, leftLoss)
        left = high - ratio * (high - low)
        leftLoss = loss(left)
      } else {
        (low, left, leftLoss) = (left, right, rightLoss)
        right = low + ratio * (high - low)
        rightLoss = loss(right)
      }
    }
    return .exp((low + high) / 2)
  }

  private static func unit(_ row: [Double]) -> [Double] {
    let length = Double.sqrt(dot(row, row))
    return length > 0 ? row.map { $0 / length } : row
  }

  private static func dot(_ a: [Double], _ b: [Double]) -> Double {
    var sums = SIMD8<Double>()
    let whole = a.count / 8 * 8
    for start in stride(from: 0, to: whole, by: 8) {
      var (x, y) = (SIMD8<Double>(), SIMD8<Double>())
      for lane in 0..<8 { (x[lane], y[lane]) = (a[start + lane], b[start + lane]) }
      sums += x * y
    }
    var sum = sums.sum()
    for index in whole..<a.count { sum += a[index] * b[index] }
    return sum
  }
}
