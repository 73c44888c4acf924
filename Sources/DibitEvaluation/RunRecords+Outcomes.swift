public import DibitReport
internal import Glibc

extension RunRecords {
  /// What a report is computed from: the outcomes of the examples at `examples`, all of which have scores.
  ///
  /// With `answersSets` the run gives each example a set of labels besides the likeliest one.
  public func outcomes(_ kind: ReportedRun.Kind, at examples: [Int], answersSets: Bool = false) -> RunOutcomes {
    let scores = examples.compactMap { records[$0].scores }
    var outcomes = RunOutcomes(name: name, kind: kind, logProbabilities: scores.map(\.logProbabilities), seconds: seconds)
    outcomes.latencies = latencies
    outcomes.tokens = promptTokens
    if answersSets {
      outcomes.tags = scores.map { Set($0.chosen) }
      outcomes.inclusion = scores.map(\.inclusion)
    }
    return outcomes
  }
}
