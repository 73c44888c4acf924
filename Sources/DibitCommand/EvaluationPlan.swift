internal import DibitEvaluation

/// What an evaluation does, part by part: each can be kept when it is done, so that a stopped evaluation goes on behind it.
struct EvaluationPlan {
  /// What a part does.
  enum Work {
    case subject(EvaluationStudy.Subject)
    case baselines([BaselineKind])
  }

  /// A part.
  struct Part {
    /// What its file is called after.
    let name: String
    /// What a stopped job says that it was doing.
    let title: String
    let work: Work

    /// Whether it is worth a file of its own, and known well enough to be found again.
    let isKept: Bool

    var isBaseline: Bool { if case .baselines = work { true } else { false } }
  }

  /// Models and adapters, the base first.
  let subjects: [EvaluationStudy.Subject]
  let parts: [Part]

  /// Every subject is a part, kept where `isIdentified` says so of its name, and so are the baselines that share embeddings, the few-shot
  /// prompt of `shots` examples, and what runs no model, which is as fast as reading a file. The names of parts tell which baselines they are.
  init(_ subjects: [EvaluationStudy.Subject], baselines: [BaselineKind], shots: Int, isIdentified: (_ name: String) -> Bool) {
    self.subjects = subjects
    var parts = subjects.enumerated().map { place, subject in
      Part(
        name: "run-\(place + 1)", title: "evaluating \(subject.subject.name)", work: .subject(subject),
        isKept: isIdentified(subject.subject.name))
    }
    let groups = [
      baselines.filter { !$0.runsModel }, baselines.filter { $0.runsModel && $0 != .shots }, baselines.filter { $0 == .shots },
    ]
    for kinds in groups where !kinds.isEmpty {
      let names = kinds.map { $0 == .shots ? "\($0.rawValue)-\(shots)" : $0.rawValue }
      parts.append(
        Part(
          name: "baselines-" + names.joined(separator: "-"), title: "the baselines", work: .baselines(kinds),
          isKept: kinds.contains(where: \.runsModel)))
    }
    self.parts = parts
  }

  /// The model without an adapter, beside which baselines run.
  var base: EvaluationSubject { subjects[0].subject }

  /// The names of all parts that are kept.
  var keptNames: [String] { parts.filter(\.isKept).map(\.name) }
}
