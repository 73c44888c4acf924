internal import DibitTensor
internal import RealModule

/// The growth of accuracy with the number of training texts, and the gain that more of them would bring.
///
/// `error(n) = c + a n^-b` with `c, a ≥ 0` is fitted to the errors of trainings on n texts; with fewer than four sizes, which cannot tell
/// c from the rest, c is 0. For each of ``exponents`` the best c and a are those of weighted least squares, an error of variance v
/// counting 1 / v; the exponent with the least sum is kept. That is as robust as it is plain: there is nothing to start from, nothing to
/// converge, and errors of 0 are no harder than others. Sources: Cortes et al., "Learning curves: asymptotic values and rate of
/// convergence" (1993); Viering and Loog, "The shape of learning curves: a review" (2022).
package struct LearningCurve: Equatable, Sendable {
  /// The result of training on some texts.
  package struct Point: Equatable, Sendable {
    /// The number of training texts.
    package let texts: Int
    /// For each training on so many texts whether each test text was right: the same test texts in the same order for all points.
    package let hits: [[Bool]]

    /// A point of one or several trainings.
    package init(texts: Int, hits: [[Bool]]) { (self.texts, self.hits) = (texts, hits) }

    /// The share of wrong answers over all trainings.
    package var error: Double {
      Double(hits.reduce(0) { $0 + $1.count { !$0 } }) / Double(max(1, hits.reduce(0) { $0 + $1.count }))
    }
  }

  /// A fitted curve.
  package struct Fit: Equatable, Sendable {
    /// The error that no number of texts goes below, c.
    package let limit: Double
    /// The factor a.
    package let scale: Double
    /// The exponent b.
    package let exponent: Double
    /// The root of the mean squared distance between curve and points, in standard errors of the points: some 1 at most where the points
    /// lie on such a curve but for the draw of the test texts.
    package let misfit: Double

    /// The error after training on `texts` texts.
    package func error(_ texts: Int) -> Double { limit + scale * .exp(-exponent * .log(Double(texts))) }
  }

  /// The reasons for which the curve says nothing about more texts.
  package enum Doubt: Error, Equatable, Sendable {
    /// There are fewer than three sizes.
    case tooFewPoints(Int)
    /// From the smallest to the largest size accuracy did not grow beyond noise: where its true growth is.
    case flat(growth: ConfidenceInterval)
    /// The points do not lie on a curve of this form: so many standard errors away.
    case rough(misfit: Double)
    /// The number asked for is more than the training texts there are.
    case tooFar(most: Int)
  }

  /// The expected result of more texts.
  package struct Prediction: Equatable, Sendable {
    /// All training texts.
    package let texts: Int
    /// The accuracy with them.
    package let accuracy: Double
    /// The interval of that accuracy, as far as the test texts tell.
    package let interval: ConfidenceInterval
    /// The height above the curve at the texts that there are.
    package let gain: Double
    /// The interval of that gain.
    package let gainInterval: ConfidenceInterval
  }

  /// The exponents that are tried, from 0.02 to 3 in equal ratios.
  package static let exponents: [Double] = (0..<160).map { 0.02 * .exp(Double($0) / 159 * .log(150)) }

  /// The points, by number of texts.
  package let points: [Point]
  /// The fitted curve; nil with fewer than three sizes.
  package let fit: Fit?
  private let solver: CurveSolver

  /// A curve through `points`, whose sizes are positive and differ; all have outcomes of the same number of test texts.
  package init(_ points: [Point]) {
    let tests = points.first?.hits.first?.count ?? 0
    require(
      points.allSatisfy { $0.texts > 0 && !$0.hits.isEmpty && $0.hits.allSatisfy { $0.count == tests } }
        && Set(points.map(\.texts)).count == points.count,
      "LearningCurve: sizes \(points.map(\.texts)), outcomes \(points.map { $0.hits.map(\.count) })")
    self.points = points.sorted { $0.texts < $1.texts }
    // An error of 0 or 1 has no variance of its own: Laplace's estimate has.
    let variances = self.points.map { point in
      let smoothed = (point.error * Double(tests) + 1) / Double(tests + 2)
      return smoothed * (1 - smoothed) / Double(max(tests, 1))
    }
    solver = CurveSolver(sizes: self.points.map(\.texts), weights: variances.map { 1 / $0 }, hasLimit: self.points.count > 3)
    fit = self.points.count < 3 ? nil : solver.solve(self.points.map(\.error))
  }

  /// Predicts the result of `more` texts beside those of the largest point, or tells why the curve cannot.
  ///
  /// Test texts are drawn anew `bootstrap.resamples` times, and where a size was trained several times its trainings too; the curve is
  /// fitted to each draw, and the quantiles of what the fits say are the interval. With one training of each size the interval does not
  /// know that another would have come out otherwise.
  package func prediction(more: Int, bootstrap: Bootstrap = Bootstrap()) -> Result<Prediction, Doubt> {
    require(more >= 0, "LearningCurve.prediction: \(more) more texts")
    guard let fit, let largest = points.last else { return .failure(.tooFewPoints(points.count)) }
    let tests = largest.hits[0].count
    guard tests > 0 else { return .failure(.tooFewPoints(0)) }
    var (growths, gains): ([Double], [Double]) = ([], [])
    var generator = SplitMix64(seed: bootstrap.seed, purpose: "learning.trainings")
    let errors = bootstrap.distribution(count: tests) { indices in
      let errors = points.map { point in
        let count = point.hits.count
        let trainings = count > 1 ? point.hits.indices.map { _ in generator.below(count) } : [0]
        let wrong = trainings.reduce(0) { sum, training in
          let hits = point.hits[training]
          return indices.reduce(sum) { $0 + (hits[$1] ? 0 : 1) }
        }
        return Double(wrong) / Double(trainings.count * indices.count)
      }
      growths.append(errors[0] - errors[errors.count - 1])
      let drawn = solver.solve(errors)
      let error = drawn.error(largest.texts + more)
      gains.append(drawn.error(largest.texts) - error)
      return error
    }
    func interval(_ values: [Double]) -> ConfidenceInterval {
      let sorted = values.sorted()
      let tail = (1 - bootstrap.level) / 2
      return ConfidenceInterval(
        lower: Bootstrap.quantile(tail, of: sorted), upper: Bootstrap.quantile(1 - tail, of: sorted), level: bootstrap.level)
    }
    let growth = interval(growths)
    guard growth.lower > 0 else { return .failure(.flat(growth: growth)) }
    guard fit.misfit <= 2 else { return .failure(.rough(misfit: fit.misfit)) }
    guard more <= largest.texts else { return .failure(.tooFar(most: largest.texts)) }
    let error = fit.error(largest.texts + more)
    return .success(
      Prediction(
        texts: largest.texts + more, accuracy: 1 - error, interval: interval(errors.map { 1 - $0 }),
        gain: fit.error(largest.texts) - error, gainInterval: interval(gains)))
  }
}

/// Weighted least squares over the exponents: what does not depend on the errors is computed once.
private struct CurveSolver: Equatable, Sendable {
  private let weights: [Double]
  private let hasLimit: Bool
  /// `n^-b` for each exponent and size.
  private let powers: [[Double]]

  init(sizes: [Int], weights: [Double], hasLimit: Bool) {
    (self.weights, self.hasLimit) = (weights, hasLimit)
    powers = LearningCurve.exponents.map { exponent in sizes.map { .exp(-exponent * .log(Double($0))) } }
  }

  func solve(_ errors: [Double]) -> LearningCurve.Fit {
    let total = weights.reduce(0, +)
    let sum = zip(weights, errors).reduce(0) { $0 + $1.0 * $1.1 }
    var best: (limit: Double, scale: Double, exponent: Double, squares: Double) = (0, 0, 0, .infinity)
    for (exponent, row) in zip(LearningCurve.exponents, powers) {
      var (x, xx, xy) = (0.0, 0.0, 0.0)
      for index in row.indices {
        let weighted = weights[index] * row[index]
        x += weighted
        xx += weighted * row[index]
        xy += weighted * errors[index]
      }
      // No limit, no slope, and both where neither is negative: the least squares under the constraints are among these.
      var candidates = [(limit: 0.0, scale: max(0, xy / xx))]
      if hasLimit {
        candidates.append((limit: sum / total, scale: 0))
        let determinant = total * xx - x * x
        let both = (limit: (xx * sum - x * xy) / determinant, scale: (total * xy - x * sum) / determinant)
        if both.limit > 0, both.scale > 0 { candidates.append(both) }
      }
      for (limit, scale) in candidates {
        let squares = squares(errors, row, limit, scale)
        if squares < best.squares { best = (limit, scale, exponent, squares) }
      }
    }
    return LearningCurve.Fit(
      limit: best.limit, scale: best.scale, exponent: best.exponent, misfit: .sqrt(best.squares / Double(errors.count)))
  }

  private func squares(_ errors: [Double], _ row: [Double], _ limit: Double, _ scale: Double) -> Double {
    var sum = 0.0
    for index in row.indices {
      let distance = errors[index] - limit - scale * row[index]
      sum += weights[index] * distance * distance
    }
    return sum
  }
}
