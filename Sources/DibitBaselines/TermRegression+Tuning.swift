extension TermRegression {
  /// The kinds of terms that ``tuned(texts:labels:count:threads:)`` tries, the simplest first.
  package static let kinds: [[TermKind]] = [[.words], [.pairs], [.letters], [.pairs, .letters]]
  /// The penalties that it tries, the strongest first. They are scikit-learn's C of 2, 8 and 32.
  package static let penalties = [0.5, 0.125, 0.03125]
  /// The penalty under which kinds of terms are compared.
  private static let usualPenalty = 0.125
  /// The most steps of a fit by which settings are compared.
  private static let steps = 15
  /// The tolerance of the fit with the chosen settings, scikit-learn's.
  private static let tolerance = 1e-4
  /// Texts of more characters than this together are not taken apart into runs of letters: three runs begin at every character.
  private static let characterLimit = 1 << 23
  /// The most products of a pass over the texts by which settings are chosen; of more texts a share must do.
  private static let productLimit = 1 << 25

  /// Learns with the terms, and then the penalty, that make the fewest mistakes in ``CrossValidation``; the first of equals.
  ///
  /// - Parameter threads: folds that are worked on at a time, at most; the result does not depend on it.
  package static func tuned(texts: [String], labels: [Int], count: Int, threads: Int = 1) -> TermRegression {
    let usesLetters = texts.reduce(0) { $0 + $1.utf8.count } <= characterLimit
    var counts: [TermKind: TermCounts] = [:]
    let kinds = kinds.filter { usesLetters || !$0.contains(.letters) }
    for kind in Set(kinds.joined()) { counts[kind] = TermCounts(texts, kind) }
    let entries = counts.values.reduce(0) { max($0, $1.entries) }
    let validation = CrossValidation(texts: texts, labels: labels, share: 1 + entries / (productLimit / max(count, 1) + 1))
    func best(_ candidates: [Setting]) -> Setting {
      candidates[
        validation.best(of: candidates.count, threads: threads) { learnt, asked in
          mistakes(candidates, counts, labels, count, validation, learnt, asked)
        }]
    }
    let terms = best(kinds.map { Setting($0, penalty: usualPenalty) }).kinds
    let setting = best(penalties.map { Setting(terms, penalty: $0) })
    return TermRegression(terms.compactMap { counts[$0] }, labels, count, setting, tolerance, weightLimit)
  }

  /// Counts the mistakes of each of `candidates` on the texts `asked`.
  ///
  /// Which label is likeliest is known long before the last digit is: fits end early, and each begins where the one before it ended, if that
  /// had the same terms.
  private static func mistakes(
    _ candidates: [Setting], _ counts: [TermKind: TermCounts], _ labels: [Int], _ count: Int, _ validation: CrossValidation,
    _ learnt: [Int], _ asked: [Int]
  ) -> [Double] {
    let truths = learnt.map { labels[$0] }
    var mistakes: [Double] = []
    var kinds: [TermKind] = []
    var (rows, probes) = (SparseRows(columns: 0), SparseRows(columns: 0))
    var start: LogisticRegression?
    for candidate in candidates {
      if kinds != candidate.kinds {
        kinds = candidate.kinds
        let terms = TermRows(kinds.compactMap { counts[$0] }, texts: learnt, limit: weightLimit / max(count, 1))
        (rows, probes, start) = (terms.rows(learnt), terms.rows(asked), nil)
      }
      var options = LogisticRegression.Options()
      (options.penalty, options.steps, options.memory) = (candidate.penalty, steps, memory)
      options.tolerance = 0.1 / Double(learnt.count)
      let regression = LogisticRegression(rows: rows, labels: truths, count: count, options: options, from: start)
      var row = 0
      mistakes.append(
        Double(
          validation.mistakes(asked) { _ in
            defer { row += 1 }
            return regression.logProbabilities(probes.entries(row))
          }))
      start = regression
    }
    return mistakes
  }
}
