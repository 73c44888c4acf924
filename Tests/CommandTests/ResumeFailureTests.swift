import DibitTestSupport
import Foundation
import Testing

/// What keeps a run from going on: one line and an exit code each.
@Suite(.serialized) struct ResumeFailureTests {
  /// A run that was stopped, with at least one checkpoint.
  private static func stopped(_ work: Workplace, output: String) throws -> [String] {
    let arguments = [
      "train", work.model, "--data", work.data, "-o", output, "--epochs", "10000", "--rank", "4", "--checkpoint-every", "2",
    ]
    let process = try DibitProcess(arguments)
    try process.wait { newestStep(output) >= 2 }
    process.kill()
    _ = process.waitForSignal()
    return arguments + ["--resume"]
  }

  private func newest(_ output: String) throws -> String {
    let names = try FileManager.default.contentsOfDirectory(atPath: output + ".checkpoints").filter { $0.hasPrefix("step-") }
    return output + ".checkpoints/" + (names.max() ?? "")
  }

  /// The step of the newest checkpoint, 0 for none. One name may come and go between two looks: the last two are kept.
  private static func newestStep(_ output: String) -> Int {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: output + ".checkpoints")) ?? []
    return names.filter { $0.hasPrefix("step-") }.compactMap { Int($0.dropFirst(5).dropLast(12)) }.max() ?? 0
  }

  @Test func changes() throws {
    let work = try Workplace(perLabel: 20)
    let output = work.adapter
    let arguments = try Self.stopped(work, output: output)
    let advice = ": restore it to go on, or pass --overwrite instead of --resume to begin anew"
    let begins = "'\(try newest(output))' belongs to a run with "
    try expectFailure(
      arguments + ["--learning-rate", "0.5"], status: 65, message: begins + "learning_rate 0.004, not 0.5" + advice, isLate: true)
    try expectFailure(
      arguments + ["--set", "prompt.key=other"], status: 65, message: begins + "key \"topics\", not \"other\"" + advice, isLate: true)
    try work.scratch.write("one text more about soup", to: "data/food/more.txt")
    try expectFailure(arguments, status: 65, message: begins + "other data" + advice, isLate: true)
    try work.scratch.remove("data/food/more.txt")
    try #require(try dibit("convert", work.scratch("source"), "--bits", "4", "-o", work.scratch("other")).status == 0)
    try expectFailure(
      ["train", work.scratch("other")] + arguments.dropFirst(2), status: 65, message: begins + "another model" + advice, isLate: true)
    try expectFailure(
      Array(arguments.dropLast()), status: 73,
      message: "'\(output).checkpoints' holds a run that was stopped after step \(Self.newestStep(output)): "
        + "pass --resume to go on, or --overwrite to begin anew", isLate: true)
    try work.scratch.remove("adapter.checkpoints")
    // A job that is queued again always asks to go on: where there is nothing, it begins.
    let begun = try dibit(arguments.map { $0 == "10000" ? "1" : $0 })
    #expect(begun.status == 0 && begun.errors.contains("'\(output).checkpoints' holds no checkpoint to go on from: the run begins"))
    #expect(work.scratch.names == ["adapter", "data", "model", "other", "source"])
  }

  /// At a constant rate no step depends on how many follow.
  @Test func otherLength() throws {
    let work = try Workplace(perLabel: 1)
    let run = try KilledRun.pretrain(work)
    let constant = run.arguments + ["--set", "lr_schedule={name: constant, warmup: 2}", "-o"]
    let output = work.scratch("base")
    let process = try DibitProcess(constant + [output, "--steps", "100000"])
    try process.wait { Self.newestStep(output) >= 4 }
    process.kill()
    _ = process.waitForSignal()
    let done = Self.newestStep(output)
    try expectFailure(
      constant + [output, "--steps", "3", "--resume"], status: 65,
      message: "'\(output).checkpoints' holds a run that has done \(done) steps, more than the 3 asked for: ask for at least \(done)",
      isLate: true)
    let steps = ["--steps", "\(done + 3)"]
    let shortened = try DibitProcess(constant + [output] + steps + ["--resume"]).finish()
    #expect(shortened.status == 0, "\(shortened.errors)")
    let whole = work.scratch("whole")
    #expect(try DibitProcess(constant + [whole] + steps).finish().status == 0)
    #expect(try contents(output + "/model.safetensors") == contents(whole + "/model.safetensors"))
  }

  @Test(.enabled(if: InterruptTests.canMount, "only root can mount a small file system"))
  func smallDisk() throws {
    let work = try Workplace(perLabel: 20)
    let disk = try work.scratch.directory("disk")
    // Room for two checkpoints and a half.
    try #require(run("/bin/mount", ["-t", "tmpfs", "-o", "size=560k", "none", disk]) == 0)
    defer { #expect(run("/bin/umount", [disk]) == 0) }
    let arguments = ["train", work.model, "--data", work.data, "-o", disk + "/adapter", "--epochs", "12", "--rank", "4"]
    let early = try dibit(arguments)
    #expect(early.status == 74, "\(early.errors)")
    let line = early.errorLines.first ?? ""
    let full = " are free; make room or choose another place"
    #expect(line.contains("'\(disk)/adapter.checkpoints': ") && line.hasSuffix(full), "\(line)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: disk) == [])
    // Somebody else takes the room while it trains.
    #expect(run("/bin/mount", ["-o", "remount,size=16m", disk]) == 0)
    let process = try DibitProcess(arguments + ["--checkpoint-every", "3"])
    try process.wait { Self.newestStep(disk + "/adapter") >= 3 }
    while process.isRunning, run("/bin/mount", ["-o", "remount,size=560k", disk]) != 0 {}
    let outcome = try process.finish()
    #expect(outcome.status == 74, "\(outcome.errors)")
    #expect(outcome.errorLines.count == 1)
    #expect(outcome.errorLines.first?.hasSuffix(full) == true, "\(outcome.errors)")
    let left = try FileManager.default.contentsOfDirectory(atPath: disk + "/adapter.checkpoints").sorted()
    #expect(left.contains("events.jsonl") && left.contains { $0.hasPrefix("step-") }, "\(left)")
    #expect(!left.contains { $0.hasPrefix(".") }, "\(left)")
    // With room again, it goes on to the same bytes as a run that had room all the time.
    #expect(run("/bin/mount", ["-o", "remount,size=16m", disk]) == 0)
    let resumed = try DibitProcess(arguments + ["--resume"]).finish()
    #expect(resumed.status == 0, "\(resumed.errors)")
    let whole = try DibitProcess(arguments.map { $0 == disk + "/adapter" ? work.adapter : $0 }).finish()
    #expect(whole.status == 0)
    let name = "/adapter_model.safetensors"
    #expect(try contents(disk + "/adapter" + name) == contents(work.adapter + name))
  }

  @Test(.enabled(if: InterruptTests.canMount, "only root can mount a file system"))
  func readOnlyFolder() throws {
    let work = try Workplace(perLabel: 20)
    let disk = try work.scratch.directory("disk")
    try #require(run("/bin/mount", ["-t", "tmpfs", "-o", "size=8m", "none", disk]) == 0)
    defer { #expect(run("/bin/umount", [disk]) == 0) }
    let arguments = try Self.stopped(work, output: disk + "/adapter")
    #expect(run("/bin/mount", ["-o", "remount,ro", disk]) == 0)
    try expectFailure(
      arguments, status: 73, message: "'\(disk)/adapter': cannot be created: Read-only file system", isLate: true)
  }

  @Test func divergence() throws {
    let work = try Workplace(perLabel: 20)
    let outcome = try dibit(
      "train", work.model, "--data", work.data, "-o", work.adapter, "--epochs", "50", "--rank", "4", "--set", "learning_rate=10",
      "--set", "grad_clip=1e6", "--set", "weight_decay=10", "--checkpoint-every", "1")
    #expect(outcome.status == 70, "\(outcome.errors)")
    #expect(outcome.errorLines.count == 1, "\(outcome.errors)")
    #expect(!exists(work.adapter))
  }

  @Test func finishedRunsAreToldSo() throws {
    let work = try Workplace(perLabel: 8)
    let arguments = ["train", work.model, "--data", work.data, "-o", work.adapter, "--epochs", "1", "--rank", "4"]
    #expect(try DibitProcess(arguments).finish().status == 0)
    let before = try files(below: work.adapter)
    // A process that died between its last rename and the removal of its checkpoints.
    try work.scratch.write("", to: "adapter.checkpoints/events.jsonl")
    let outcome = try DibitProcess(arguments + ["--resume"]).finish()
    #expect(outcome.status == 0)
    #expect(outcome.output == "'\(work.adapter)' is the finished adapter of this run\n")
    #expect(try files(below: work.adapter) == before)
    #expect(work.scratch.names == ["adapter", "data", "model", "source"])
  }

  @Test func tensorBoardAndChart() throws {
    let work = try Workplace(perLabel: 8)
    let outcome = try dibit(
      "train", work.model, "--data", work.data, "-o", work.adapter, "--epochs", "1", "--rank", "4", "--tensorboard", work.scratch("board"))
    #expect(outcome.status == 0, "\(outcome.errors)")
    let names = try FileManager.default.contentsOfDirectory(atPath: work.scratch("board"))
    #expect(names.count == 1)
    #expect(names.first?.hasPrefix("events.out.tfevents.") == true)
    let lines = try unmeasured(try contents(work.adapter + "/events.jsonl"))
    #expect(lines.first?.hasPrefix("{\"schema\":1,\"event\":\"start\",\"mode\":\"adapter\"") == true)
    #expect(lines.last?.hasPrefix("{\"schema\":1,\"event\":\"end\"") == true)
    #expect(lines.filter { $0.contains("\"event\":\"step\"") }.count == 4)
    #expect(try text(work.adapter + "/loss.svg").hasPrefix("<svg "))
  }
}
