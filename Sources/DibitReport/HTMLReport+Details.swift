internal import DibitStatistics

extension HTMLReport {
  /// Rates, times and memory of every run that was measured.
  var speed: String {
    let measured = report.everything.filter { $0.seconds > 0 || $0.latency != nil }
    guard !measured.isEmpty else { return "" }
    var text =
      "<div class=\"scroll\" \(region("Speed"))><table><thead><tr><th scope=\"col\">Run</th>" + column("Texts/s") + column("Tokens/s")
    text += column("One text, median") + column("One text, 95 %") + column("Memory") + column("Whole run") + "</tr></thead><tbody>"
    for run in measured {
      text += rowHead(run.name) + "<td>\(run.seconds > 0 ? rate(Double(report.examples) / run.seconds) : "–")</td>"
      text += "<td>\(run.tokensPerSecond.map(rate) ?? "–")</td><td>\(run.latency.map { duration($0.median) } ?? "–")</td>"
      text +=
        "<td>\(run.latency.map { duration($0.p95) } ?? "–")</td><td>\(run.memoryBytes.map(bytes) ?? "–")</td><td>\(run.seconds > 0 ? duration(run.seconds) : "–")</td></tr>\n"
    }
    text += "</tbody></table></div>\n"
    let free = report.runs.filter {
      $0.unparsableShare != nil || $0.contentLoss != nil || $0.perplexity != nil || $0.divergence != nil
    }
    guard !free.isEmpty else { return text }
    text +=
      "<div class=\"scroll\" style=\"margin-top:28px\" \(region("Language"))><table><caption>As a language model</caption><thead><tr><th scope=\"col\">Run</th>"
    text +=
      column("Free answers that cannot be read") + column("Loss of labels, nats per token") + column("Perplexity of labels")
      + column("Divergence from the base, nats") + "</tr></thead><tbody>"
    for run in free {
      text +=
        rowHead(run.name)
        + "<td>\(run.unparsableShare.map { percent($0) } ?? "–")</td><td>\(run.contentLoss.map { fixed($0, 3) } ?? "–")</td>"
      text += "<td>\(run.perplexity.map { fixed($0, 2) } ?? "–")</td><td>\(run.divergence.map { fixed($0, 3) } ?? "–")</td></tr>\n"
    }
    return text + "</tbody></table></div>\n"
  }

  /// The subject's mistakes with their text.
  var mistakes: String {
    guard let subject = report.subject, !subject.samples.isEmpty else { return "" }
    var text =
      "<p class=\"lead\">\(of(subject)) The mistakes it was surest of, then those whose true label it found least likely. Some may be faults of the data.</p>\n"
    text += subject.samples.prefix(8).map(article).joined()
    let rest = subject.samples.dropFirst(8)
    if rest.isEmpty { return text }
    return text + "<details><summary>\(rest.count) more</summary><div>" + rest.map(article).joined() + "</div></details>\n"
  }

  private func article(_ sample: ReportedSample) -> String {
    let hit = sample.truth == sample.prediction
    var text = "<article><p>given <b class=\"\(hit ? "yes" : "no")\"><bdi>\(report.labels[sample.prediction].html)</bdi></b>"
    text += " \(percent(sample.probability(of: sample.prediction)))"
    if !hit { text += ", true label <b><bdi>\(report.labels[sample.truth].html)</bdi></b> \(small(sample.probability(of: sample.truth)))" }
    let rest = sample.probabilities.filter { $0.label != sample.prediction && $0.label != sample.truth && $0.probability >= 0.005 }
    if !rest.isEmpty {
      let others = rest.map { "<bdi>\(report.labels[$0.label].html)</bdi> \(small($0.probability))" }
      text += " <small>also " + others.joined(separator: ", ") + "</small>"
    }
    return text + "</p><blockquote dir=\"auto\" tabindex=\"0\">\(sample.text.html)</blockquote></article>\n"
  }

  private func small(_ share: Double) -> String { share > 0 && share < 0.0005 ? "under 0.1 %" : percent(share) }

  /// The command, and what it was run on.
  var provenance: String {
    var text = ""
    if let command = report.command { text += "<pre tabindex=\"0\">\(command.html)</pre>\n" }
    var entries: [(String, String)] = []
    if let seed = report.seed { entries.append(("Seed", "\(seed)")) }
    if let digest = report.digests.model { entries.append(("Model", digest)) }
    for adapter in report.digests.adapters { entries.append(("Adapter \(shortened(adapter.name))", adapter.digest)) }
    if let digest = report.digests.data { entries.append(("Data", digest)) }
    guard !entries.isEmpty else { return text }
    text += "<p class=\"lead\">Digests are SHA-256. The same command on the same bytes gives the same scores.</p>\n<dl class=\"digests\">"
    return text + entries.map { "<dt>\($0.0.html)</dt><dd><code>\($0.1.html)</code></dd>" }.joined() + "</dl>\n"
  }

  /// The meaning of the words on the page.
  static let reading: String = {
    let entries = [
      (
        "Accuracy",
        "The share of texts whose most likely label is right. With a frequent label it is easy to have much of it: compare with the thin line."
      ),
      (
        "Macro F1",
        "F1 is the harmonic mean of precision (how many of the texts given a label carry it) and recall (how many of those that carry it were given it); macro is the mean over labels, so that rare labels count as much as frequent ones."
      ),
      (
        "95 % interval",
        "If the test texts were drawn again, 95 of 100 such intervals would hold the true value. Of accuracy it is Wilson’s, of macro F1 and of differences a bootstrap’s."
      ),
      (
        "p, corrected",
        "How often a difference at least as large would appear if there were none, by McNemar’s exact test for accuracy and a paired bootstrap for macro F1; corrected by Holm’s method for the number of comparisons. Not below 0.05 does not mean “equal”: it means that these texts cannot tell."
      ),
      (
        "Could show",
        "The smallest difference that this many texts find in four of five cases. If what matters to you is smaller, you need more texts."
      ),
      ("Cohen’s h", "The difference on a scale where 0.2 is small, 0.5 medium and 0.8 large, wherever on the way from 0 to 100 % it lies."),
      (
        "Log loss",
        "The mean of −ln p for the true label, in nats. 0 is perfect; always giving each of n labels the same probability costs ln n."
      ),
      ("Calibration error (ECE)", "The mean distance between how sure the run is and how often it is right, over ten bins of confidence."),
      (
        "Baselines",
        "Classifiers that cost next to nothing, trained on the same texts. A language model that does not beat them is not worth its cost for this task."
      ),
    ]
    return "<dl class=\"read\">" + entries.map { "<dt>\($0.0)</dt><dd>\($0.1)</dd>" }.joined() + "</dl>\n"
  }()
}
