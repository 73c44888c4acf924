import DibitStatistics
import DibitTensor
import RealModule
import Testing

@Suite struct LearningCurveTests {
  /// Points whose errors are those of a curve but for rounding to whole texts; the same texts are hard at every size.
  private func points(_ sizes: [Int], tests: Int, error: (Double) -> Double) -> [LearningCurve.Point] {
    sizes.map { size in
      let wrong = Int((error(Double(size)) * Double(tests)).rounded())
      return LearningCurve.Point(texts: size, hits: [(0..<tests).map { $0 >= wrong }])
    }
  }

  @Test("a known curve is found again", arguments: [(0.1, 2.0, 0.5), (0, 1.5, 0.3), (0.3, 4, 1)])
  func knownCurve(limit: Double, scale: Double, exponent: Double) throws {
    let error = { (n: Double) in limit + scale * .exp(-exponent * .log(n)) }
    let curve = LearningCurve(points([25, 50, 100, 200, 400], tests: 4000, error: error))
    let fit = try #require(curve.fit)
    #expect(fit.misfit < 0.1)
    // Errors are rounded to 1 / 4000 and exponents are 3 % apart, which c and a make up for.
    for texts in [25, 100, 400, 800] { #expect(abs(fit.error(texts) - error(Double(texts))) < 0.003, "\(texts)") }
    #expect(abs(fit.exponent - exponent) < 0.15 * exponent)
    let found = try curve.prediction(more: 400, bootstrap: Bootstrap(resamples: 30)).get()
    #expect(found.texts == 800)
    #expect(found.accuracy == 1 - fit.error(800))
    #expect(found.interval.lower < 1 - error(800) && 1 - error(800) < found.interval.upper)
    #expect(found.gainInterval.lower <= found.gain && found.gain <= found.gainInterval.upper)
  }

  @Test func threeSizesHaveNoLimit() throws {
    let curve = LearningCurve(points([100, 200, 400], tests: 5000) { 0.2 + 2 * .exp(-0.7 * .log($0)) })
    #expect(curve.fit?.limit == 0)
    #expect(try curve.prediction(more: 100, bootstrap: Bootstrap(resamples: 50)).get().gain > 0)
    let power = LearningCurve(points([100, 200, 400], tests: 5000) { 3 * .exp(-0.5 * .log($0)) })
    #expect(abs((power.fit?.exponent ?? 0) - 0.5) < 0.02)
  }

  @Test func whatTheCurveCannotTell() throws {
    let bootstrap = Bootstrap(resamples: 100)
    let known = points([25, 50, 100, 200], tests: 500) { 0.1 + 2 * .exp(-0.5 * .log($0)) }
    #expect(LearningCurve(Array(known.prefix(2))).prediction(more: 10) == .failure(.tooFewPoints(2)))
    #expect(LearningCurve(Array(known.prefix(2))).fit == nil)
    #expect(LearningCurve(known).prediction(more: 201, bootstrap: bootstrap) == .failure(.tooFar(most: 200)))
    #expect(throws: Never.self) { try LearningCurve(known).prediction(more: 200, bootstrap: bootstrap).get() }
    // A flat one: whether it has errors or none.
    for error in [0.4, 0.0] {
      let flat = LearningCurve(points([25, 50, 100, 200], tests: 300) { _ in error }).prediction(more: 50, bootstrap: bootstrap)
      #expect(flat == .failure(.flat(growth: ConfidenceInterval(lower: 0, upper: 0))))
    }
    // One that goes up and down by far more than noise.
    var errors = [0.7, 0.3, 0.6, 0.2].makeIterator()
    let zigzag = LearningCurve(points([25, 50, 100, 200], tests: 400) { _ in errors.next() ?? 0 })
    guard case .failure(.rough(let misfit)) = zigzag.prediction(more: 50, bootstrap: bootstrap) else {
      Issue.record("a curve through a zigzag")
      return
    }
    #expect(misfit > 2 && misfit == zigzag.fit?.misfit)
    // One that only gets worse never promises anything.
    let worse = LearningCurve(points([25, 50, 100, 200], tests: 400) { 0.2 + $0 / 1000 })
    #expect(worse.fit?.scale == 0)
    guard case .failure(.flat(let growth)) = worse.prediction(more: 50, bootstrap: bootstrap) else {
      Issue.record("a curve that falls")
      return
    }
    #expect(growth.upper < 0)
  }

  /// Test texts drawn at random from a known curve: most intervals hold the truth. Of 40 at 95 %, fewer than 33 would be a chance of
  /// one in a thousand; a curve that is bent a little less than it can be costs some.
  @Test func intervalsHoldTheTruth() {
    var generator = SplitMix64(seed: 12)
    let error = { (n: Double) in 0.15 + 2.5 * .exp(-0.6 * .log(n)) }
    var (told, covered) = (0, 0)
    for round in 0..<40 {
      // A text's difficulty is the same for all sizes.
      let difficulties = (0..<250).map { _ in Double(generator.uniform()) }
      let points = [30, 60, 120, 240].map { size in
        LearningCurve.Point(texts: size, hits: [difficulties.map { $0 > error(Double(size)) }])
      }
      guard case .success(let found) = LearningCurve(points).prediction(more: 200, bootstrap: Bootstrap(resamples: 40, seed: UInt64(round)))
      else { continue }
      told += 1
      if found.interval.lower <= 1 - error(440), 1 - error(440) <= found.interval.upper { covered += 1 }
    }
    #expect(told == 40)
    #expect(covered >= 33, "\(covered) of \(told)")
  }

  @Test func repeatsWidenTheInterval() throws {
    // Trainings of one size that come out differently: what a single one hides.
    func curve(_ spread: Double) -> LearningCurve {
      LearningCurve(
        [50, 100, 200, 400].map { size in
          let error = 0.1 + 3 * .exp(-0.5 * .log(Double(size)))
          let hits = [-1.0, 0, 1].map { sign in
            (0..<400).map { Double($0) / 400 >= error + sign * spread }
          }
          return LearningCurve.Point(texts: size, hits: hits)
        })
    }
    func width(_ curve: LearningCurve) throws -> Double {
      let interval = try curve.prediction(more: 100, bootstrap: Bootstrap(resamples: 100)).get().interval
      return interval.upper - interval.lower
    }
    #expect(curve(0.06).points[0].error == curve(0).points[0].error)
    #expect(try width(curve(0.06)) > 1.1 * width(curve(0)))
  }

  @Test func sameSeedSameAnswer() {
    let curve = LearningCurve(points([25, 50, 100, 200], tests: 200) { 0.1 + 2 * .exp(-0.5 * .log($0)) })
    let answer = curve.prediction(more: 100, bootstrap: Bootstrap(resamples: 50, seed: 3))
    #expect(answer == curve.prediction(more: 100, bootstrap: Bootstrap(resamples: 50, seed: 3)))
    #expect(answer != curve.prediction(more: 100, bootstrap: Bootstrap(resamples: 50, seed: 4)))
  }
}
