internal import DibitFailure
internal import DibitJSON
internal import DibitStatistics

/// The number of test texts that tell two runs apart which have right and wrong as differently as these two: see
/// ``PairedOutcomes/examplesNeeded(difference:discordance:power:alpha:)``.
struct TextsNeeded {
  /// Texts that both were asked about.
  let texts: Int
  /// The accuracy of the second less that of the first.
  let found: Double
  /// The share of texts that only one of both has right.
  let discordance: Double
  /// The difference, as a share, that a user wants to tell apart.
  let asked: Double
  private let alpha: Double

  /// The runs, true for each text that is right; several trainings on each side are paired in their order, and means count.
  ///
  /// - Parameter correction: what p-values are multiplied by, where this is one of several tests.
  init(_ first: [[Bool]], _ second: [[Bool]], asked: Double, correction: Double = 1) {
    let pairs = zip(first, second).map { PairedOutcomes(first: $1, second: $0) }
    func mean(_ value: (PairedOutcomes) -> Double) -> Double { pairs.reduce(0) { $0 + value($1) } / Double(max(pairs.count, 1)) }
    texts = first.first?.count ?? 0
    found = mean(\.difference)
    discordance = mean { Double($0.discordant) / Double(max($0.count, 1)) }
    (self.asked, alpha) = (asked, 0.05 / correction)
  }

  /// Returns the number of texts that show a difference with a chance of 80 %; nil for one that no number shows.
  func count(toTell difference: Double) -> Int? {
    PairedOutcomes.examplesNeeded(difference: difference, discordance: discordance, alpha: alpha)
  }

  /// The differences and their numbers, for machines.
  var json: JSONObject {
    func entry(_ difference: Double) -> JSONValue {
      ["difference": .number(difference), "texts_needed": count(toTell: difference).map { .integer($0) } ?? .null]
    }
    return JSONObject([
      ("texts", .integer(texts)), ("discordance", .number(discordance)), ("found", entry(found)), ("asked", entry(asked)),
    ])
  }

  /// "To tell 2.0 points apart, about 3,740 test texts would be needed, for the 3.1 points that were found about 1,560; there are 160."
  func sentence(_ noun: String) -> String {
    func about(_ difference: Double) -> String? { count(toTell: difference).map { "about \(grouped($0))" } }
    let own = about(found).map { ", for the \(decimal(abs(found) * 100, 1)) points that were found \($0)" } ?? ""
    let isRound = abs((asked * 1000).rounded() - asked * 1000) < 1e-6
    return "To tell \(decimal(asked * 100, isRound ? 1 : 3)) points apart, \(about(asked) ?? "more than any number of") "
      + "\(noun) would be needed\(own); there are \(grouped(texts))."
  }
}
