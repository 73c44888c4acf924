import DibitReport
import DibitStatistics
import DibitTensor
import Foundation

/// A report as a real evaluation would make it, of simulated answers.
struct SampleReport {
  static let newsgroups = [
    "alt.atheism", "comp.graphics", "comp.os.ms-windows.misc", "comp.sys.ibm.pc.hardware",
    "comp.sys.mac.hardware", "comp.windows.x",
    "misc.forsale", "rec.autos", "rec.motorcycles", "rec.sport.baseball", "rec.sport.hockey",
    "sci.crypt", "sci.electronics", "sci.med",
    "sci.space", "soc.religion.christian", "talk.politics.guns", "talk.politics.mideast",
    "talk.politics.misc", "talk.religion.misc",
  ]

  var labels = newsgroups
  var examples = 400
  /// What each run adds to the true label's score: the larger, the more often it is right.
  var base = 1.6
  var adapter = 3.4
  var bayes = 2.6
  var seed: UInt64 = 7

  /// Scores of noise, with something added for the truth, and half of that for a neighbour, as confusable labels come in pairs.
  private func outcomes(
    _ name: String, _ kind: ReportedRun.Kind, _ truths: [Int], skill: Double, sharpness: Double,
    salt: UInt64
  ) -> RunOutcomes {
    var generator = SplitMix64(seed: seed &+ salt &* 1000)
    // Texts differ in how hard they are, for every run alike.
    var hardness = SplitMix64(seed: seed)
    let rows = truths.map { truth in
      let ease = 0.3 + 1.4 * Double(hardness.uniform())
      var scores = labels.indices.map { _ in Double(generator.normal()) }
      scores[truth] += skill * ease
      scores[truth ^ 1 < labels.count ? truth ^ 1 : truth] += skill * 0.4
      scores = scores.map { $0 * sharpness }
      let largest = scores.max() ?? 0
      let total = log(scores.reduce(0) { $0 + exp($1 - largest) })
      return scores.map { $0 - largest - total }
    }
    var outcomes = RunOutcomes(
      name: name, kind: kind, logProbabilities: rows,
      seconds: kind == .baseline ? 0 : 31.7 + Double(salt))
    if kind != .baseline {
      outcomes.latencies = truths.map { _ in
        0.05 + 0.06 * Double(generator.uniform()) * Double(generator.uniform())
      }
      outcomes.tokens = truths.count * 310
    }
    return outcomes
  }

  func make(bootstrap: Bootstrap = Bootstrap(resamples: 200, seed: 7)) -> EvaluationReport {
    let truths = (0..<examples).map { [$0 % labels.count] }
    let plain = truths.map { $0[0] }
    var builder = ReportBuilder(labels: labels.count, truths: truths, bootstrap: bootstrap)
    builder.texts = (0..<examples).map { index in
      index % 9 == 0
        ? "Subject: <script>alert('\(index)')</script> & \"quotes\"\n\n> quoted line \(index)\nA reply, with <b>markup</b> that must stay text.\n"
        : "From: someone\(index)@example.org\nSubject: question \(index)\n\nDoes anybody know whether this is covered by the warranty? "
          + "I have had it for \(index) days and it makes a noise whenever I turn it on. The manual says nothing about it, the dealer neither. "
          + "Any pointers would be welcome; I will post a summary.\n"
    }
    var majority = RunOutcomes(
      name: "most frequent label", kind: .baseline, logProbabilities: [], seconds: 0)
    majority.logProbabilities = plain.map { _ in
      labels.indices.map { log(($0 == 3 ? 2.0 : 1.0) / Double(labels.count + 1)) }
    }
    var report = builder.report(
      names: labels, split: "test", truncated: 12,
      runs: [
        outcomes("base", .base, plain, skill: base, sharpness: 0.9, salt: 1),
        outcomes("runs/newsgroups-r32", .adapter, plain, skill: adapter, sharpness: 1.9, salt: 2),
      ],
      baselines: [
        majority,
        outcomes("naive Bayes on words", .baseline, plain, skill: bayes, sharpness: 2.6, salt: 3),
        outcomes("nearest centroid", .baseline, plain, skill: bayes * 0.7, sharpness: 1, salt: 4),
      ])
    report.model = "smollm2-135m-2bit"
    report.data = "newsgroups"
    report.runs[1].memoryBytes = 412_345_678
    report.runs[0].unparsableShare = 0.31
    report.runs[0].contentLoss = 1.92
    report.runs[1].unparsableShare = 0.0025
    report.runs[1].contentLoss = 0.61
    report.leakage = Leakage(exact: 2, near: 5)
    report.notes = [
      HygieneNote(
        .truncated, count: 12,
        "12 texts were longer than the prompt allows; their middle was cut out."),
      HygieneNote(
        .imbalance, count: 3,
        "3 labels have fewer than half as many texts as the most frequent one."),
      HygieneNote(
        .orderBias, count: 9,
        "With the labels in reverse order, 9 of 400 answers of the base model change."),
    ]
    report.digests = Digests(
      model: String(repeating: "3f9a", count: 16), data: String(repeating: "b27c", count: 16),
      adapters: [.init(name: "runs/newsgroups-r32", digest: String(repeating: "07de", count: 16))])
    report.command =
      "dibit evaluate ./smollm2-135m-2bit --adapter runs/newsgroups-r32 --data ./newsgroups --seed 7 --report report.html"
    report.losses = [
      LossSeries(
        name: "training",
        points: (0..<120).map {
          .init(step: $0 * 4, loss: 0.5 + 2.4 * exp(-Double($0) / 25) + 0.15 * sin(Double($0 * $0)))
        }),
      LossSeries(
        name: "validation",
        points: (1...8).map { .init(step: $0 * 60, loss: 0.62 + 2.0 * exp(-Double($0) / 1.8)) }),
    ]
    return report
  }
}
