import DibitJSON
import DibitTestSupport
import Foundation
import Testing

/// A run on a tiny model that is killed and taken up again until it ends.
struct KilledRun {
  let work: Workplace
  /// `train` or `pretrain`, with everything but the output.
  let arguments: [String]

  /// A training run of some steps with a validation split, averages and a best checkpoint, so that all kinds of state matter.
  static func train(_ work: Workplace) -> KilledRun {
    KilledRun(
      work: work,
      arguments: [
        "train", work.model, "--data", work.data, "--epochs", "3", "--rank", "4", "--batch-size", "16", "--checkpoint-every", "2",
        "--set", "ema_decay=0.9", "--set", "keep=best", "--set", "steps_per_eval=3", "--set", "micro_batch_tokens=500",
        "--set", "lr_schedule.name=linear_schedule", "--set", "lora_parameters.use_dora=true",
      ])
  }

  static func pretrain(_ work: Workplace) throws -> KilledRun {
    try work.scratch.write(String(repeating: TinyCheckpoint.sentences.joined(separator: ". ") + "\n", count: 20), to: "text/a.txt")
    let recipe = try work.scratch.write(
      """
      data: \(work.scratch("text"))
      validation_data: \(work.scratch("text"))
      model: {vocab_size: 300, hidden_dim: 16, num_layers: 2, num_heads: 2, num_kv_heads: 1, max_position_embeddings: 64, embedding: cooccurrence}
      steps: 11
      batch_size: 3
      max_seq_length: 16
      validation_interval: 4
      ema_decay: 0.9
      quantization: {group_size: 32}
      """, to: "recipe.yaml")
    return KilledRun(work: work, arguments: ["pretrain", recipe, "--checkpoint-every", "2"])
  }

  static func qat(_ work: Workplace) throws -> KilledRun {
    try work.scratch.write(String(repeating: TinyCheckpoint.sentences.joined(separator: ". ") + "\n", count: 20), to: "text/a.txt")
    let source = try TinyCheckpoint.llama(context: 64).write(to: work.scratch, "floats")
    let outcome = try dibit("convert", source, "-o", work.scratch("start"), "--no-check")
    try #require(outcome.status == 0, "\(outcome.errors)")
    return KilledRun(
      work: work,
      arguments: [
        "qat", source, "--from", work.scratch("start"), "--data", work.scratch("text"), "--own-text", "5000", "--steps", "11",
        "--checkpoint-every", "2",
        "--set", "batch_size=3", "--set", "max_seq_length=16", "--set", "validation_interval=4", "--set", "ema_decay=0.9",
      ])
  }

  static func recover(_ work: Workplace) throws -> KilledRun {
    let qat = try qat(work)
    let (source, model) = (qat.arguments[1], qat.arguments[3])
    return KilledRun(work: work, arguments: ["recover", model, "--reference", source, "--rank", "4"] + qat.arguments[4...])
  }

  func output(_ name: String) -> String { work.scratch(name) }

  func start(_ name: String, resumes: Bool = false, threads: Int = 2, environment: [String: String] = [:]) throws -> DibitProcess {
    try DibitProcess(
      arguments + ["-o", output(name), "--threads", "\(threads)"] + (resumes ? ["--resume"] : []), environment: environment)
  }

  /// Takes the run up until it is done, also where it was killed before its first checkpoint, or after the output was in place.
  func finish(_ name: String, threads: Int = 1) throws {
    let outcome = try start(name, resumes: true, threads: threads).finish()
    #expect(outcome.status == 0, "\(outcome.errors)")
  }

  /// What a run left that was not stopped.
  func expected() throws -> [String: [UInt8]] {
    let outcome = try start("whole").finish()
    try #require(outcome.status == 0, "\(outcome.errors)")
    return try results(below: output("whole"))
  }
}

/// Runs that are killed at any moment and taken up again leave the bytes of a run that was not.
///
/// The long form, with hundreds of kills: `DIBIT_KILLS=200 swift test --filter ResumeTests`.
@Suite(.serialized) struct ResumeTests {
  static let kills = ProcessInfo.processInfo.environment["DIBIT_KILLS"].flatMap(Int.init)

  @Test("killed at any write", arguments: ["train", "pretrain", "qat", "recover"])
  func writePoints(command: String) throws {
    let work = try Workplace(perLabel: 20)
    guard let library = try WritePoints.build(in: work.scratch) else { return }
    let run =
      switch command {
      case "train": KilledRun.train(work)
      case "pretrain": try KilledRun.pretrain(work)
      case "recover": try KilledRun.recover(work)
      default: try KilledRun.qat(work)
      }
    let expected = try run.expected()
    let counted = try run.start("counted", environment: WritePoints.environment(library: library, countingInto: work.scratch("count")))
      .finish()
    try #require(counted.status == 0, "\(counted.errors)")
    #expect(try results(below: run.output("counted")) == expected)
    let points = try #require(Int(try text(work.scratch("count"))))
    #expect(points > 40, "the library counts nothing")
    // Every point in the long form, a few of them otherwise.
    let step = Self.kills == nil ? points / 3 + 1 : 1
    for point in stride(from: 1 + points / 7 % step, through: points, by: step) {
      let moments = Self.kills == nil ? [WritePoints.Moment.allCases[point % 3]] : [.before, .half]
      for moment in moments {
        let name = "killed-\(point)-\(moment)"
        let process = try run.start(name, environment: WritePoints.environment(library: library, dieAt: point, moment))
        #expect(process.waitForSignal() == SIGKILL, "\(name): \(process.errors)")
        try run.finish(name, threads: 1 + point % 2)
        #expect(try results(below: run.output(name)) == expected, "\(name)")
        #expect(!exists(run.output(name) + ".checkpoints"), "\(name)")
        try work.scratch.remove(name)
      }
    }
    // Whatever was killed, nothing is left beside the outputs.
    let left = work.scratch.names.filter { $0.hasPrefix(".") || $0.contains("killed") }
    #expect(left.isEmpty, "\(left)")
  }

  @Test("killed at any moment, again and again")
  func moments() throws {
    let work = try Workplace(perLabel: 20)
    let run = KilledRun.train(work)
    let clock = ContinuousClock()
    let begin = clock.now
    let expected = try run.expected()
    let microseconds = Int((clock.now - begin) / .microseconds(1))
    var random = SystemRandomNumberGenerator()
    var (kills, rounds) = (0, 0)
    while kills < Self.kills ?? 3 {
      let name = "moment-\(rounds)"
      rounds += 1
      for attempt in 0..<4 {
        let process = try run.start(name, resumes: attempt > 0, threads: 1 + attempt % 2)
        usleep(UInt32(Int.random(in: 0..<microseconds, using: &random)))
        process.kill()
        _ = process.waitForSignal()
        kills += 1
        if exists(run.output(name)) { break }
      }
      try run.finish(name)
      #expect(try results(below: run.output(name)) == expected, "\(name)")
      #expect(!exists(run.output(name) + ".checkpoints"), "\(name)")
      try work.scratch.remove(name)
    }
  }
}
