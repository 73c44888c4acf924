package import DibitReport
internal import Glibc

extension RunRecords {
  /// Returns the outcomes that a report is computed from; an example that has no scores has empty rows.
  ///
  /// With `answersSets` the run gives each example a set of labels besides the likeliest one.
  package func outcomes(_ kind: ReportedRun.Kind, answersSets: Bool = false) -> RunOutcomes {
    let scores = records.map(\.scores)
    var outcomes = RunOutcomes(name: name, kind: kind, logProbabilities: scores.map { $0?.logProbabilities ?? [] }, seconds: seconds)
    outcomes.latencies = latencies
    outcomes.tokens = promptTokens
    if answersSets {
      outcomes.tags = scores.map { Set($0?.chosen ?? []) }
      outcomes.inclusion = scores.map { $0?.inclusion ?? [] }
    }
    return outcomes
  }
}
