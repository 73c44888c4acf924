internal import DibitFailure
internal import DibitFiles
internal import DibitInference
package import DibitKernels
internal import DibitModel
internal import DibitModelStore
internal import DibitTensor

/// Measures how fast a model directory opens, reads prompts and decodes.
package struct Benchmark: Sendable {
  private let path: String
  private let name: String
  private let options: BenchmarkOptions
  private let compute: Compute

  /// A benchmark of the model at `path`; `name` is what the report calls it.
  package init(model path: String, name: String? = nil, options: BenchmarkOptions, on compute: Compute) {
    (self.path, self.name, self.options, self.compute) = (path, name ?? path, options, compute)
  }

  /// Runs it; `progress` is told what is being done, and ends it by returning false.
  package func run(progress: (_ step: BenchmarkStep, _ done: Int, _ of: Int) -> Bool = { _, _, _ in true }) throws(BenchmarkError)
    -> BenchmarkReport
  {
    let opened = try open(compute)
    // Memory that was used so far does not count.
    ProcessMemory.resetPeak()
    let prompt = tokens(options.promptTokens, vocabulary: opened.configuration.vocabularySize)
    let (load, first) = try measureLoading(tokens(BenchmarkOptions.firstPrompt, vocabulary: opened.configuration.vocabularySize), progress)
    var session = session(opened, compute)
    let prefill = try measurePrefill(prompt, &session, progress)
    let decoding = try measureDecoding(&session, opened.weights.bytesPerToken, progress)
    return BenchmarkReport(
      shape: name, isa: "\(compute.isa)", threads: compute.threads, productLibrary: compute.productLibrary, options: options,
      decode: decoding.rate, prefill: prefill, firstToken: first, load: load, weightBytesPerToken: opened.weights.bytesPerToken,
      readBandwidth: decoding.bandwidth, bandwidthFraction: decoding.fraction, peakMemory: decoding.peakMemory)
  }

  /// Times of ops while one prompt is read and a few tokens are decoded, on a ``Compute`` of its own like this benchmark's.
  package func profile(progress: (_ step: BenchmarkStep, _ done: Int, _ of: Int) -> Bool = { _, _, _ in true }) throws(BenchmarkError)
    -> Profile
  {
    let profiler = Profiler()
    let observed = Compute(isa: compute.isa, threads: compute.threads, profiler: profiler)
    var session = session(try open(observed), observed)
    let prompt = tokens(options.promptTokens, vocabulary: session.configuration.vocabularySize)
    let decoded = tokens(BenchmarkOptions.profiledTokens, vocabulary: session.configuration.vocabularySize)
    func measure(_ phase: Profiler.Phase, _ pieces: [[Int32]]) throws(BenchmarkError) -> Profile.Phase {
      _ = profiler.takeEvents()
      for (index, piece) in pieces.enumerated() {
        guard progress(.profile, index, pieces.count) else { throw .interrupted }
        let begin = ContinuousClock.now
        try append(piece, to: &session)
        profiler.record(phase, since: begin, rows: piece.count)
      }
      let events = profiler.takeEvents()
      return Profile.Phase(name: phase, passes: events.filter { $0.phase != nil }, ops: events.filter { $0.phase == nil })
    }
    // Once more than is looked at: scratch memory grows and pages are mapped the first time.
    _ = try measure(.prefill, [prompt])
    session.rewind()
    let prefill = try measure(.prefill, [prompt])
    session.rewind()
    if options.context > 0 { try append(tokens(options.context, vocabulary: session.configuration.vocabularySize), to: &session) }
    return Profile(phases: [prefill, try measure(.decode, decoded.map { [$0] })])
  }

  /// Opens the model and makes sure that the benchmark fits it.
  private func open(_ compute: Compute) throws(BenchmarkError) -> StoredModel {
    let model = try rethrow(as: BenchmarkError.store, StoredModel.open(path, checksWeights: false))
    guard options.contextNeeded <= model.configuration.contextLength else {
      throw .context(needed: options.contextNeeded, available: model.configuration.contextLength)
    }
    return model
  }

  private func session(_ model: StoredModel, _ compute: Compute) -> Session {
    Session(
      model.configuration, weights: model.weights, adapter: Adapter.none(for: model.weights), context: options.contextNeeded, on: compute)
  }

  private func append(_ tokens: [Int32], to session: inout Session) throws(BenchmarkError) {
    try rethrow(as: BenchmarkError.inference, session.append(tokens))
  }

  /// The same tokens in every run.
  private func tokens(_ count: Int, vocabulary: Int) -> [Int32] {
    var generator = SplitMix64(seed: options.seed, purpose: "benchmark tokens")
    return (0..<count).map { _ in Int32(generator.below(vocabulary)) }
  }

  private typealias Progress = (_ step: BenchmarkStep, _ done: Int, _ of: Int) -> Bool

  /// Opens the model anew in each run and asks for the token behind a short prompt. The first round does not count.
  private func measureLoading(_ prompt: [Int32], _ progress: Progress) throws(BenchmarkError) -> (load: Measurement, first: Measurement) {
    var (load, first): ([Double], [Double]) = ([], [])
    for run in 0...options.runs {
      guard progress(.loading, run, options.runs + 1) else { throw .interrupted }
      let start = ContinuousClock.now
      var session = session(try open(compute), compute)
      load.append(seconds(since: start))
      try append(prompt, to: &session)
      _ = session.withLastLogits { logits in logits.indices.max { logits[$0] < logits[$1] } }
      first.append(seconds(since: start))
    }
    return (Measurement(Array(load.dropFirst())), Measurement(Array(first.dropFirst())))
  }

  private func measurePrefill(_ prompt: [Int32], _ session: inout Session, _ progress: Progress) throws(BenchmarkError) -> Measurement {
    var rates: [Double] = []
    for run in 0...options.runs {
      guard progress(.prefill, run, options.runs + 1) else { throw .interrupted }
      session.rewind()
      let start = ContinuousClock.now
      try append(prompt, to: &session)
      rates.append(Double(prompt.count) / seconds(since: start))
    }
    return Measurement(Array(rates.dropFirst()))
  }

  private struct Decoding {
    var rate, bandwidth, fraction: Measurement
    var peakMemory: Int?
  }

  /// Decodes and looks at the memory's speed in turn: it changes from one moment to the next where others use the machine too.
  private func measureDecoding(_ session: inout Session, _ weightBytes: Int, _ progress: Progress) throws(BenchmarkError) -> Decoding {
    let all = tokens(options.decodeTokens, vocabulary: session.configuration.vocabularySize)
    session.rewind()
    if options.context > 0 { try append(tokens(options.context, vocabulary: session.configuration.vocabularySize), to: &session) }
    func rate(_ run: Int) throws(BenchmarkError) -> Double {
      session.rewind(to: options.context)
      var time = 0.0
      for (index, token) in all.enumerated() {
        // Asked outside the clock: telling a terminal takes time too.
        guard progress(.decode, run * all.count + index, (options.runs + 1) * all.count) else { throw .interrupted }
        let start = ContinuousClock.now
        try append([token], to: &session)
        time += seconds(since: start)
      }
      return Double(all.count) / time
    }
    _ = try rate(0)
    // Before the probe takes memory of its own; the model takes no more from here on.
    let peak = ProcessMemory.peak
    var probe = ReadProbe(on: compute)
    var bandwidths = [Measurement(probe.rates(seconds: options.machineSeconds)).median]
    var (rates, fractions): ([Double], [Double]) = ([], [])
    for run in 0..<options.runs {
      rates.append(try rate(run + 1))
      bandwidths.append(Measurement(probe.rates(seconds: options.machineSeconds)).median)
      fractions.append(Double(weightBytes) * rates[run] / ((bandwidths[run] + bandwidths[run + 1]) / 2))
    }
    return Decoding(rate: Measurement(rates), bandwidth: Measurement(bandwidths), fraction: Measurement(fractions), peakMemory: peak)
  }
}
