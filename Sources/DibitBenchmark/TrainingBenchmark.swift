internal import DibitFailure
internal import DibitFiles
package import DibitJSON
package import DibitKernels
internal import DibitModel
internal import DibitModelStore
internal import DibitTensor
internal import DibitTraining

/// The settings of a training benchmark.
package struct TrainingBenchmarkOptions: Equatable, Sendable {
  /// Sequences of a step.
  package var batch = 8
  /// Tokens of a sequence; the loss is taken on all of them.
  package var tokens = 256
  /// The adapter's rank; every linear layer has one.
  package var rank = 32
  /// Steps that are measured, after one that is not.
  package var steps = 3
  /// The most bytes to hold; nil for no limit.
  package var memoryLimit: Int?
  /// The seed of the tokens and the adapter.
  package var seed: UInt64 = 0

  /// Eight sequences of 256 tokens, rank 32, three steps.
  package init() {}
}

/// The findings of a training benchmark: medians over the steps.
package struct TrainingBenchmarkReport: Equatable, Sendable {
  /// The shape, or the path of the model.
  package var shape: String
  /// The tier of the kernels.
  package var isa: String
  /// Threads that share an op.
  package var threads: Int
  /// The library that runs matrix products.
  package var productLibrary: String
  /// The options of the measurement.
  package var options: TrainingBenchmarkOptions
  /// The number of trained parameters.
  package var parameters: Int
  /// Layers whose activations were kept; the others were computed again.
  package var keptLayers: Int
  /// Bytes that the plan allows for.
  package var plannedMemory: Int
  /// Tokens per second, of whole steps.
  package var rate: Measurement
  /// Seconds of a step's pass through the layers.
  package var forward: Measurement
  /// Seconds of logits, cross-entropy and their way back.
  package var loss: Measurement
  /// Seconds of the pass back through the layers.
  package var backward: Measurement
  /// Seconds of gradient norm and optimiser, and whatever else a step does.
  package var optimizer: Measurement
  /// The most memory held at once, mapped weights included; nil where the system does not say.
  package var peakMemory: Int?

  /// For machines.
  package var json: JSONValue {
    func spread(_ measurement: Measurement) -> JSONValue {
      [.number(measurement.spread.lowerBound), .number(measurement.spread.upperBound)]
    }
    return [
      "shape": .string(shape), "isa": .string(isa), "threads": .integer(threads), "train_tokens_per_second": .number(rate.median),
      "peak_memory_bytes": peakMemory.map { .integer($0) } ?? .null, "forward_seconds": .number(forward.median),
      "loss_seconds": .number(loss.median), "backward_seconds": .number(backward.median), "optimizer_seconds": .number(optimizer.median),
      "train_spread": spread(rate), "batch": .integer(options.batch), "tokens": .integer(options.tokens), "rank": .integer(options.rank),
      "adapter_parameters": .integer(parameters), "kept_layers": .integer(keptLayers),
      "planned_memory_bytes": .integer(plannedMemory), "steps": .integer(options.steps), "product_library": .string(productLibrary),
    ]
  }
}

/// Measures how fast adapters of a model are trained, on random tokens.
package struct TrainingBenchmark: Sendable {
  private let path: String
  private let name: String
  private let options: TrainingBenchmarkOptions
  private let compute: Compute

  /// A benchmark of the model at `path`; `name` is what the report calls it.
  package init(model path: String, name: String? = nil, options: TrainingBenchmarkOptions, on compute: Compute) {
    (self.path, self.name, self.options, self.compute) = (path, name ?? path, options, compute)
  }

  /// Runs it; `progress` is told how many steps are done, and ends it by returning false. The profile shows the last step, op by op.
  package func run(progress: (_ done: Int, _ of: Int) -> Bool = { _, _ in true }) throws(BenchmarkError) -> (
    TrainingBenchmarkReport, Profile
  ) {
    let profiler = Profiler()
    let observed = Compute(isa: compute.isa, threads: compute.threads, profiler: profiler)
    let model = try rethrow(as: BenchmarkError.store, StoredModel.open(path, checksWeights: false))
    guard options.tokens <= model.configuration.contextLength else {
      throw .trainingContext(needed: options.tokens, available: model.configuration.contextLength)
    }
    let decoder = model.makeDecoder()
    var training = TrainingOptions()
    (training.epochs, training.batchSize, training.adapter.rank) = (1, options.batch, options.rank)
    (training.optimization.seed, training.optimization.memoryLimit) = (options.seed, options.memoryLimit)
    training.optimization.microBatchTokens = options.batch * options.tokens
    ProcessMemory.resetPeak()
    var (rates, forward, loss, backward, optimizer): ([Double], [Double], [Double], [Double], [Double]) = ([], [], [], [], [])
    var (parameters, isStopped) = (0, false)
    var plan: MemoryPlan?
    var last: [Profiler.Event] = []
    guard progress(0, options.steps + 1) else { throw .interrupted }
    do throws(TrainingError) {
      var trainer = try AdapterTrainer(
        decoder, examples: examples(vocabulary: model.configuration.vocabularySize), validation: [], options: training, on: observed)
      (parameters, plan) = (trainer.parameterCount, trainer.plan)
      var start = ContinuousClock.now
      _ = try trainer.run { event in
        guard case .step = event.kind else { return true }
        let whole = seconds(since: start)
        last = profiler.takeEvents()
        func time(_ phase: Profiler.Phase) -> Double {
          last.reduce(0.0) { $1.phase == phase ? $0 + Double($1.duration) / 1e9 : $0 }
        }
        let passes = (forward: time(.forward), loss: time(.loss), backward: time(.backward))
        rates.append(Double(options.batch * options.tokens) / whole)
        forward.append(passes.forward)
        loss.append(passes.loss)
        backward.append(passes.backward)
        optimizer.append(whole - (passes.forward + passes.loss + passes.backward))
        isStopped = !progress(rates.count, options.steps + 1)
        start = .now
        return !isStopped
      }
    } catch { throw .training(error) }
    if isStopped { throw .interrupted }
    func measured(_ values: [Double]) -> Measurement { Measurement(Array(values.dropFirst())) }
    let report = TrainingBenchmarkReport(
      shape: name, isa: "\(compute.isa)", threads: compute.threads, productLibrary: compute.productLibrary, options: options,
      parameters: parameters, keptLayers: plan?.keptLayers ?? 0, plannedMemory: plan?.total ?? 0, rate: measured(rates),
      forward: measured(forward), loss: measured(loss), backward: measured(backward),
      optimizer: measured(optimizer), peakMemory: ProcessMemory.peak)
    return (report, Profile(phases: phases(of: last)))
  }

  /// Cuts a step's events at the ends of its passes.
  private func phases(of events: [Profiler.Event]) -> [Profile.Phase] {
    var phases: [Profile.Phase] = []
    var ops: [Profiler.Event] = []
    for event in events {
      if let phase = event.phase {
        phases.append(Profile.Phase(name: phase, passes: [event], ops: ops))
        ops = []
      } else {
        ops.append(event)
      }
    }
    return phases
  }

  /// As many examples as the measured steps and the one before them need.
  private func examples(vocabulary: Int) -> [TrainingExample] {
    var generator = SplitMix64(seed: options.seed, purpose: "benchmark tokens")
    return (0..<options.batch * (options.steps + 1)).map { _ in
      TrainingExample(text: (0..<options.tokens).map { _ in Int32(generator.below(vocabulary)) })
    }
  }
}
