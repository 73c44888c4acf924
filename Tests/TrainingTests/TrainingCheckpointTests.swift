import BasicContainers
import DibitCheckpoint
import DibitFiles
import DibitJSON
import DibitKernels
import DibitModel
import DibitModelStore
import DibitTensor
import DibitTestSupport
@testable import DibitTraining
import Testing

/// Checkpoints of a run in memory: the run is stopped by its caller, and taken up again.
@Suite struct TrainingCheckpointTests {
  private let training: TrainingCase
  private let identity = RunIdentity(model: "m", data: "d", options: JSONObject([(key: "rank", value: 8), (key: "warmup", value: 0.1)]))

  init() throws { training = try TrainingCase() }

  /// Options under which every kind of state matters.
  private func options() -> TrainingOptions {
    var options = TrainingCase.options(epochs: 3)
    options.batchSize = 5
    options.validationInterval = 4
    options.adapter.dropout = 0.1
    (options.optimization.averageDecay, options.optimization.keepsBest, options.optimization.microBatchTokens) = (0.9, true, 300)
    return options
  }

  private func store(_ output: String = "a", _ identity: RunIdentity? = nil, resumes: Bool = false, discards: Bool = false) throws
    -> CheckpointStore
  {
    try CheckpointStore(
      output: training.scratch(output), inputs: .none, identity: identity ?? self.identity, interval: .steps(3), resumes: resumes,
      discards: discards)
  }

  /// Trains until `last` steps are done; the adapter's numbers, the result and the events without what they measured.
  private func run(_ store: CheckpointStore?, until last: Int = .max, threads: Int = 2) throws -> (
    values: [[Float]], result: TrainingResult, events: [TrainingEvent.Kind]
  ) {
    var trainer = try training.trainer(options(), threads: threads, validation: Array(training.examples.prefix(6)))
    var events: [TrainingEvent.Kind] = []
    let result = try trainer.run(checkpoints: store) { event in
      events.append(event.kind)
      if case .step(let step) = event.kind { return step.step < last }
      return true
    }
    let adapter = trainer.trainedAdapter()
    var values: [[Float]] = []
    for i in 0..<adapter.count { values += [adapter.a[i].values, adapter.b[i].values] }
    return (values, result, events)
  }

  private func log(_ store: CheckpointStore) throws -> [String] {
    try store.eventLines().split(separator: 10).map { line in
      var event = try JSONValue(parsing: Array(line)).object ?? JSONObject()
      event["measured"] = nil
      return JSONValue.object(event).serialized()
    }
  }

  @Test("a run that was stopped after any step ends like one that was not")
  func resuming() throws {
    let whole = try store("whole")
    let expected = try run(whole)
    let lines = try log(whole)
    let steps = expected.result.steps
    #expect(steps == 21)
    #expect(try run(nil, threads: 1).values == expected.values, "checkpoints and threads change nothing")
    for stop in stride(from: 1, to: steps, by: 3) {
      let name = "stop\(stop)"
      var first: CheckpointStore? = try store(name)
      let part = try run(first, until: stop)
      #expect(part.result.wasInterrupted)
      #expect(part.result.steps == stop)
      first = nil
      let second = try store(name, resumes: true)
      #expect(second.newestStep == stop)
      let rest = try run(second, threads: 1)
      #expect(rest.values == expected.values, "stopped after \(stop)")
      #expect(rest.result == expected.result)
      guard case .start(let start)? = rest.events.first else {
        Issue.record("\(rest.events.prefix(1))")
        return
      }
      #expect(start.step == stop)
      // The checkpoint of the stop itself is the only line more.
      let extra = stop % 3 == 0 ? [] : [stop]
      #expect(
        try log(second).filter { line in !extra.contains { line.hasPrefix("{\"schema\":1,\"event\":\"checkpoint\",\"step\":\($0),") } }
          == lines)
    }
  }

  @Test func twoCheckpointsAreKept() throws {
    let store = try store()
    _ = try run(store, until: 11)
    #expect(try directoryNames(store.path) == ["events.jsonl", "step-0000000009.safetensors", "step-0000000011.safetensors"])
    // Any reader of safetensors can open one.
    let file = try Checkpoint.open(store.path + "/step-0000000011.safetensors")
    #expect(file.tensorNames.last == "checksum")
    #expect(
      Set(file.tensorNames.dropLast().compactMap { $0.split(separator: "/").first }) == [
        "parameters", "moment1", "moment2", "average", "best",
      ])
  }

  @Test("a checkpoint that is not whole is passed over", arguments: ["cut", "empty", "flipped", "zeros"])
  func torn(damage: String) throws {
    let expected = try run(nil)
    var first: CheckpointStore? = try store()
    let path = first?.path ?? ""
    _ = try run(first, until: 8)
    first = nil
    let newest = path + "/step-0000000008.safetensors"
    var bytes = try contents(newest)
    switch damage {
    case "cut": bytes.removeLast(bytes.count / 3)
    case "empty": bytes = []
    case "flipped": bytes[bytes.count / 2] ^= 1
    default: for i in bytes.count / 2..<bytes.count { bytes[i] = 0 }
    }
    try training.scratch.write(bytes, to: "a.checkpoints/step-0000000008.safetensors")
    let second = try store(resumes: true)
    #expect(second.skipped == ["step-0000000008.safetensors"])
    #expect(second.newestStep == 6)
    #expect(try run(second).values == expected.values)
  }

  @Test("every cut and every changed byte of a small file is found")
  func everyByte() throws {
    let store = try store()
    _ = try run(store, until: 1)
    let path = store.path + "/step-0000000001.safetensors"
    let bytes = try contents(path)
    #expect(try CheckpointFile.Whole(path: path) != nil)
    for index in stride(from: 0, to: bytes.count, by: bytes.count / 60) {
      var changed = bytes
      changed[index] ^= 0x40
      try training.scratch.write(changed, to: "changed")
      #expect(try CheckpointFile.Whole(path: training.scratch("changed")) == nil, "byte \(index)")
      try training.scratch.write(Array(bytes.prefix(index)), to: "changed")
      #expect(try CheckpointFile.Whole(path: training.scratch("changed")) == nil, "\(index) bytes")
    }
  }

  @Test func refusals() throws {
    func problem(_ body: () throws -> CheckpointStore) -> TrainingError? {
      do {
        _ = try body()
        return nil
      } catch { return error as? TrainingError }
    }
    let directory = training.scratch("a.checkpoints")
    // Where there is nothing to go on from, a run begins, and says so.
    let begins = "'\(directory)' holds no checkpoint to go on from: the run begins"
    #expect(try store(resumes: true).findings == [begins])
    #expect(!exists(directory))
    var first: CheckpointStore? = try store()
    #expect(problem { try store() } == .file(.outputInUse(path: training.scratch("a"), partial: directory)))
    _ = try run(first, until: 2)
    first = nil
    let path = directory + "/step-0000000002.safetensors"
    #expect(problem { try store() } == .incompleteRun(directory: directory, step: 2))
    var other = identity
    other.model = "other"
    #expect(problem { try store("a", other, resumes: true) } == .changedModel(checkpoint: path))
    other = identity
    other.data = "other"
    #expect(problem { try store("a", other, resumes: true) } == .changedData(checkpoint: path))
    other = identity
    other.options["rank"] = 4
    #expect(problem { try store("a", other, resumes: true) } == .changedOption(checkpoint: path, key: "rank", was: "8", found: "4"))
    other = identity
    other.options["new"] = true
    #expect(problem { try store("a", other, resumes: true) } == .changedOption(checkpoint: path, key: "new", was: "not set", found: "true"))
    other.lengths = ["new"]
    #expect(problem { try store("a", other, resumes: true) } == nil)
    try training.scratch.write("mine", to: "a.checkpoints/letter.txt")
    #expect(problem { try store(resumes: true) }?.description.contains("'letter.txt', which no training run writes; ") == true)
    try training.scratch.remove("a.checkpoints/letter.txt")
    try training.scratch.remove("a.checkpoints/step-0000000002.safetensors")
    #expect(try store(resumes: true).findings == [begins])
    try training.scratch.write("torn", to: "a.checkpoints/step-0000000002.safetensors")
    #expect(
      try store(resumes: true).findings == ["'step-0000000002.safetensors' in '\(directory)' is not whole; it was passed over", begins])
    try training.scratch.write("torn", to: "a.checkpoints/step-0000000002.safetensors")
    // Without a whole checkpoint there is nothing to lose.
    #expect(problem { try store() } == nil)
  }

  @Test func runsWithoutCheckpointLeaveNothing() throws {
    var first: CheckpointStore? = try store()
    _ = try run(first, until: .max)
    first?.removeAll()
    first = nil
    #expect(!exists(training.scratch("a.checkpoints")))
    _ = try store("b")
    #expect(!exists(training.scratch("b.checkpoints")))
  }

  @Test func errorTexts() {
    let path = "'d/step-0000000002.safetensors' belongs to a run with "
    let advice = ": restore it to go on, or pass \0overwrite\0 instead of \0resume\0 to begin anew"
    let texts: [(TrainingError, String)] = [
      (
        .incompleteRun(directory: "d", step: 2),
        "'d' holds a run that was stopped after step 2: pass \0resume\0 to go on, or \0overwrite\0 to begin anew"
      ),
      (.changedModel(checkpoint: "d/step-0000000002.safetensors"), path + "another model" + advice),
      (.changedData(checkpoint: "d/step-0000000002.safetensors"), path + "other data" + advice),
      (
        .changedOption(checkpoint: "d/step-0000000002.safetensors", key: "rank", was: "8", found: "4"),
        path + "rank 8, not 4" + advice
      ),
      (
        .notANumber(step: 9, checkpoint: 6),
        "step 9: the loss is not a number any more: lower the learning rate; the checkpoint of step 6 is kept"
      ),
      (
        .diverged(step: 9, loss: 8, median: 1, checkpoint: nil),
        "step 9: the loss is 8.0, far above the median of 1.0 before, and has been for a while: lower the learning rate"
      ),
    ]
    for (error, text) in texts { #expect(error.description == text) }
  }
}
