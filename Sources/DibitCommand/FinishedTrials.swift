internal import ArgumentParser
internal import DibitCheckpoint
internal import DibitJSON
internal import DibitModelStore
internal import DibitTraining

/// Where commands that train several times keep what is done.
struct KeepArguments: ParsableArguments {
  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("Keep what is done there, one file for each training; otherwise nothing is kept.", valueName: "folder"))
  var output: String?

  @Flag(help: "Go on behind the trainings that are kept.") var resume = false

  @Flag(help: "Train again what is kept.") var overwrite = false

  func validate() throws {
    guard output != nil || !resume else { throw ValidationError("--resume: needs the --output of the job that was stopped") }
    guard !resume || !overwrite else { throw ValidationError("--resume and --overwrite: expected one of them, found both") }
  }
}

/// The trainings of a job that are done, each in a file of its own that names the run it belongs to.
struct FinishedTrials {
  private let folder: String?
  private let digest: String
  private let labels: Int
  private let resumes: Bool
  /// One job at a time writes there.
  private let lock: DirectoryLock?
  /// Trainings that are done, whether they are kept or not.
  private(set) var done = 0

  /// Opens or creates the folder. `names` are those of all trainings of the job.
  init(_ arguments: KeepArguments, inputs: JobInputs, identity: RunIdentity, names: [String], labels: Int) throws {
    (folder, digest, self.labels, resumes) = (arguments.output, identity.digest, labels, arguments.resume)
    guard let folder else {
      lock = nil
      Terminal.write("note: nothing is kept of a job that is stopped; --output FOLDER keeps every finished training\n")
      return
    }
    try makeDirectory(folder, inputs: inputs)
    lock = try DirectoryLock(folder)
    let kept = names.count { isRegularFile(path($0, in: folder)) }
    if arguments.resume {
      let others = try directoryNames(folder).contains { $0.hasSuffix(".json") }
      let why = others ? "; what is there belongs to other texts, options or another model" : ""
      Terminal.write("note: \(kept) of \(names.count) trainings of this job are in '\(folder)'\(kept == 0 ? why : "")\n")
    } else if kept > 0, !arguments.overwrite {
      throw Failure(
        .cannotCreate,
        "'\(folder)' holds \(kept) of \(names.count) trainings of this very job: pass --resume to go on behind them, "
          + "or --overwrite to train again")
    }
  }

  private func path(_ name: String, in folder: String) -> String { "\(folder)/\(name)-\(digest.prefix(16)).json" }

  /// The outcome called `name` if it is kept, otherwise that of `train`, which is then kept; nil when the user stops it.
  mutating func outcome(_ name: String, heldOut: Int, _ train: () throws -> TrialOutcome?) throws -> TrialOutcome? {
    defer { done += 1 }
    if let folder, resumes, isRegularFile(path(name, in: folder)) { return try read(path(name, in: folder), name, heldOut) }
    guard let outcome = try train() else {
      done -= 1
      return nil
    }
    if let folder {
      try WeightsCheck.finishAll()
      let members: [(key: String, value: JSONValue)] = [("schema", 1), ("run_sha256", .string(digest)), ("training", .string(name))]
      let text = JSONValue.object(JSONObject(members + outcome.json.members)).serialized(pretty: true) + "\n"
      try writeFileAtomically(path: path(name, in: folder), bytes: Array(text.utf8), replacing: .ownName, inputs: .none)
    }
    return outcome
  }

  private func read(_ path: String, _ name: String, _ heldOut: Int) throws -> TrialOutcome {
    guard let json = try? JSONValue(parsing: try readFile(path, limit: 1 << 32)), json["schema"]?.int == 1,
      json["run_sha256"]?.string == digest, json["training"]?.string == name, let outcome = TrialOutcome(json, labels: labels),
      outcome.heldOut == heldOut
    else { throw Failure(.badData, "'\(path)' is not what this job wrote: remove it, and it is trained again") }
    return outcome
  }

  /// What a stopped job says.
  func interruption(_ job: String, of total: Int) -> Failure {
    let count = "interrupted in \(job): \(done) of \(total) trainings are done"
    guard let folder else { return Failure(.interrupted, count + ", and nothing was kept; --output FOLDER keeps them") }
    return Failure(.interrupted, count + " and in '\(folder)'; the same command with --resume goes on behind them")
  }
}
