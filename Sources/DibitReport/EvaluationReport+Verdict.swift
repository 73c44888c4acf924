internal import DibitStatistics

extension EvaluationReport {
  /// The standing of the subject against the runs that it must beat.
  package enum Standing: String, Equatable, Sendable {
    /// Better than the base and than every baseline, beyond noise.
    case better
    /// Not shown to be better than all of them.
    case unproven
    /// Not shown to be better than all of them, by texts of which even a run that is always right would need more to be shown better.
    case tooFew = "too_few"
    /// Worse than one of them, beyond noise.
    case worse
    /// It answers exactly as the base does: an adapter that changes nothing, or was not applied.
    case identical
    /// There is nothing to compare with.
    case alone
  }

  /// The standing of the report's ``subject``, by accuracy and corrected p-values.
  package var standing: Standing {
    let found = rivals.map { comparison(subject?.name ?? "", $0.name) }
    if found.isEmpty { return .alone }
    if twin != nil { return .identical }
    if found.contains(where: { $0?.isWorse == true }) { return .worse }
    if found.allSatisfy({ $0?.isBetter == true }) { return .better }
    return textsForPerfection.map { $0 > examples } == true ? .tooFew : .unproven
  }

  /// The strongest rival that is not beaten beyond noise; baselines first, for they cost nothing.
  private var unbeaten: ReportedRun? {
    guard let subject else { return nil }
    let unbeaten = rivals.filter { comparison(subject.name, $0.name)?.isBetter != true }
    let cheap = unbeaten.filter { $0.kind == .baseline }
    return best(of: cheap.isEmpty ? unbeaten : cheap)
  }

  /// The number of texts that are likely (0.8) to show a run better than the strongest unbeaten rival that has all of them right; nil where
  /// that was not tested. A rival that has all of a few right is not known to be always right: its share is then the middle of Wilson's
  /// interval.
  private var textsForPerfection: Int? {
    guard let subject, let rival = unbeaten, let found = comparison(subject.name, rival.name) else { return nil }
    let hits = ConfidenceInterval.wilson(successes: examples, of: examples)
    let share = rival.metrics.accuracy < 1 ? rival.metrics.accuracy : (hits.lower + hits.upper) / 2
    return PairedOutcomes.examplesNeeded(difference: 1 - share, alpha: 0.05 / found.correction)
  }

  /// The runs that the subject must beat: the base model, unless it is the subject, and every baseline.
  private var rivals: [ReportedRun] {
    guard let subject else { return [] }
    return runs.filter { $0.kind == .base && $0.name != subject.name } + baselines
  }

  /// The base model, where the subject gives every label of every text the very same probability.
  private var twin: ReportedRun? {
    guard let subject else { return nil }
    return rivals.first { $0.kind == .base && comparison(subject.name, $0.name)?.isIdentical == true }
  }

  /// One sentence: is the subject better than the base and than every baseline, by how much, and how sure is that.
  package var verdict: String {
    guard let subject, examples > 0 else { return "Nothing was evaluated." }
    let share = "\(percent(subject.metrics.accuracy)) of \(examples) \(plural(examples, "text")) right"
    let name = describe(subject)
    let favourite = best(of: baselines)
    let base = rivals.first { $0.kind == .base }
    switch standing {
    case .alone: return "\(capital(name)) has \(share); there is nothing to compare it with."
    case .identical:
      return "\(capital(name)) changes nothing: every label of every text has the very same probability as in the base model; \(share)."
    case .better:
      let over = [base.map { "than the base model (\(gain(subject, $0)))" }, favourite.map { "\(theBest($0)) (\(gain(subject, $0)))" }]
      return "\(capital(name)) is better \(over.compactMap(\.self).joined(separator: " and ")): \(share)."
    case .worse:
      let rival = best(of: rivals.filter { comparison(subject.name, $0.name)?.isWorse == true }) ?? subject
      return
        "\(capital(name)) is worse than \(describe(rival)): \(share) against \(percent(rival.metrics.accuracy)) (\(gain(subject, rival)))."
    case .unproven, .tooFew:
      guard let rival = unbeaten else { return "\(capital(name)) has \(share)." }
      let against = "\(share) against \(percent(rival.metrics.accuracy))"
      guard comparison(subject.name, rival.name) != nil else {
        return "\(capital(name)) has \(against) of \(describe(rival)); whether that is more than noise was not tested."
      }
      let isBest = rival.name == favourite?.name
      let which = isBest ? "the best baseline, \(describe(rival))" : describe(rival)
      guard standing == .tooFew else {
        return "\(capital(name)) does not beat \(which)\(isBest ? "," : "") beyond noise: \(against) (\(gain(subject, rival)))."
      }
      let texts = "\(examples) \(plural(examples, "text")) \(examples == 1 ? "is" : "are")"
      return "\(texts) too few to tell whether \(name) beats \(which): \(percent(subject.metrics.accuracy)) right against "
        + "\(percent(rival.metrics.accuracy)) (\(gain(subject, rival))). \(enough(subject, rival))"
    }
  }

  /// Says how many texts would do, and where to get them.
  private func enough(_ subject: ReportedRun, _ rival: ReportedRun) -> String {
    let perfect = textsForPerfection.map { "about \($0) texts would show one that is always right" } ?? ""
    let found = comparison(subject.name, rival.name)
    let here = found.flatMap { $0.difference > 0 ? $0.examplesNeeded : nil }.map { ", about \($0) a difference like this one" } ?? ""
    return capital(perfect + here) + (subject.kind == .adapter ? "; 'dibit crossvalidate' asks about all texts." : ".")
  }

  private func best(of runs: [ReportedRun]) -> ReportedRun? {
    runs.first.map { first in runs.reduce(first) { $1.metrics.accuracy > $0.metrics.accuracy ? $1 : $0 } }
  }

  private func theBest(_ baseline: ReportedRun) -> String {
    baselines.count > 1 ? "than all \(baselines.count) baselines, the best being \(describe(baseline))" : "than \(describe(baseline))"
  }

  /// "+7.1 points, 95 % interval +3.2 to +11.0, p = 0.0004".
  private func gain(_ a: ReportedRun, _ b: ReportedRun) -> String {
    guard let found = comparison(a.name, b.name) else { return "not tested" }
    let level = fixed(100 * found.interval.level, 0)
    return
      "\(points(found.difference)) points, \(level) % interval \(points(found.interval.lower)) to \(points(found.interval.upper)), \(pText(found.pValue))"
  }

  /// The run in running text.
  private func describe(_ run: ReportedRun) -> String {
    switch run.kind {
    case .base: "the base model"
    case .adapter: "adapter '\(shortened(run.name))'"
    case .float: "the model in floats '\(shortened(run.name))'"
    case .model: "model '\(shortened(run.name))'"
    case .baseline: "'\(shortened(run.name))'"
    }
  }

  private func capital(_ text: String) -> String { text.prefix(1).uppercased() + text.dropFirst() }
}
