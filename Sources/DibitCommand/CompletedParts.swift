internal import Dibit
internal import ArgumentParser
internal import DibitFiles
internal import DibitJSON
internal import DibitTraining

/// The directory where commands of several trainings or runs keep what is done.
struct KeepArguments: ParsableArguments {
  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("Keep what is done there, one file for each training or run; otherwise nothing is kept.", valueName: "folder"))
  var output: String?

  @Flag(help: "Go on behind what is kept.") var resume = false

  @Flag(help: "Do again what is kept, and replace files that exist.") var overwrite = false

  func validate() throws {
    guard output != nil || !resume else { throw ValidationError("--resume: needs the --output of the job that was stopped") }
    guard !resume || !overwrite else { throw ValidationError("--resume and --overwrite: expected one of them, found both") }
  }
}

/// A part of a job that can be kept.
enum JobPart: String {
  case training, run

  /// Doing it once more.
  var again: String { self == .training ? "train again" : "run again" }
  /// That it will be done once more.
  var isDoneAgain: String { self == .training ? "is trained again" : "runs again" }
}

/// The parts of a job that are done, each in a file of its own that names the job it belongs to.
struct CompletedParts {
  private let part: JobPart
  private let folder: String?
  private let digest: String
  private let resumes: Bool
  /// One job at a time writes there.
  private let lock: DirectoryLock?
  /// Parts that are done, whether they are kept or not, and the number of all.
  private(set) var done = 0
  private let total: Int

  /// Opens or creates the folder. `names` are those of all parts of the job.
  init(_ arguments: KeepArguments, inputs: JobInputs, identity: RunIdentity, names: [String], of part: JobPart) throws {
    (self.part, folder, digest, resumes, total) = (part, arguments.output, identity.digest, arguments.resume, names.count)
    guard let folder else {
      lock = nil
      // A training takes its time.
      if part == .training {
        Terminal.write("note: nothing is kept of a job that is stopped; --output FOLDER keeps every finished training\n")
      }
      return
    }
    try makeDirectory(folder, inputs: inputs)
    lock = try DirectoryLock(folder)
    let kept = names.count { isRegularFile(path($0, in: folder)) }
    let parts = "\(kept) of \(total) \(part)s"
    if arguments.resume {
      let others = try directoryNames(folder).contains { $0.hasSuffix(".json") }
      let why = others ? "; what is there belongs to other texts, options or another model" : ""
      Terminal.write("note: \(parts) of this job are in '\(folder)'\(kept == 0 ? why : "")\n")
    } else if kept > 0, !arguments.overwrite {
      throw Failure(
        .cannotCreate,
        "'\(folder)' holds \(parts) of this very job: pass --resume to go on behind them, or --overwrite to \(part.again)")
    }
  }

  private func path(_ name: String, in folder: String) -> String { join(folder, "\(name)-\(digest.prefix(16)).json") }

  /// The outcome called `name` if it is kept, as `read` understands it; otherwise that of `make`, which is then kept as `json` writes it;
  /// nil when the user stops it.
  mutating func outcome<Outcome>(
    _ name: String, read: (JSONValue) -> Outcome?, json: (Outcome) -> JSONObject, _ make: () throws -> Outcome?
  ) throws -> Outcome? {
    if let folder, resumes, isRegularFile(path(name, in: folder)) {
      done += 1
      return try self.read(path(name, in: folder), name, read)
    }
    guard let outcome = try make() else { return nil }
    if let folder {
      try OpenedModels.waitForChecks()
      let members: [(key: String, value: JSONValue)] = [
        ("schema", 1), ("run_sha256", .string(digest)), (part.rawValue, .string(name)),
      ]
      let text = JSONValue.object(JSONObject(members + json(outcome).members)).serialized(pretty: true) + "\n"
      try writeFileAtomically(path: path(name, in: folder), bytes: Array(text.utf8), replacing: .ownName, inputs: .none)
    }
    done += 1
    return outcome
  }

  private func read<Outcome>(_ path: String, _ name: String, _ read: (JSONValue) -> Outcome?) throws -> Outcome {
    guard let json = try? JSONValue(parsing: try readFile(path, limit: 1 << 32)), json["schema"]?.int == 1,
      json["run_sha256"]?.string == digest, json[part.rawValue]?.string == name, let outcome = read(json)
    else { throw Failure(.badData, "'\(path)' is not what this job wrote: remove it, and it \(part.isDoneAgain)") }
    return outcome
  }

  /// Returns the message of a stopped job.
  func interruption(_ job: String) -> Failure {
    let count = "interrupted in \(job): \(done) of \(total) \(part)s are done"
    guard let folder else { return Failure(.interrupted, count + ", and nothing was kept; --output FOLDER keeps them") }
    return Failure(.interrupted, count + " and in '\(folder)'; the same command with --resume goes on behind them")
  }
}

extension CompletedParts {
  /// The outcome of a trial that asks about `heldOut` texts of `labels` labels.
  mutating func outcome(_ name: String, labels: Int, heldOut: Int, _ train: () throws -> TrialOutcome?) throws -> TrialOutcome? {
    try outcome(
      name, read: { json in TrialOutcome(json, labels: labels).flatMap { $0.heldOut == heldOut ? $0 : nil } }, json: \TrialOutcome.json,
      train)
  }
}
