internal import DibitFailure
package import DibitFiles
package import DibitJSON
package import DibitTraining

/// The parts of a job that are done, each in a file of its own that names the job it belongs to.
package struct CompletedParts {
  /// The kinds of parts.
  package enum Part: String {
    case training, run

    /// Doing it once more.
    fileprivate var again: String { self == .training ? "train again" : "run again" }
    /// That it will be done once more.
    fileprivate var isDoneAgain: String { self == .training ? "is trained again" : "runs again" }
  }

  private let part: Part
  private let folder: String?
  private let digest: String
  private let resumes: Bool
  /// One job at a time writes there.
  private let lock: DirectoryLock?
  /// Parts that are done, whether they are kept or not, and the number of all.
  package private(set) var done = 0
  private let total: Int?

  /// Calls what must hold before anything is kept.
  private let check: () throws -> Void

  /// Opens or creates the folder; without one nothing is kept.
  ///
  /// - Parameters:
  ///   - names: Those of all parts of the job; nil where they follow from one another.
  ///   - note: is told how many parts are there already.
  ///   - check: throws where no part may be kept, as of models that are damaged.
  package init(
    in folder: String?, resumes: Bool, overwrites: Bool, inputs: JobInputs, identity: RunIdentity, names: [String]?, of part: Part,
    note: (String) -> Void, check: @escaping () throws -> Void
  ) throws {
    (self.part, self.folder, digest, self.resumes, total, self.check) = (part, folder, identity.digest, resumes, names?.count, check)
    guard let folder else {
      lock = nil
      return
    }
    try makeDirectory(folder, inputs: inputs)
    lock = try DirectoryLock(folder)
    let entries = try directoryNames(folder)
    let kept = names?.count { isRegularFile(path($0, in: folder)) } ?? entries.count { $0.hasSuffix(ending) }
    let parts = parts(kept)
    if resumes {
      let others = entries.contains { $0.hasSuffix(".json") }
      let why = others ? "; what is there belongs to other texts, options or another model" : ""
      note("\(parts) of this job are in '\(folder)'\(kept == 0 ? why : "")")
    } else if kept > 0, !overwrites {
      throw DibitError(
        .cannotCreate,
        "'\(folder)' holds \(parts) of this very job: pass \(optionName("resume")) to go on behind them, or "
          + "\(optionName("overwrite")) to \(part.again)")
    }
  }

  /// The end of the names of this job's parts.
  private var ending: String { "-\(digest.prefix(16)).json" }

  private func path(_ name: String, in folder: String) -> String { join(folder, name + ending) }

  private func parts(_ count: Int) -> String { total.map { "\(count) of \($0) \(part)s" } ?? "\(count) \(part)\(count == 1 ? "" : "s")" }

  /// The outcome called `name` if it is kept, as `read` understands it; otherwise that of `make`, which is then kept as `json` writes it;
  /// nil when the user stops it.
  package mutating func outcome<Outcome>(
    _ name: String, read: (JSONValue) -> Outcome?, json: (Outcome) -> JSONObject, _ make: () throws -> Outcome?
  ) throws -> Outcome? {
    if let folder, resumes, isRegularFile(path(name, in: folder)) {
      done += 1
      return try self.read(path(name, in: folder), name, read)
    }
    guard let outcome = try make() else { return nil }
    if let folder {
      try check()
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
    else { throw DibitError(.invalidData, "'\(path)' is not what this job wrote: remove it, and it \(part.isDoneAgain)") }
    return outcome
  }

  /// Returns the failure of a job that was stopped in `job`.
  package func interruption(_ job: String) -> DibitError {
    let count = "interrupted in \(job): \(parts(done)) \(total == nil && done == 1 ? "is" : "are") done"
    guard let folder else { return DibitError(.cancelled, count + ", and nothing was kept", .keepParts) }
    return DibitError(.cancelled, count + " and in '\(folder)'", .resumeParts)
  }
}

extension CompletedParts {
  /// The outcome of a trial that asks about `heldOut` texts of `labels` labels.
  package mutating func outcome(_ name: String, labels: Int, heldOut: Int, _ train: () throws -> TrialOutcome?) throws -> TrialOutcome? {
    try outcome(
      name, read: { json in TrialOutcome(json, labels: labels).flatMap { $0.heldOut == heldOut ? $0 : nil } }, json: \TrialOutcome.json,
      train)
  }
}
