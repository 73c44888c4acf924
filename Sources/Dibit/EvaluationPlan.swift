package import DibitEvaluation

/// The work of an evaluation, part by part: each can be kept when it is done, so that a stopped evaluation goes on behind it.
package struct EvaluationPlan {
  /// The work of a part.
  package enum Work {
    case subject(EvaluationStudy.Subject)
    case baselines([BaselineKind])
  }

  /// A part.
  package struct Part {
    /// The name that its file is called after.
    package let name: String
    /// The work that a stopped job says that it was doing.
    package let title: String
    /// The work of the part.
    package let work: Work

    /// True where it is worth a file of its own, and known well enough to be found again.
    package let isKept: Bool

    /// True where it runs baselines.
    package var isBaseline: Bool { if case .baselines = work { true } else { false } }
  }

  /// Models and adapters, the base first.
  package let subjects: [EvaluationStudy.Subject]
  /// The parts of the work, in order.
  package let parts: [Part]

  /// Every subject is a part, kept where `isIdentified` says so of its name, and so are the baselines that share embeddings, the few-shot
  /// prompt of `shots` examples, and what runs no model, which is done in less time than a model takes. The names of parts tell which baselines they are.
  package init(_ subjects: [EvaluationStudy.Subject], baselines: [BaselineKind], shots: Int, isIdentified: (_ name: String) -> Bool) {
    self.subjects = subjects
    var parts = subjects.enumerated().map { index, subject in
      Part(
        name: "run-\(index + 1)", title: "evaluating \(subject.subject.name)", work: .subject(subject),
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
  package var base: EvaluationSubject { subjects[0].subject }

  /// The names of all parts that are kept.
  package var keptNames: [String] { parts.filter(\.isKept).map(\.name) }
}
