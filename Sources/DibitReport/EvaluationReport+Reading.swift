package import DibitJSON
internal import DibitStatistics

extension EvaluationReport {
  /// Reads a saved report: what ``json`` writes, and what earlier versions wrote with fewer keys.
  ///
  /// Keys that are not known are passed over. Metrics are computed again from the confusion matrix and must agree with what is written.
  /// - Throws: ``ReportError`` with the way to the first fault.
  package init(json: JSONValue) throws(ReportError) {
    let top = try ReportReader(json).members()
    let schema = try top.required("schema").count()
    guard schema == Self.schema else {
      throw .unexpected(path: "schema", expected: "\(Self.schema)", found: "\(schema)")
    }
    let labels = try top.required("labels").list { reader throws(ReportError) in try reader.text() }
    try Self.refuseRepeated(labels, "labels")
    let index = Dictionary(uniqueKeysWithValues: labels.enumerated().map { (Array($1.utf8), $0) })
    self.init(
      labels: labels, split: try top.required("split").text(), examples: try top.required("examples").count(),
      truncated: try top.optional("truncated_examples")?.count() ?? 0,
      runs: try top.required("runs").list { reader throws(ReportError) in try ReportedRun(reader, .base, index) },
      baselines: try top.list("baselines") { reader throws(ReportError) in try ReportedRun(reader, .baseline, index) })
    guard everything.count <= Self.maximumRuns else {
      throw .unexpected(path: "runs", expected: "at most \(Self.maximumRuns) runs and baselines", found: "\(everything.count)")
    }
    try Self.refuseRepeated(everything.map(\.name), "runs")
    isOpen = try top.optional("open")?.flag() ?? false
    for run in everything where run.metrics.count != examples {
      throw .unexpected(
        path: "runs", expected: "\(examples) examples in each confusion matrix",
        found: "\(run.metrics.count) in \(ReportError.quoted(run.name))")
    }
    // Before kinds were written, every run but the first was an adapter.
    for index in runs.indices.dropFirst() where json["runs"]?.array?[index]["kind"] == nil { runs[index].kind = .adapter }
    model = try top.text("model")
    data = try top.text("data")
    comparisons = try top.list("comparisons") { reader throws(ReportError) in try RunComparison(reader) }
    guard comparisons.count <= 10 * Self.maximumRuns else {
      throw .unexpected(path: "comparisons", expected: "at most \(10 * Self.maximumRuns)", found: "\(comparisons.count)")
    }
    if let reader = top.optional("leakage") {
      let members = try reader.members()
      leakage = Leakage(
        exact: try members.required("exact_duplicates").count(), near: try members.required("near_duplicates").count(),
        leftOut: try members.optional("left_out")?.flag() ?? false)
    }
    notes = try top.list("notes") { reader throws(ReportError) in
      let members = try reader.members()
      let kind = try members.required("kind")
      let name = try kind.text()
      guard let known = HygieneNote.Kind(rawValue: name) else { throw kind.unexpected("a known kind of note", ReportError.quoted(name)) }
      return HygieneNote(known, count: try members.required("count").count(), try members.required("text").text())
    }
    if let reader = top.optional("seed") {
      guard let seed = reader.value.int.flatMap({ UInt64(exactly: $0) }) ?? reader.value.string.flatMap({ UInt64($0) }) else {
        throw reader.unexpected("a whole number below 2^64")
      }
      self.seed = seed
    }
    if let reader = top.optional("digests") {
      let members = try reader.members()
      digests = Digests(
        model: try members.text("model"), data: try members.text("data"),
        adapters: try members.list("adapters") { reader throws(ReportError) in
          let members = try reader.members()
          return .init(name: try members.required("name").text(), digest: try members.required("digest").text())
        })
    }
    command = try top.text("command")
    losses = try top.list("training") { reader throws(ReportError) in try LossSeries(reader) }
  }

  /// More than anybody evaluates at once: a verdict looks for every rival among all comparisons.
  private static let maximumRuns = 1000

  /// Parses the UTF-8 of a saved report.
  package init(parsing text: some Collection<UInt8>) throws(ReportError) {
    let value: JSONValue
    // No report nests deeper; a hostile file shall not either.
    do throws(JSONError) { value = try JSONValue(parsing: text, depthLimit: 16) } catch { throw .json(error) }
    try self.init(json: value)
  }

  private static func refuseRepeated(_ names: [String], _ path: String) throws(ReportError) {
    var seen = Set<[UInt8]>()
    for name in names where !seen.insert(Array(name.utf8)).inserted {
      throw .unexpected(path: path, expected: "different names", found: "\(ReportError.quoted(name)) twice")
    }
  }
}

extension ConfidenceInterval {
  fileprivate init(_ reader: ReportReader, _ range: ClosedRange<Double>) throws(ReportError) {
    let ends = try reader.list { reader throws(ReportError) in try reader.number(range) }
    guard ends.count == 2, ends[0] <= ends[1] else { throw reader.unexpected("two numbers in order", "\(ends.prefix(3))") }
    self.init(lower: ends[0], upper: ends[1])
  }
}

extension RunComparison {
  fileprivate init(_ reader: ReportReader) throws(ReportError) {
    let members = try reader.members()
    let pValue = try members.required("p_value").share()
    let written = try members.required("metric")
    let name = try written.text()
    guard let metric = RunMetric(rawValue: name) else { throw written.unexpected("a known metric", ReportError.quoted(name)) }
    self.init(
      a: try members.required("a").text(), b: try members.required("b").text(), metric: metric,
      difference: try members.required("difference").number(-1...1),
      interval: try ConfidenceInterval(try members.required("ci95"), -1...1), pValue: pValue,
      rawPValue: try members.number("p_value_raw", 0...1) ?? pValue, effectSize: try members.number("cohen_h", -3.2...3.2),
      oddsRatio: try members.number("odds_ratio"), smallestDetectable: try members.number("smallest_detectable", 0...1))
    isIdentical = try members.optional("identical")?.flag() ?? false
    // Before it was written, intervals were not corrected.
    correction = try members.number("correction", 1...(.greatestFiniteMagnitude)) ?? 1
    examplesNeeded = try members.optional("examples_needed")?.count()
  }
}

extension LossSeries {
  fileprivate init(_ reader: ReportReader) throws(ReportError) {
    let members = try reader.members()
    let steps = try members.required("steps").list { reader throws(ReportError) in try reader.count() }
    let losses = try members.required("losses")
    let values = try losses.list { reader throws(ReportError) in try reader.number(0...(.greatestFiniteMagnitude)) }
    guard steps.count == values.count else { throw losses.unexpected("\(steps.count) losses", "\(values.count)") }
    self.init(name: try members.required("name").text(), points: zip(steps, values).map { Point(step: $0, loss: $1) })
  }
}

extension ReportedRun {
  fileprivate init(_ reader: ReportReader, _ usual: Kind, _ labels: [[UInt8]: Int]) throws(ReportError) {
    let members = try reader.members()
    let matrix = try members.required("confusion")
    let cells = try matrix.list { row throws(ReportError) in try row.list { cell throws(ReportError) in try cell.count() } }
    guard cells.count == labels.count, let metrics = ClassificationMetrics(confusion: cells) else {
      throw matrix.unexpected("\(labels.count) rows of \(labels.count) counts", "\(cells.count) rows of \(cells.first?.count ?? 0)")
    }
    var kind = usual
    if let written = members.optional("kind") {
      let name = try written.text()
      guard let known = Kind(rawValue: name) else { throw written.unexpected("a known kind of run", ReportError.quoted(name)) }
      kind = known
    }
    self.init(name: try members.required("name").text(), kind: kind, metrics: metrics)
    for (key, computed) in [("accuracy", metrics.accuracy), ("macro_f1", metrics.macroF1)] {
      let written = try members.required(key)
      // The order of a sum may differ, and a person may have rounded to nine digits.
      guard abs(try written.share() - computed) < 1e-9 else {
        throw written.unexpected("\(computed), as the matrix says", written.value.serialized())
      }
    }
    if let ends = members.optional("accuracy_ci95") { accuracyInterval = try ConfidenceInterval(ends, 0...1) }
    if let ends = members.optional("macro_f1_ci95") { macroF1Interval = try ConfidenceInterval(ends, 0...1) }
    logLoss = try members.number("log_loss")
    brier = try members.number("brier", 0...2)
    macroAUROC = try members.number("macro_auroc", 0...1)
    calibrationError = try members.number("ece", 0...1)
    equalMassCalibrationError = try members.number("ece_equal_mass", 0...1)
    maximumCalibrationError = try members.number("mce", 0...1)
    abstentionArea = try members.number("aurc", 0...1)
    seconds = try members.number("seconds") ?? 0
    if let median = try members.number("latency_p50") {
      latency = Latency(median: median, p95: try members.number("latency_p95") ?? median)
    }
    tokensPerSecond = try members.number("tokens_per_second")
    memoryBytes = try members.optional("memory_bytes")?.count()
    unparsableShare = try members.number("unparsable_share", 0...1)
    contentLoss = try members.number("content_loss")
    perplexity = try members.number("perplexity")
    divergence = try members.number("kl_from_base", 0...(.greatestFiniteMagnitude))
    if let reader = members.optional("intervals") {
      let written = try reader.members()
      for metric in Metric.allCases {
        guard let ends = written.optional(metric.rawValue) else { continue }
        intervals[metric] = try ConfidenceInterval(ends, 0...(.greatestFiniteMagnitude))
      }
    }
    if let reader = members.optional("per_label") { f1Intervals = try Self.f1Intervals(reader, labels) }
    if let reader = members.optional("tags") { tags = try ReportedTags(reader) }
    calibration = try members.list("calibration") { reader throws(ReportError) in
      let bin = try reader.members()
      return CalibrationBin(
        lower: try bin.required("low").share(), upper: try bin.required("high").share(), count: try bin.required("count").count(),
        confidence: try bin.required("confidence").share(), accuracy: try bin.required("accuracy").share())
    }
    if let reader = members.optional("few_shot") { shots = try Shots(reader) }
    abstention = try members.list("abstention") { reader throws(ReportError) in
      let point = try reader.members()
      return RiskCoverage.Point(
        threshold: try point.required("threshold").share(), coverage: try point.required("coverage").share(),
        risk: try point.required("risk").share())
    }
    samples = try members.list("samples") { reader throws(ReportError) in try ReportedSample(reader, labels) }
  }

  /// An interval for each label, or none where one lacks it: earlier reports have none.
  private static func f1Intervals(_ reader: ReportReader, _ labels: [[UInt8]: Int]) throws(ReportError) -> [ConfidenceInterval] {
    var found: [Int: ConfidenceInterval] = [:]
    for member in reader.value.object?.members ?? [] {
      guard let label = labels[Array(member.key.utf8)] else { continue }
      let scores = try ReportReader(member.value, path: reader.path).members()
      if let ends = scores.optional("f1_ci95") { found[label] = try ConfidenceInterval(ends, 0...1) }
    }
    return found.count == labels.count ? found.sorted { $0.key < $1.key }.map(\.value) : []
  }
}

extension ReportedTags {
  fileprivate init(_ reader: ReportReader) throws(ReportError) {
    let members = try reader.members()
    func scores(_ key: String) throws(ReportError) -> TagMetrics.Scores {
      let members = try members.required(key).members()
      var scores = TagMetrics.Scores(hits: 0, predicted: 0, support: 0)
      scores.precision = try members.required("precision").share()
      scores.recall = try members.required("recall").share()
      scores.f1 = try members.required("f1").share()
      scores.jaccard = try members.required("jaccard").share()
      return scores
    }
    self.init(
      micro: try scores("micro"), macro: try scores("macro"), samples: try scores("samples"),
      subsetAccuracy: try members.required("subset_accuracy").share(), hammingLoss: try members.required("hamming_loss").share())
    atK = try members.list("at_k") { reader throws(ReportError) in
      let members = try reader.members()
      return AtK(
        k: try members.required("k").count(), precision: try members.required("precision").share(),
        recall: try members.required("recall").share())
    }
  }
}

extension ReportedSample {
  fileprivate init(_ reader: ReportReader, _ labels: [[UInt8]: Int]) throws(ReportError) {
    func label(_ name: String, _ reader: ReportReader) throws(ReportError) -> Int {
      guard let label = labels[Array(name.utf8)] else { throw reader.unexpected("one of the labels", ReportError.quoted(name)) }
      return label
    }
    let members = try reader.members()
    let (truth, prediction) = (try members.required("truth"), try members.required("prediction"))
    var guesses: [Guess] = []
    if let reader = members.optional("probabilities") {
      guard let object = reader.value.object else { throw reader.unexpected("an object") }
      for member in object.members {
        let value = ReportReader(member.value, path: reader.path)
        guesses.append(Guess(label: try label(member.key, reader), probability: try value.share()))
      }
    }
    self.init(
      text: try members.required("text").text(), truth: try label(truth.text(), truth),
      prediction: try label(prediction.text(), prediction),
      probabilities: guesses)
  }
}
